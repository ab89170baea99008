//! `burst_*`: why packets left close together. For each train longer than five packets the most likely cause, with the
//! evidence. docs/concepts/bursts.md says how far to trust it.

mod bucket;
pub(crate) mod cause;
mod causes;
mod shares;
mod train;

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};

use self::bucket::BucketMeter;
pub use self::cause::{Burst, BurstCause};
use self::causes::SenderPattern;
use self::shares::Shares;
use self::train::Train;
use crate::gaps::Gap;
use crate::output::RunMetrics;
use crate::recovery::AckEffect;
use crate::trains::SHORT_TRAIN_PACKETS;
use crate::warnings::WarningCode;

/// Long trains examined one by one, of a sender.
const MOST_TRAINS: usize = 200_000;
/// Long trains listed with their evidence: the longest.
const MOST_LISTED: usize = 50;
/// An ACK this long before a train may have caused it: longer than a stack takes to answer, shorter than most RTTs.
const ANSWER_NS: u64 = 1_000_000;
/// Gaps up to this much above the smallest one, or up to twice that, are back to back...
const BACK_TO_BACK_SLACK_NS: u64 = 2_000;
/// ...unless they are longer than this: a frame of 1514 bytes takes 12.1 µs at 1 Gbit/s. A loop of system calls on a slow
/// machine has gaps just as even, and longer ones.
const BACK_TO_BACK_MOST_NS: u64 = 15_000;

/// What is known about a packet when it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentContext {
    pub(crate) time: Time,
    pub(crate) gap: Gap,
    pub(crate) begins_train: bool,
    pub(crate) frame_bytes: u32,
    pub(crate) planned_ns: Option<i64>,
    pub(crate) is_retransmission: bool,
    pub(crate) bytes_in_flight_before: Option<u64>,
    pub(crate) smoothed_rtt_ns: Option<u64>,
    pub(crate) before_first_acknowledgment: bool,
    /// Slow start is over.
    pub(crate) is_steady: bool,
}

impl Default for SentContext {
    fn default() -> Self {
        SentContext {
            time: Time::default(),
            gap: Gap::None,
            begins_train: true,
            frame_bytes: 0,
            planned_ns: None,
            is_retransmission: false,
            bytes_in_flight_before: None,
            smoothed_rtt_ns: None,
            before_first_acknowledgment: false,
            is_steady: false,
        }
    }
}

/// The trains of one sender.
#[derive(Default)]
pub(crate) struct BurstMeter {
    current: Option<Train>,
    long: Vec<Train>,
    /// Packets of long trains beyond the first [`MOST_TRAINS`]; of these, those after slow start.
    not_examined: [u64; 2],
    /// All packets; of these, those after slow start.
    packets: [u64; 2],
    first: Option<Time>,
    smallest_gap_ns: Option<u64>,
    /// Packets in the run of back-to-back packets under way, and runs by length.
    run: u64,
    runs: BTreeMap<u64, u64>,
    /// ACKs that may cause the next train: time, effect.
    recent_acks: Vec<(Time, AckEffect)>,
    /// An ACK freed window since the last packet.
    window_freed: bool,
    bucket: BucketMeter,
}

impl BurstMeter {
    pub(crate) fn on_packet_of_peer(&mut self, time: Time, effect: AckEffect) {
        if effect.newly_acknowledged_bytes + effect.newly_lost_bytes == 0 && !effect.ends_recovery {
            return;
        }
        if let Some(train) = &mut self.current {
            train.on_ack(&effect);
        }
        self.window_freed = true;
        self.recent_acks.retain(|(then, _)| is_recent(*then, time));
        self.recent_acks.push((time, effect));
    }

    pub(crate) fn on_sent(&mut self, packet: &SentContext) {
        self.packets[0] += 1;
        self.packets[1] += u64::from(packet.is_steady);
        self.first.get_or_insert(packet.time);
        let gap = match packet.gap {
            Gap::Of(gap) => Some(gap),
            Gap::None | Gap::Backwards => None,
        };
        if packet.begins_train {
            self.close(Some(packet));
            let recent = self.recent_acks.iter().filter(|(time, _)| is_recent(*time, packet.time));
            self.current = Some(Train::begin(packet, gap, recent.map(|(_, effect)| effect)));
        }
        self.window_freed = false;
        if let Some(gap) = gap {
            self.smallest_gap_ns = Some(self.smallest_gap_ns.map_or(gap, |smallest| smallest.min(gap)));
        }
        let is_back_to_back = gap.is_some_and(|gap| self.is_back_to_back(gap));
        if is_back_to_back {
            self.run += 1;
        } else {
            self.close_run();
            self.run = 1;
        }
        if let Some(train) = &mut self.current {
            train.on_sent(packet, is_back_to_back);
        }
    }

