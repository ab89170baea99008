//! `burst_*`: why packets left close together. For each train longer than five packets the most likely cause, with the
//! evidence. docs/concepts/bursts.md says how far to trust it.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

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
/// Share of a train's packets that must have a planned time, for the plan to be evidence.
const PLANNED_SHARE: f64 = 0.9;
/// Share of a train's gaps that must be back to back, for it to be a batch.
const BATCH_SHARE: f64 = 0.8;

/// What most likely made a sender send a long train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstCause {
    /// Nothing was acknowledged yet: the initial window.
    StartUp,
    /// The ACK before it ended a loss recovery.
    RecoveryEnd,
    /// The stack planned to send the packets apart, and they left together: its timer, or who held the CPU, was late.
    LateTimer,
    /// Handed over together: one system call for many packets (GSO, sendmmsg), or one release by the queueing discipline.
    /// Planned for the same time, or back to back at line rate.
    Batch,
    /// Nothing was in flight: the application had had nothing to send.
    ApplicationPause,
    /// ACKs freed so much window at once, by what they acknowledged and by what they showed to be lost.
    Ack,
    /// None of these.
    Unknown,
}

impl BurstCause {
    /// In the order in which they are looked for.
    pub const ALL: [BurstCause; 7] = [
        BurstCause::StartUp,
        BurstCause::RecoveryEnd,
        BurstCause::LateTimer,
        BurstCause::Batch,
        BurstCause::ApplicationPause,
        BurstCause::Ack,
        BurstCause::Unknown,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            BurstCause::StartUp => "start-up",
            BurstCause::RecoveryEnd => "end of recovery",
            BurstCause::LateTimer => "late timer",
            BurstCause::Batch => "batch (GSO, sendmmsg, qdisc)",
            BurstCause::ApplicationPause => "application pause",
            BurstCause::Ack => "ACK",
            BurstCause::Unknown => "unknown",
        }
    }
}

/// A long train with its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Since the sender's first packet.
    pub start_ns: u64,
    /// Packets in it.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// The most likely cause.
    pub cause: BurstCause,
    /// What speaks for it, in words and numbers.
    pub evidence: String,
}

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
        }
    }
}

/// A train under way, or a long one that is over.
#[derive(Clone, Copy, Debug)]
struct Train {
    start: Time,
    last: Time,
    packets: u64,
    bytes: u64,
    largest_frame: u32,
    gap_before_ns: Option<u64>,
    bytes_in_flight_before: Option<u64>,
    smoothed_rtt_ns: Option<u64>,
    before_first_acknowledgment: bool,
    retransmissions: u64,
    planned: u64,
    planned_first_ns: i64,
    planned_last_ns: i64,
    /// Packets planned for the same time as the one before them.
    planned_together: u64,
    back_to_back: u64,
    freed_bytes: u64,
    freed_packets: u64,
    lost_bytes: u64,
    ends_recovery: bool,
}

/// The trains of one sender.
#[derive(Default)]
pub(crate) struct BurstMeter {
    current: Option<Train>,
    long: Vec<Train>,
    not_examined: u64,
    packets: u64,
    bursty_packets: u64,
    first: Option<Time>,
    smallest_gap_ns: Option<u64>,
    /// Packets in the run of back-to-back packets under way, and runs by length.
    run: u64,
    runs: BTreeMap<u64, u64>,
    /// ACKs that may cause the next train: time, effect.
    recent_acks: Vec<(Time, AckEffect)>,
}

impl BurstMeter {
    pub(crate) fn on_packet_of_peer(&mut self, time: Time, effect: AckEffect) {
        if effect.newly_acknowledged_bytes + effect.newly_lost_bytes == 0 && !effect.ends_recovery {
            return;
        }
        if let Some(train) = &mut self.current {
            train.freed_bytes += effect.newly_acknowledged_bytes;
            train.freed_packets += effect.newly_acknowledged_packets;
            train.lost_bytes += effect.newly_lost_bytes;
            train.ends_recovery |= effect.ends_recovery;
        }
        self.recent_acks.retain(|(then, _)| is_recent(*then, time));
        self.recent_acks.push((time, effect));
    }

    pub(crate) fn on_sent(&mut self, packet: &SentContext) {
        self.packets += 1;
        self.first.get_or_insert(packet.time);
        let gap = match packet.gap {
            Gap::Of(gap) => Some(gap),
            Gap::None | Gap::Backwards => None,
        };
        if packet.begins_train {
            self.close();
            self.current = Some(self.begin(packet, gap));
        }
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
        let Some(train) = &mut self.current else {
            return;
        };
        train.last = packet.time;
        train.packets += 1;
        train.bytes += u64::from(packet.frame_bytes);
        train.largest_frame = train.largest_frame.max(packet.frame_bytes);
        train.retransmissions += u64::from(packet.is_retransmission);
        train.back_to_back += u64::from(is_back_to_back && !packet.begins_train);
        if let Some(planned) = packet.planned_ns {
            if train.planned == 0 {
                train.planned_first_ns = planned;
            } else {
                train.planned_together += u64::from(planned == train.planned_last_ns);
            }
            train.planned += 1;
            train.planned_last_ns = planned;
        }
    }

