//! `goodput_wire_bps`, `goodput_process_bps`: application bytes per second, twice.
//!
//! On the wire the time runs from the first to the last packet of the sender with 1-RTT protection. Over TCP and TLS the
//! counterpart of such a packet is a segment of the sender with payload behind the client's Finished; keys apart, the first TLS
//! record of type application data from the client is (or follows) its Finished (RFC 8446 sections 4.4.4 and 5.2; in TLS
//! 1.2 it is the request, RFC 5246 section 7.3). What the server sends as application data before it is its handshake.

use quiclab_units::{ByteCount, Duration, Time};
use quiclab_wire::FlowProtocol;

use crate::output::RunMetrics;
use crate::rtt_estimate::RttEstimate;
use crate::warnings::WarningCode;

/// Largest share of the connection's time that the client's lifetime may differ from it without a warning.
pub const UNEXPLAINED_SHARE_LIMIT: f64 = 0.05;
/// What a client may live longer than its connection on any path, whatever the share: a process starts and ends in less. The
/// rule `idle_end_in_goodput` has the same bound.
pub const UNEXPLAINED_TIME_LIMIT: Duration = Duration::from_secs(1);
/// Smallest response whose goodput is worth a word: that of a smaller one is the time of the handshake and of the process. The rule
/// `idle_end_in_goodput` has the same bound.
pub const SMALLEST_TRANSFER: ByteCount = ByteCount::from_bytes(100_000);
/// An end keeps a closed connection for three probe timeouts (RFC 9000 section 10.2), and no idle timeout is shorter
/// (section 10.1).
const CLOSING_PROBE_TIMEOUTS: u64 = 3;
/// What an end assumes that says nothing else (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Whether a packet has 1-RTT protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// It has, or carries a packet that has.
    OneRtt,
    /// It has not.
    Other,
    /// Too little of it was captured.
    Uncertain,
    /// Nothing is known of any packet until a later one shows it.
    NotYetKnown,
}

/// When a sender sent with 1-RTT protection.
#[derive(Clone, Default)]
pub(crate) struct ProtectedMeter {
    all: Option<(Time, Time)>,
    protected: Option<(Time, Time)>,
    /// Packets of which the capture does not tell, before the first protected one, and behind the last.
    uncertain_before: u64,
    uncertain_behind: u64,
    any_unknown: bool,
    not_yet_known: bool,
}

impl ProtectedMeter {
    pub(crate) fn on_packet(&mut self, time: Time, protection: Protection) {
        self.all.get_or_insert((time, time)).1 = time;
        self.not_yet_known = protection == Protection::NotYetKnown;
        match protection {
            Protection::OneRtt => {
                self.protected.get_or_insert((time, time)).1 = time;
                self.uncertain_behind = 0;
            }
            Protection::Uncertain => {
                self.any_unknown = true;
                if self.protected.is_some() {
                    self.uncertain_behind += 1;
                } else {
                    self.uncertain_before += 1;
                }
            }
            Protection::Other | Protection::NotYetKnown => {}
        }
    }

    /// The first and the last packet with 1-RTT protection, or what comes nearest to them.
    fn interval(&self) -> Option<(Time, Time)> {
        self.protected.or_else(|| self.all.filter(|_| self.any_unknown || self.not_yet_known))
    }

    /// When the last of them was sent.
    pub(crate) fn end(&self) -> Option<Time> {
        self.interval().map(|(_, end)| end)
    }

    fn warn(&self, protocol: FlowProtocol, run: &mut RunMetrics) {
        let uncertain = self.uncertain_before + self.uncertain_behind;
        if self.protected.is_some() {
            if uncertain > 0 {
                run.warn(
                    WarningCode::GoodputEdgesUncertain,
                    format!(
                        "{uncertain} packets before the first or after the last one known to have 1-RTT protection were \
                         cut too short to tell whether they have it: capture with a larger snap length"
                    ),
                );
            }
        } else if self.interval().is_some() {
            let what_is_missing = match protocol {
                FlowProtocol::Tcp => {
                    "nothing shows where a handshake of TLS ends (the connection is not encrypted, or payload bytes or the \
                     client's packets are missing)"
                }
                _ => {
                    "the capture does not show where 1-RTT protection begins (payload bytes or the client's packets are \
                     missing)"
                }
            };
            run.warn(
                WarningCode::GoodputFirstToLastPacket,
                format!(
                    "{what_is_missing}, so goodput on the wire covers the time from the first to the last packet and \
                     includes the handshake"
                ),
            );
        } else if self.all.is_some() {
            let message = match protocol {
                FlowProtocol::Tcp => "no packet from the sender is behind a handshake of TLS: it did not complete",
                _ => "no packet from the sender has 1-RTT protection: the handshake did not complete",
            };
            run.warn(WarningCode::GoodputNoProtectedPackets, message.to_owned());
        }
    }