    fn is_back_to_back(&self, gap: u64) -> bool {
        let smallest = self.smallest_gap_ns.unwrap_or(gap);
        gap <= (2 * smallest).max(smallest.saturating_add(BACK_TO_BACK_SLACK_NS)).min(BACK_TO_BACK_MOST_NS)
    }

    fn close_run(&mut self) {
        if self.run > 1 {
            *self.runs.entry(self.run).or_insert(0) += 1;
        }
    }

    /// `next`: the packet behind the train.
    fn close(&mut self, next: Option<&SentContext>) {
        let Some(mut train) = self.current.take() else {
            return;
        };
        train.end_before(next, self.window_freed);
        self.bucket.on_train(&train);
        if train.packets > SHORT_TRAIN_PACKETS {
            if self.long.len() < MOST_TRAINS {
                self.long.push(train);
            } else {
                self.not_examined[0] += train.packets;
                self.not_examined[1] += train.packets_steady;
            }
        }
    }

    /// The length of run that holds most packets: how many segments a batch of this sender has.
    fn segments_per_batch(&self) -> Option<u64> {
        self.runs.iter().max_by_key(|(length, number)| (*length * *number, **length)).map(|(length, _)| *length)
    }

    /// Writes the results into `run`. This comes after the phases, whose shares are filled in where the phases are known.
    pub(crate) fn finish(mut self, threshold: Duration, run: &mut RunMetrics) {
        self.close(None);
        self.close_run();
        let [packets, packets_steady] = self.packets;
        if packets == 0 {
            return;
        }
        let segments_per_batch = self.segments_per_batch();
        let sender = SenderPattern {
            segments_per_batch,
            // Trains as long as the sender's batches at line rate may be batches and no more: what is handed over at once has a limit
            // of its own.
            bucket: self.bucket.find().filter(|bucket| Some(bucket.packets) != segments_per_batch),
            threshold_ns: threshold.as_nanos(),
        };
        let first = self.first.unwrap_or_default();
        let [mut whole, mut slow_start, mut steady] =
            [packets, packets - packets_steady, packets_steady].map(Shares::of);
        let mut bursts: Vec<Burst> = Vec::with_capacity(self.long.len());
        for train in &self.long {
            let (cause, evidence) = train.cause(&sender);
            whole.add(cause, train.packets);
            slow_start.add_part(cause, train.packets - train.packets_steady);
            steady.add_part(cause, train.packets_steady);
            let start_ns = train.start.checked_since(first).map_or(0, Duration::as_nanos);
            bursts.push(Burst { start_ns, packets: train.packets, bytes: train.bytes, cause, evidence });
        }
        let [not_examined, not_examined_steady] = self.not_examined;
        whole.add(BurstCause::Unknown, not_examined);
        slow_start.add(BurstCause::Unknown, not_examined - not_examined_steady);
        steady.add(BurstCause::Unknown, not_examined_steady);
        whole.fill_metrics(&mut run.metrics);
        if run.slow_start.is_some() {
            slow_start.fill_phase(&mut run.metrics.slow_start);
            steady.fill_phase(&mut run.metrics.steady);
        }
        run.metrics.pacing_bucket_packets = sender.bucket.map(|bucket| bucket.packets);
        // The longest, in the order of time.
        bursts.sort_by_key(|burst| (std::cmp::Reverse(burst.packets), burst.start_ns));
        bursts.truncate(MOST_LISTED);
        bursts.sort_by_key(|burst| burst.start_ns);
        run.distributions.bursts = bursts;
        if not_examined > 0 {
            run.warn(
                WarningCode::TrainsNotExamined,
                format!(
                    "{not_examined} packets are in long trains beyond the first {MOST_TRAINS}; their cause counts as unknown"
                ),
            );
        }
    }
}

fn is_recent(then: Time, now: Time) -> bool {
    now.checked_since(then).is_some_and(|age| age.as_nanos() <= ANSWER_NS)
}

#[cfg(test)]
mod tests;
