//! A train of packets with what is known about it: the evidence that the rules of causes judge.

use quiclab_units::{Duration, Time};

use super::SentContext;
use crate::gaps::Gap;
use crate::recovery::AckEffect;

/// A train under way, or a long one that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    pub(super) start: Time,
    pub(super) last: Time,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) largest_frame: u32,
    pub(super) gap_before_ns: Option<u64>,
    pub(super) bytes_in_flight_before: Option<u64>,
    pub(super) smoothed_rtt_ns: Option<u64>,
    pub(super) before_first_acknowledgment: bool,
    pub(super) retransmissions: u64,
    pub(super) planned: u64,
    pub(super) planned_first_ns: i64,
    pub(super) planned_last_ns: i64,
    /// Packets planned for the same time as the one before them.
    pub(super) planned_together: u64,
    pub(super) back_to_back: u64,
    pub(super) freed_bytes: u64,
    pub(super) freed_packets: u64,
    pub(super) lost_bytes: u64,
    pub(super) ends_recovery: bool,
    /// Packets of it that were sent after slow start.
    pub(super) packets_steady: u64,
    /// The next packet followed without an ACK in between, so that it was not the window that ended the train; `None` where
    /// that is not known.
    pub(super) window_had_room: Option<bool>,
    /// Time from the train's last packet to the next one, in ns.
    pub(super) gap_behind_ns: Option<u64>,
}

impl Train {
    /// Begins a train without any packet yet. `effects` are those of the ACKs that may have let it go.
    pub(super) fn begin<'a>(
        packet: &SentContext,
        gap_before_ns: Option<u64>,
        effects: impl Iterator<Item = &'a AckEffect>,
    ) -> Train {
        let mut train = Train {
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
            freed_bytes: 0,
            freed_packets: 0,
            lost_bytes: 0,
            ends_recovery: false,
            packets_steady: 0,
            window_had_room: None,
            gap_behind_ns: None,
        };
        effects.for_each(|effect| train.on_ack(effect));
        train
    }

    /// An ACK shortly before it, or during it.
    pub(super) fn on_ack(&mut self, effect: &AckEffect) {
        self.freed_bytes += effect.newly_acknowledged_bytes;
        self.freed_packets += effect.newly_acknowledged_packets;
        self.lost_bytes += effect.newly_lost_bytes;
        self.ends_recovery |= effect.ends_recovery;
    }

    /// The next packet of it.
    pub(super) fn on_sent(&mut self, packet: &SentContext, is_back_to_back: bool) {
        self.last = packet.time;
        self.packets += 1;
        self.packets_steady += u64::from(packet.is_steady);
        self.bytes += u64::from(packet.frame_bytes);
        self.largest_frame = self.largest_frame.max(packet.frame_bytes);
        self.retransmissions += u64::from(packet.is_retransmission);
        self.back_to_back += u64::from(is_back_to_back && !packet.begins_train);
        if let Some(planned) = packet.planned_ns {
            if self.planned == 0 {
                self.planned_first_ns = planned;
            } else {
                self.planned_together += u64::from(planned == self.planned_last_ns);
            }
            self.planned += 1;
            self.planned_last_ns = planned;
        }
    }

    /// It is over. `next`: the packet behind it; `window_freed`: an ACK came before that one.
    pub(super) fn end_before(&mut self, next: Option<&SentContext>, window_freed: bool) {
        let Some(next) = next else {
            return;
        };
        let (Gap::Of(gap), Some(rtt), Some(in_flight)) = (next.gap, next.smoothed_rtt_ns, next.bytes_in_flight_before)
        else {
            return;
        };
        // Half an RTT without any ACK or packet is a pause or a probe timeout.
        let is_sending_on = gap < rtt / 2 && in_flight > 0 && !next.is_retransmission;
        let is_full = 2 * next.frame_bytes >= self.largest_frame;
        self.window_had_room = Some(!window_freed && is_sending_on && is_full);
        self.gap_behind_ns = Some(gap);
    }

    /// Time from the train's first to its last packet, in ns.
    pub(super) fn span_ns(&self) -> u64 {
        self.last.checked_since(self.start).map_or(0, Duration::as_nanos)
    }
}