    fn begin(&self, packet: &SentContext, gap_before_ns: Option<u64>) -> Train {
        let before =
            || self.recent_acks.iter().filter(|(time, _)| is_recent(*time, packet.time)).map(|(_, effect)| effect);
        Train {
            start: packet.time,
            last: packet.time,
            packets: 0,
            bytes: 0,
            largest_frame: 0,
            gap_before_ns,
            bytes_in_flight_before: packet.bytes_in_flight_before,
            smoothed_rtt_ns: packet.smoothed_rtt_ns,
            before_first_acknowledgment: packet.before_first_acknowledgment,
            retransmissions: 0,
            planned: 0,
            planned_first_ns: 0,
            planned_last_ns: 0,
            planned_together: 0,
            back_to_back: 0,
            freed_bytes: before().map(|effect| effect.newly_acknowledged_bytes).sum(),
            freed_packets: before().map(|effect| effect.newly_acknowledged_packets).sum(),
            lost_bytes: before().map(|effect| effect.newly_lost_bytes).sum(),
            ends_recovery: before().any(|effect| effect.ends_recovery),
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

    fn close(&mut self) {
        let Some(train) = self.current.take() else {
            return;
        };
        if train.packets > SHORT_TRAIN_PACKETS {
            self.bursty_packets += train.packets;
            if self.long.len() < MOST_TRAINS {
                self.long.push(train);
            } else {
                self.not_examined += train.packets;
            }
        }
    }

    /// The length of run that holds most packets: how many segments a batch of this sender has.
    fn segments_per_batch(&self) -> Option<u64> {
        self.runs.iter().max_by_key(|(length, number)| (*length * *number, **length)).map(|(length, _)| *length)
    }

    pub(crate) fn finish(mut self, threshold: Duration, run: &mut RunMetrics) {
        self.close();
        self.close_run();
        if self.packets == 0 {
            return;
        }
        run.metrics.burst_share_of_packets = Some(self.bursty_packets as f64 / self.packets as f64);
        if self.bursty_packets == 0 {
            return;
        }
        let segments = self.segments_per_batch();
        let first = self.first.unwrap_or_default();
        let mut packets_by_cause: BTreeMap<BurstCause, u64> = BTreeMap::new();
        let mut bursts: Vec<Burst> = Vec::with_capacity(self.long.len());
        for train in &self.long {
            let (cause, evidence) = train.cause(segments, threshold.as_nanos());
            *packets_by_cause.entry(cause).or_insert(0) += train.packets;
            let start_ns = train.start.checked_since(first).map_or(0, Duration::as_nanos);
            bursts.push(Burst { start_ns, packets: train.packets, bytes: train.bytes, cause, evidence });
        }
        *packets_by_cause.entry(BurstCause::Unknown).or_insert(0) += self.not_examined;
        let share =
            |cause| Some(packets_by_cause.get(&cause).copied().unwrap_or(0) as f64 / self.bursty_packets as f64);
        let metrics = &mut run.metrics;
        metrics.burst_share_start_up = share(BurstCause::StartUp);
        metrics.burst_share_recovery_end = share(BurstCause::RecoveryEnd);
        metrics.burst_share_late_timer = share(BurstCause::LateTimer);
        metrics.burst_share_batch = share(BurstCause::Batch);
        metrics.burst_share_application_pause = share(BurstCause::ApplicationPause);
        metrics.burst_share_ack = share(BurstCause::Ack);
        metrics.burst_share_unknown = share(BurstCause::Unknown);
        // The longest, in the order of time.
        bursts.sort_by_key(|burst| (std::cmp::Reverse(burst.packets), burst.start_ns));
        bursts.truncate(MOST_LISTED);
        bursts.sort_by_key(|burst| burst.start_ns);
        run.distributions.bursts = bursts;
        if self.not_examined > 0 {
            run.warn(
                WarningCode::TrainsNotExamined,
                format!(
                    "{} packets are in long trains beyond the first {MOST_TRAINS}; their cause counts as unknown",
                    self.not_examined
                ),
            );
        }
    }
}

fn is_recent(then: Time, now: Time) -> bool {
    now.checked_since(then).is_some_and(|age| age.as_nanos() <= ANSWER_NS)
}

impl Train {
    fn cause(&self, segments_per_batch: Option<u64>, threshold_ns: u64) -> (BurstCause, String) {
        let gaps = self.packets - 1;
        let kilobytes = |bytes: u64| format!("{:.1} kB", bytes as f64 / 1e3);
        if self.before_first_acknowledgment {
            return (BurstCause::StartUp, "nothing of the connection's data was acknowledged yet".to_owned());
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
            if span >= threshold_ns.saturating_mul(gaps) {
                let sent = self.last.checked_since(self.start).map_or(0, Duration::as_nanos);
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
        // In slow start each byte acknowledged lets two go.
        if self.freed_bytes > 0 && 2 * self.freed_bytes + self.lost_bytes + u64::from(self.largest_frame) >= self.bytes
        {
            let lost = match self.lost_bytes {
                0 => String::new(),
                bytes => format!(", which showed {} to be lost,", kilobytes(bytes)),
            };
            return (
                BurstCause::Ack,
                format!(
                    "ACKs of {} packets ({}){lost} in the millisecond before it and during it",
                    self.freed_packets,
                    kilobytes(self.freed_bytes)
                ),
            );
        }
        if self.back_to_back as f64 >= BATCH_SHARE * gaps as f64 {
            let batches = segments_per_batch.filter(|segments| *segments > 1).map_or_else(String::new, |segments| {
                format!("; batches of this sender have mostly {segments} packets")
            });
            return (
                BurstCause::Batch,
                format!("{} of {gaps} gaps are back to back at line rate{batches}", self.back_to_back),
            );
        }
        let grown = self.bytes.saturating_sub(2 * self.freed_bytes + self.lost_bytes);
        let in_flight = match self.bytes_in_flight_before {
            Some(before) if before > 0 => format!(
                "; {} were in flight and {} more went than ACKs let go: a window that grew at once, as after a spurious loss?",
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

#[cfg(test)]
mod tests;