    /// `transferred_bytes`: of the response, as the client stored them, or of the requests.
    pub(crate) fn finish(&self, transferred_bytes: ByteCount, protocol: FlowProtocol, run: &mut RunMetrics) {
        self.warn(protocol, run);
        // Backwards time has its own warning.
        let interval = self.interval().and_then(|(start, end)| end.checked_since(start));
        run.metrics.goodput_wire_bps =
            interval.and_then(|interval| rate(transferred_bytes, interval.as_nanos(), "transfer on the wire", run));
    }
}

/// Goodput by the client's lifetime, beside that on the wire. `connection`: from the connection's first packet to the sender's
/// last with 1-RTT protection.
pub(crate) fn measure_process(
    transferred_bytes: ByteCount,
    lifetime: Duration,
    connection: Option<Duration>,
    run: &mut RunMetrics,
) {
    let process = rate(transferred_bytes, lifetime.as_nanos(), "client's lifetime", run);
    if let (Some(wire), Some(process), Some(connection)) = (run.metrics.goodput_wire_bps, process, connection)
        && transferred_bytes >= SMALLEST_TRANSFER
        && let Some(difference) = unexplained(lifetime, connection, run.metrics.smoothed_rtt_ns)
    {
        run.warn(
            WarningCode::GoodputProcessDiffers,
            format!(
                "goodput is {:.2} Mbit/s on the wire and {:.2} Mbit/s by the client's lifetime: {difference}",
                wire / 1e6,
                process / 1e6,
            ),
        );
    }
    run.metrics.goodput_process_bps = process;
}

/// What makes the client's lifetime unlike the connection's, apart from the handshake, which is part of both, and from what
/// starting and closing take.
fn unexplained(lifetime: Duration, connection: Duration, smoothed_rtt_ns: Option<u64>) -> Option<String> {
    let is_large = |time: Duration| time.as_nanos() as f64 > UNEXPLAINED_SHARE_LIMIT * connection.as_nanos() as f64;
    if lifetime < connection {
        // An end that knows of the client's close has nothing to send any more, so no time is explained.
        let behind = connection - lifetime;
        return is_large(behind).then(|| {
            format!(
                "the sender sent for at least {:.2} s after the client had ended, which goodput on the wire includes",
                behind.as_secs_f64()
            )
        });
    }
    let closing = smoothed_rtt_ns.map_or(Duration::ZERO, |rtt_ns| {
        // As much as a client has of a download: one sample.
        let mut rtt = RttEstimate::default();
        rtt.on_sample(Duration::from_nanos(rtt_ns), Duration::ZERO);
        Duration::from_nanos(rtt.pto(MAX_ACK_DELAY).as_nanos().saturating_mul(CLOSING_PROBE_TIMEOUTS))
    });
    let rest = lifetime - connection;
    (is_large(rest) && rest > UNEXPLAINED_TIME_LIMIT.max(closing)).then(|| {
        format!(
            "the client lives {:.2} s longer than its connection, which takes {:.2} s with its handshake; does it wait, \
             for example for an idle timeout?",
            rest.as_secs_f64(),
            connection.as_secs_f64()
        )
    })
}

fn rate(transferred_bytes: ByteCount, interval_ns: u64, what: &str, run: &mut RunMetrics) -> Option<f64> {
    if interval_ns == 0 {
        run.warn(WarningCode::GoodputIntervalEmpty, format!("the {what} took no time, so it has no goodput"));
        return None;
    }
    Some(transferred_bytes.as_bytes() as f64 * 8.0 / (interval_ns as f64 / 1e9))
}
