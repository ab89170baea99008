//! The rules: which cause a long train most likely has. docs/concepts/bursts.md has them in words, in the same order.

use super::bucket::Bucket;
use super::cause::BurstCause;
use super::train::Train;

/// Share of a train's packets that must have a planned time, for the plan to be evidence.
const PLANNED_SHARE: f64 = 0.9;
/// Share of a train's gaps that must be back to back, for it to be a batch.
const BATCH_SHARE: f64 = 0.8;

/// What is known of a sender by all of its trains.
pub(super) struct SenderPattern {
    pub(super) segments_per_batch: Option<u64>,
    pub(super) bucket: Option<Bucket>,
    /// Gaps below it join packets into trains.
    pub(super) threshold_ns: u64,
}

impl Train {
    /// The most likely cause, and what speaks for it.
    pub(super) fn cause(&self, sender: &SenderPattern) -> (BurstCause, String) {
        let gaps = self.packets - 1;
        let kilobytes = |bytes: u64| format!("{:.1} kB", bytes as f64 / 1e3);
        if self.before_first_acknowledgment {
            return (BurstCause::StartUp, "none of the connection's data had been acknowledged yet".to_owned());
        }
        if self.ends_recovery {
            return (
                BurstCause::RecoveryEnd,
                format!(
                    "an ACK within the last millisecond ended a recovery ({} packets repeated)",
                    self.retransmissions
                ),
            );
        }
        if self.planned as f64 >= PLANNED_SHARE * self.packets as f64 {
            let span = self.planned_last_ns.abs_diff(self.planned_first_ns);
            if self.planned_together as f64 >= BATCH_SHARE * gaps as f64 / 2.0 && self.planned_together > 0 {
                let times = self.planned - self.planned_together;
                return (BurstCause::Batch, format!("{} packets planned for {times} times", self.planned));
            }
            if span >= sender.threshold_ns.saturating_mul(gaps) {
                let sent = self.span_ns();
                return (
                    BurstCause::LateTimer,
                    format!("planned over {:.3} ms, sent within {:.3} ms", span as f64 / 1e6, sent as f64 / 1e6),
                );
            }
        }
        if self.bytes_in_flight_before.is_some_and(|bytes| bytes <= u64::from(self.largest_frame))
            && let (Some(gap), Some(rtt)) = (self.gap_before_ns, self.smoothed_rtt_ns)
            && gap >= rtt / 2
        {
            return (
                BurstCause::ApplicationPause,
                format!("nothing in flight, and nothing sent for {:.3} ms", gap as f64 / 1e6),
            );
        }
        if let Some(bucket) = &sender.bucket
            && let Some(evidence) = bucket.emptied_by(self)
        {
            return (BurstCause::Bucket, evidence);
        }
        // In slow start each byte acknowledged lets two go.
        if self.freed_bytes > 0 && 2 * self.freed_bytes + self.lost_bytes + u64::from(self.largest_frame) >= self.bytes
        {
            let lost = match self.lost_bytes {
                0 => String::new(),
                bytes => format!(", which declared {} lost,", kilobytes(bytes)),
            };
            return (
                BurstCause::Ack,
                format!(
                    "ACKs of {} packets ({}){lost} during it and in the millisecond before it",
                    self.freed_packets,
                    kilobytes(self.freed_bytes)
                ),
            );
        }
        if self.back_to_back as f64 >= BATCH_SHARE * gaps as f64 {
            let batches = sender
                .segments_per_batch
                .filter(|segments| *segments > 1)
                .map_or_else(String::new, |segments| format!("; most batches of this sender have {segments} packets"));
            return (
                BurstCause::Batch,
                format!("{} of {gaps} gaps are back to back at line rate{batches}", self.back_to_back),
            );
        }
        let grown = self.bytes.saturating_sub(2 * self.freed_bytes + self.lost_bytes);
        let in_flight = match self.bytes_in_flight_before {
            Some(before) if before > 0 => format!(
                "; {} were in flight, and {} more were sent than ACKs released: did the window grow at once, as after \
                 a spurious loss?",
                kilobytes(before),
                kilobytes(grown)
            ),
            _ => String::new(),
        };
        (
            BurstCause::Unknown,
            format!(
                "{} of {gaps} gaps back to back, {} acknowledged around it{in_flight}",
                self.back_to_back,
                kilobytes(self.freed_bytes)
            ),
        )
    }
}
