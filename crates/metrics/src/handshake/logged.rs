//! What a stack's own log says of its round-trip time, beside what its packets show.

use quiclab_units::Duration;
use quiclab_wire::{QlogEventKind, QlogMetrics, Role};

use crate::output::RunMetrics;
use crate::rtt_estimate::GRANULARITY;
use crate::warnings::WarningCode;

/// A logged timeout may differ from the one that follows from the packets by that one divided by this number, or by [`GRANULARITY`] where
/// that is more. A stack sees a datagram later than the tap does.
const TOLERATED_ONE_PART_OF: u64 = 10;

/// Initial RTTs are at least this, and whole milliseconds: 333 ms in RFC 9002 section 6.2.2, 100 ms to 500 ms in stacks.
const SMALLEST_INITIAL_RTT: Duration = Duration::from_millis(50);

/// What one connection's qlog says of the round-trip time. Feed it the events in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedRoundTrips {
    smoothed_ns: Option<u64>,
    variance_ns: Option<u64>,
    /// What was logged before the first sample.
    initial_ns: Option<u64>,
    first: Option<(u64, Option<u64>)>,
    updates: u64,
}

impl LoggedRoundTrips {
    /// The next event.
    pub fn on_event(&mut self, kind: &QlogEventKind) {
        let QlogEventKind::Metrics(metrics) = kind else { return };
        let before = (self.smoothed_ns, self.variance_ns);
        self.smoothed_ns = metrics.smoothed_rtt_ns.filter(|rtt| *rtt > 0).or(self.smoothed_ns);
        self.variance_ns = metrics.rtt_variance_ns.or(self.variance_ns);
        let Some(smoothed) = self.smoothed_ns else { return };
        if self.was_initial() && is_first_sample(metrics) {
            self.initial_ns = self.first.take().map(|(initial, _)| initial);
            self.first = Some((smoothed, metrics.rtt_variance_ns));
            return;
        }
        if let Some((first, variance)) = &mut self.first {
            if *first == smoothed && self.updates == 1 {
                // Some stacks log it in an event of its own.
                *variance = variance.or(metrics.rtt_variance_ns);
            }
        } else if self.initial_ns == Some(smoothed) || (self.initial_ns.is_none() && is_initial(metrics)) {
            self.initial_ns = Some(smoothed);
            return;
        } else {
            self.first = Some((smoothed, metrics.rtt_variance_ns));
        }
        self.updates += u64::from(before != (self.smoothed_ns, self.variance_ns));
    }

    /// Whether the only estimate so far can be the initial one, logged as if it were a sample: quinn does.
    fn was_initial(&self) -> bool {
        self.updates == 1 && self.initial_ns.is_none() && self.first.is_some_and(|(first, _)| is_round(first))
    }

    /// Changes of `smoothed_rtt` or `rtt_variance`, as many as samples at most where each changes one of them.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// `smoothed_rtt + max(4 x rttvar, kGranularity)` of the first logged estimate.
    fn first_pto_ns(&self) -> Option<u64> {
        let (smoothed, variance) = self.first?;
        Some(smoothed.saturating_add(variance?.saturating_mul(4).max(GRANULARITY.as_nanos())))
    }

    /// Fills in what this end of a connection logged, and warns where it is not what its packets show.
    pub fn finish(&self, end: Role, run: &mut RunMetrics) {
        let first = self.first.map(|(smoothed, _)| smoothed);
        let variance = self.first.and_then(|(_, variance)| variance);
        let pto = self.first_pto_ns();
        let updates = (self.updates > 0).then_some(self.updates);
        let metrics = &mut run.metrics;
        let (packets, places) = match end {
            Role::Client => (
                metrics.handshake_client_first_pto_ns,
                [
                    &mut metrics.handshake_client_logged_first_smoothed_rtt_ns,
                    &mut metrics.handshake_client_logged_first_rttvar_ns,
                    &mut metrics.handshake_client_logged_first_pto_ns,
                    &mut metrics.handshake_client_logged_rtt_updates,
                ],
            ),
            Role::Server => (
                metrics.handshake_server_first_pto_ns,
                [
                    &mut metrics.handshake_server_logged_first_smoothed_rtt_ns,
                    &mut metrics.handshake_server_logged_first_rttvar_ns,
                    &mut metrics.handshake_server_logged_first_pto_ns,
                    &mut metrics.handshake_server_logged_rtt_updates,
                ],
            ),
        };
        for (place, value) in places.into_iter().zip([first, variance, pto, updates]) {
            *place = value;
        }
        if let (Some(logged), Some(packets)) = (pto, packets) {
            let tolerated = (packets / TOLERATED_ONE_PART_OF).max(GRANULARITY.as_nanos());
            if logged.abs_diff(packets) > tolerated {
                let milliseconds = |nanoseconds: u64| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3;
                run.warn(
                    WarningCode::ProbeTimeoutDiffers,
                    format!(
                        "the {}'s qlog begins with a probe timeout of {:.3} ms (smoothed_rtt and rttvar), its packets with \
                         {:.3} ms by RFC 9002: it computes differently, logs a later sample first, or its sample includes its own work",
                        end.name(),
                        milliseconds(logged),
                        milliseconds(packets)
                    ),
                );
            }
        }
    }
}

