//! Slow start and what comes after it, measured apart. docs/reference/metrics.md says where they part.
//!
//! A loss is known about one RTT after the lost packet was sent: when the ACK arrives that declares it lost. Until then the
//! sender paces as in slow start, so that moment ends it. A packet belongs to the phase in which it was sent; a gap between
//! two phases belongs to neither; a train across the boundary is cut there, and each part is a train of its phase.

use quiclab_units::{Duration, Time};

use crate::congestion_window::LoggedEnd;
use crate::output::RunMetrics;
use crate::pacing::PacingMetrics;
use crate::packets::PacketMeter;
use crate::slow_start::{SlowStart, SlowStartEnd};

/// The first packet that was declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstLoss {
    pub(crate) number: u64,
    pub(crate) sent: Time,
    /// When the ACK arrived.
    pub(crate) declared: Time,
}

/// The packets of one sender by phase. Holds the meters of at most two phases at a time.
pub(crate) struct PhaseMeter {
    train_threshold: Duration,
    first: Option<Time>,
    current: PacketMeter,
    /// Over; `current` is what comes after it.
    slow_start: Option<PacketMeter>,
    end: Option<(Time, SlowStartEnd, String)>,
}

impl PhaseMeter {
    pub(crate) fn new(train_threshold: Duration) -> Self {
        PhaseMeter {
            train_threshold,
            first: None,
            current: PacketMeter::new(train_threshold),
            slow_start: None,
            end: None,
        }
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn on_packet(&mut self, time: Time, frame_bytes: u32, payload_bytes: u32) {
        self.first.get_or_insert(time);
        self.current.on_packet(time, frame_bytes, payload_bytes);
    }

    /// The first packet declared lost, as soon as there is one.
    pub(crate) fn on_loss(&mut self, loss: FirstLoss) {
        if self.is_steady() {
            return;
        }
        let evidence = format!(
            "packet {}, sent at {:.3} ms, was declared lost by the ACK at {:.3} ms",
            loss.number,
            self.milliseconds(loss.sent),
            self.milliseconds(loss.declared)
        );
        self.end_slow_start(loss.declared, SlowStartEnd::FirstLoss, evidence);
    }

    /// TCP: the packet that comes next is the first with data that were sent before.
    pub(crate) fn on_retransmission(&mut self, time: Time) {
        if !self.is_steady() {
            let evidence = format!("data was retransmitted for the first time at {:.3} ms", self.milliseconds(time));
            self.end_slow_start(time, SlowStartEnd::Retransmission, evidence);
        }
    }

    /// The packet that comes next, of this number, is the first after slow start by the sender's log.
    pub(crate) fn on_log(&mut self, time: Time, number: u64, end: LoggedEnd) {
        if self.is_steady() {
            return;
        }
        let (cause, what) = match end {
            LoggedEnd::WindowFell => (SlowStartEnd::WindowPeak, "its congestion window fell by more than a tenth"),
            LoggedEnd::State => (SlowStartEnd::LoggedState, "it left slow start"),
        };
        let at = self.milliseconds(time);
        let evidence = format!("according to the sender's log, {what} before it sent packet {number} at {at:.3} ms");
        self.end_slow_start(time, cause, evidence);
    }

    fn milliseconds(&self, time: Time) -> f64 {
        let since = self.first.and_then(|first| time.checked_since(first));
        since.map_or(0.0, |since| since.as_nanos() as f64 / 1e6)
    }

    fn end_slow_start(&mut self, time: Time, cause: SlowStartEnd, evidence: String) {
        let steady = PacketMeter::new(self.train_threshold);
        self.slow_start = Some(std::mem::replace(&mut self.current, steady));
        self.end = Some((time, cause, evidence));
    }

    /// Fills in the fields of times and lengths; those of causes come from the bursts. What it rests on is judged later.
    pub(crate) fn finish(self, run: &mut RunMetrics) {
        let Some(first) = self.first else {
            return;
        };
        let of = |meter: PacketMeter| {
            let mut scratch = RunMetrics::empty();
            meter.finish(&mut scratch);
            PacingMetrics::of(&scratch.metrics)
        };
        let (ended_by, evidence) = match (self.end, self.slow_start) {
            (Some((time, cause, evidence)), Some(slow_start)) => {
                run.metrics.slow_start_end_ns = time.checked_since(first).map(Duration::as_nanos);
                run.metrics.slow_start = of(slow_start);
                run.metrics.steady = of(self.current);
                (cause, evidence)
            }
            _ => {
                run.metrics.slow_start = of(self.current);
                (SlowStartEnd::NotSeen, "no loss was seen: the whole flow counts as slow start".to_owned())
            }
        };
        run.slow_start = Some(SlowStart { ended_by, evidence });
    }
}

#[cfg(test)]
mod tests;