/// Whether the first `smoothed_rtt` of a log is the initial RTT, which some stacks log before they have a sample.
fn is_initial(metrics: &QlogMetrics) -> bool {
    let has_sample = metrics.latest_rtt_ns.is_some_and(|rtt| rtt > 0);
    !has_sample && metrics.smoothed_rtt_ns.is_some_and(is_round)
}

fn is_round(rtt_ns: u64) -> bool {
    rtt_ns >= SMALLEST_INITIAL_RTT.as_nanos() && rtt_ns.is_multiple_of(1_000_000)
}

/// Whether these are the values behind a first sample: no other one is the estimate, and twice its deviation (RFC 9002, section 5.3).
fn is_first_sample(metrics: &QlogMetrics) -> bool {
    let (Some(smoothed), Some(variance)) = (metrics.smoothed_rtt_ns, metrics.rtt_variance_ns) else { return false };
    metrics.latest_rtt_ns == Some(smoothed) && smoothed.abs_diff(variance.saturating_mul(2)) <= smoothed / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn metrics(smoothed_ms: u64, variance_ms: Option<u64>) -> QlogEventKind {
        QlogEventKind::Metrics(QlogMetrics {
            smoothed_rtt_ns: Some(smoothed_ms * MS),
            rtt_variance_ns: variance_ms.map(|it| it * MS),
            ..QlogMetrics::default()
        })
    }

    fn log(events: &[QlogEventKind]) -> LoggedRoundTrips {
        let mut log = LoggedRoundTrips::default();
        events.iter().for_each(|event| log.on_event(event));
        log
    }

    fn measured(log: &LoggedRoundTrips, pto_of_packets_ms: u64) -> RunMetrics {
        let mut run = RunMetrics::empty();
        run.metrics.handshake_client_first_pto_ns = Some(pto_of_packets_ms * MS);
        log.finish(Role::Client, &mut run);
        run
    }

    #[test]
    fn the_initial_estimate_is_no_sample_and_repeats_are_no_updates() {
        let log = log(&[
            metrics(333, Some(166)),
            metrics(333, Some(166)),
            metrics(10, Some(5)),
            metrics(10, Some(5)),
            metrics(11, Some(4)),
        ]);
        let run = measured(&log, 30);
        assert_eq!(run.metrics.handshake_client_logged_first_smoothed_rtt_ns, Some(10 * MS));
        assert_eq!(run.metrics.handshake_client_logged_first_rttvar_ns, Some(5 * MS));
        assert_eq!(run.metrics.handshake_client_logged_first_pto_ns, Some(30 * MS));
        assert_eq!(run.metrics.handshake_client_logged_rtt_updates, Some(2));
        assert_eq!(run.warnings, Vec::new());
    }

    /// The log is like that of quic-go, whose first sample is logged before the packet that brought it.
    #[test]
    fn a_round_first_sample_is_told_from_an_initial_estimate_by_its_latest_rtt() {
        let sample = QlogEventKind::Metrics(QlogMetrics {
            smoothed_rtt_ns: Some(100 * MS),
            latest_rtt_ns: Some(100 * MS),
            rtt_variance_ns: Some(50 * MS),
            ..QlogMetrics::default()
        });
        let run = measured(&log(&[sample, metrics(101, Some(40))]), 300);
        assert_eq!(run.metrics.handshake_client_logged_first_pto_ns, Some(300 * MS));
        assert_eq!(run.metrics.handshake_client_logged_rtt_updates, Some(2));
    }

    /// The log is like those of quinn and noq.
    #[test]
    fn an_initial_estimate_that_is_logged_as_a_sample_is_not_the_first() {
        let sample = |rtt_ns: u64| {
            QlogEventKind::Metrics(QlogMetrics {
                smoothed_rtt_ns: Some(rtt_ns),
                latest_rtt_ns: Some(rtt_ns),
                min_rtt_ns: Some(rtt_ns),
                rtt_variance_ns: Some(rtt_ns / 2),
                ..QlogMetrics::default()
            })
        };
        let run = measured(&log(&[sample(333 * MS), sample(43_448_540), metrics(44, Some(16))]), 130);
        assert_eq!(run.metrics.handshake_client_logged_first_smoothed_rtt_ns, Some(43_448_540));
        assert_eq!(run.metrics.handshake_client_logged_rtt_updates, Some(2));
        assert_eq!(run.warnings, Vec::new());
    }

    #[test]
    fn a_stack_that_does_not_log_the_variation_has_no_logged_timeout() {
        let run = measured(&log(&[metrics(10, None)]), 30);
        assert_eq!(run.metrics.handshake_client_logged_first_smoothed_rtt_ns, Some(10 * MS));
        assert_eq!(run.metrics.handshake_client_logged_first_pto_ns, None);
    }

    #[test]
    fn a_timeout_that_differs_by_more_than_a_tenth_is_warned_of() {
        let log = log(&[metrics(10, Some(5))]);
        assert_eq!(measured(&log, 33).warnings, Vec::new());
        assert_eq!(measured(&log, 34).warnings[0].code, "probe_timeout_differs");
    }

    #[test]
    fn an_empty_log_leaves_everything_unknown() {
        let run = measured(&log(&[]), 30);
        assert_eq!(run.metrics.handshake_client_logged_rtt_updates, None);
        assert_eq!(run.metrics.handshake_client_logged_first_pto_ns, None);
    }
}
