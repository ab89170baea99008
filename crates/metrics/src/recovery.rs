//! What packet numbers and ACK frames say: RTT, losses, retransmissions, bytes in flight. RFC 9002, seen from the tap.
//!
//! The tap stands at the sender, so a packet counts as sent when the tap sees it, and as acknowledged when the tap sees the
//! ACK. At a tap elsewhere the RTT is that of the way from there to the receiver and back.

use std::collections::BTreeMap;

use quiclab_units::Time;
use quiclab_wire::{Ack, QuicForm, QuicFrame};

use crate::output::RunMetrics;
use crate::phases::FirstLoss;
use crate::ranges::RangeSet;
use crate::samples::Samples;
use crate::transport::TransportMeter;
use crate::warnings::WarningCode;

/// `kPacketThreshold`, RFC 9002 section 6.1.1: a packet is lost when one sent so many numbers later is acknowledged.
pub const PACKET_THRESHOLD: u64 = 3;
/// Packets declared lost that may still turn out to be late.
const MOST_LOST_REMEMBERED: usize = 1 << 16;
/// Streams whose offsets are followed.
const MOST_STREAMS: usize = 1 << 16;

/// Index of a packet number space.
pub(crate) fn space(form: QuicForm) -> Option<usize> {
    form.packet_number_space().map(usize::from)
}

#[derive(Clone, Copy)]
struct SentPacket {
    time: Time,
    bytes: u64,
    ack_eliciting: bool,
    in_flight: bool,
    /// Place in the time-sequence picture.
    sequence: u64,
}

/// What one ACK did. The evidence of burst forensics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckEffect {
    pub(crate) newly_acknowledged_packets: u64,
    pub(crate) newly_acknowledged_bytes: u64,
    /// Declared lost because of it: no longer in flight either.
    pub(crate) newly_lost_bytes: u64,
    /// A packet sent after the last loss was acknowledged for the first time, RFC 9002 section 7.3.2.
    pub(crate) ends_recovery: bool,
}

/// What one sent packet was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentEffect {
    pub(crate) is_duplicate: bool,
    pub(crate) is_retransmission: bool,
    pub(crate) carries_stream: bool,
}

/// The packets of one QUIC sender with the ACKs of its peer.
#[derive(Default)]
pub(crate) struct RecoveryMeter {
    numbers: [RangeSet; 3],
    /// Numbers that the peer has acknowledged, captured or not.
    acknowledged: [RangeSet; 3],
    largest: [Option<u64>; 3],
    outstanding: [BTreeMap<u64, SentPacket>; 3],
    lost: BTreeMap<(usize, u64), SentPacket>,
    pub(crate) transport: TransportMeter,
    ack_delays: Samples,
    acks: u64,
    packets_seen: u64,
    duplicates: u64,
    reordered: u64,
    declared_lost: u64,
    spuriously_lost: u64,
    retransmissions: u64,
    retransmitted_bytes: u64,
    streams: BTreeMap<u64, (u64, RangeSet)>,
    streams_not_followed: u64,
    crypto: [RangeSet; 3],
    stream_bytes: u64,
    /// Send time of the last packet when a loss was declared.
    recovery_start: Option<Time>,
    last_sent: Option<Time>,
    pub(crate) first_loss: Option<FirstLoss>,
    pub(crate) one_rtt_acknowledged: bool,
}

impl RecoveryMeter {
    /// Bytes of ack-eliciting or padded packets that are neither acknowledged nor lost.
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.transport.flight.bytes()
    }

    /// Smoothed round-trip time of all packets so far, in ns.
    pub(crate) fn smoothed_rtt_ns(&self) -> Option<u64> {
        self.transport.rtt.smoothed_ns()
    }

    /// Packets with bytes sent before, and packets lost, so far.
    pub(crate) fn counters(&self) -> (Option<u64>, Option<u64>) {
        (Some(self.retransmissions), Some(self.declared_lost - self.spuriously_lost))
    }

    pub(crate) fn stream_bytes(&self) -> u64 {
        self.stream_bytes
    }

    /// Packets that the peer acknowledged and the capture does not have, from the first captured one of their space on.
    pub(crate) fn packets_missed(&self) -> u64 {
        let spaces = self.acknowledged.iter().zip(&self.numbers);
        let missed = spaces.filter_map(|(acknowledged, seen)| Some(acknowledged.members_not_in(seen, seen.first()?)));
        missed.fold(0, u64::saturating_add)
    }

    /// Packets whose number was seen before.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets with a number, each counted once.
    pub(crate) fn packets_numbered(&self) -> u64 {
        self.numbers.iter().map(RangeSet::members).sum()
    }

    /// A packet whose number is known; `frames` is empty where its payload is not. `origin` is the flow's first packet.
    pub(crate) fn on_sent(
        &mut self,
        space: usize,
        number: u64,
        time: Time,
        bytes: u32,
        frames: Option<&[QuicFrame]>,
        origin: Time,
    ) -> SentEffect {
        self.transport.begin(origin);
        let mut effect = SentEffect::default();
        self.packets_seen += 1;
        if self.numbers[space].insert(number, number + 1) == 0 {
            self.duplicates += 1;
            effect.is_duplicate = true;
            return effect;
        }
        if self.largest[space].is_some_and(|largest| number < largest) {
            self.reordered += 1;
        }
        self.largest[space] = self.largest[space].max(Some(number));
        // Of a packet whose frames are not known, take what most packets of a sender are.
        let mut ack_eliciting = frames.is_none();
        let mut in_flight = frames.is_none();
        let mut sequence = 0;
        for frame in frames.unwrap_or_default() {
            ack_eliciting |= frame.is_ack_eliciting();
            // RFC 9002 section 2: ack-eliciting, or with PADDING.
            in_flight |= frame.is_ack_eliciting() || matches!(frame, QuicFrame::Padding { .. });
            match frame {
                QuicFrame::Stream { stream, offset, length, .. } => {
                    effect.carries_stream |= *length > 0;
                    sequence = self.on_stream(*stream, *offset, *length, &mut effect);
                }
                QuicFrame::Crypto { offset, data } => {
                    let length = data.len() as u64;
                    let new = self.crypto[space].insert(*offset, offset.saturating_add(length));
                    effect.is_retransmission |= new < length;
                    self.retransmitted_bytes += length - new;
                }
                _ => {}
            }
        }
        self.retransmissions += u64::from(effect.is_retransmission);
        if effect.carries_stream {
            self.transport.sequence.add(time, sequence);
            if effect.is_retransmission {
                self.transport.marks.on_retransmission(time, sequence);
            }
        }
        let packet = SentPacket { time, bytes: u64::from(bytes), ack_eliciting, in_flight, sequence };
        if ack_eliciting || in_flight {
            self.outstanding[space].insert(number, packet);
        }
        if in_flight {
            self.transport.flight.set(time, self.transport.flight.bytes() + packet.bytes);
        }
        self.last_sent = Some(time);
        effect
    }

    fn on_stream(&mut self, stream: u64, offset: u64, length: u64, effect: &mut SentEffect) -> u64 {
        if !self.streams.contains_key(&stream) && self.streams.len() >= MOST_STREAMS {
            self.streams_not_followed += 1;
            return self.stream_bytes;
        }
        let begin = self.stream_bytes;
        let (base, ranges) =
            self.streams.entry(stream).or_insert_with(|| (begin.saturating_sub(offset), RangeSet::default()));
        let new = ranges.insert(offset, offset + length);
        self.stream_bytes += new;
        self.retransmitted_bytes += length - new;
        effect.is_retransmission |= new < length;
        *base + offset + length
    }

    /// An ACK of the peer. `exponent` is the peer's `ack_delay_exponent`.
    pub(crate) fn on_ack(&mut self, space: usize, ack: &Ack, exponent: u8, time: Time) -> AckEffect {
        self.acks += 1;
        let mut effect = AckEffect::default();
        let mut newest: Option<(u64, SentPacket)> = None;
        let mut any_eliciting = false;
        let outstanding = &mut self.outstanding[space];
        let mut freed = 0;
        if self.numbers[space].first().is_some_and(|first| ack.largest() >= first) {
            self.transport.flight.begin();
        }
        for range in &ack.ranges {
            self.acknowledged[space].insert(*range.start(), range.end().saturating_add(1));
            let numbers: Vec<u64> = outstanding.range(range.clone()).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(packet) = outstanding.remove(&number) else { continue };
                effect.newly_acknowledged_packets += 1;
                effect.newly_acknowledged_bytes += packet.bytes;
                any_eliciting |= packet.ack_eliciting;
                freed += if packet.in_flight { packet.bytes } else { 0 };
                if newest.is_none_or(|(newest, _)| number > newest) {
                    newest = Some((number, packet));
                }
            }
            if !self.lost.is_empty() {
                let late: Vec<u64> = self
                    .lost
                    .range((space, *range.start())..=(space, *range.end()))
                    .map(|((_, number), _)| *number)
                    .collect();
                for number in late {
                    self.lost.remove(&(space, number));
                    self.spuriously_lost += 1;
                }
            }
        }
        if freed > 0 {
            self.transport.flight.set(time, self.transport.flight.bytes().saturating_sub(freed));
        }
        if space == 2 && newest.is_some() && !self.one_rtt_acknowledged {
            self.one_rtt_acknowledged = true;
            self.forget_handshake(time);
        }
        if let Some((number, packet)) = newest {
            // RFC 9002 section 5.1.
            if number == ack.largest() && any_eliciting {
                self.on_rtt(packet.time, time, space, ack, exponent);
            }
            if let Some(start) = self.recovery_start
                && packet.time > start
            {
                self.recovery_start = None;
                effect.ends_recovery = true;
            }
        }
        effect.newly_lost_bytes = self.detect_losses(space, ack.largest(), time);
        effect
    }

    fn on_rtt(&mut self, sent: Time, time: Time, space: usize, ack: &Ack, exponent: u8) {
        let Some(rtt) = time.checked_since(sent) else {
            return;
        };
        let delay_ns = ack.encoded_delay.checked_shl(u32::from(exponent)).and_then(|us| us.checked_mul(1_000));
        if space == 2
            && let Some(delay_ns) = delay_ns
        {
            self.ack_delays.add(delay_ns);
        }
        // RFC 9002 section 5.3: Initial packets are acknowledged at once. Its limit of max_ack_delay is left out: nothing here
        // shows it.
        self.transport.rtt.on_sample(time, rtt.as_nanos(), if space == 0 { 0 } else { delay_ns.unwrap_or(0) });
    }

    /// RFC 9002 section 6.1. Gives the bytes that are no longer in flight.
    fn detect_losses(&mut self, space: usize, largest_acknowledged: u64, time: Time) -> u64 {
        let delay_ns = self.transport.rtt.loss_delay_ns();
        let is_lost = |number: u64, packet: &SentPacket| {
            number + PACKET_THRESHOLD <= largest_acknowledged
                || time.checked_since(packet.time).is_some_and(|age| delay_ns > 0 && age.as_nanos() >= delay_ns)
        };
        let lost: Vec<(u64, SentPacket)> = self.outstanding[space]
            .range(..largest_acknowledged)
            .filter(|(number, packet)| is_lost(**number, packet))
            .map(|(number, packet)| (*number, *packet))
            .collect();
        if lost.is_empty() {
            return 0;
        }
        let mut freed = 0;
        for (number, packet) in lost {
            self.outstanding[space].remove(&number);
            freed += if packet.in_flight { packet.bytes } else { 0 };
            self.declared_lost += 1;
            self.first_loss.get_or_insert(FirstLoss { number, sent: packet.time, declared: time });
            self.transport.marks.on_loss(packet.time, packet.sequence);
            if self.recovery_start.is_none_or(|start| packet.time > start) {
                self.recovery_start = self.last_sent;
            }
            self.lost.insert((space, number), packet);
            if self.lost.len() > MOST_LOST_REMEMBERED {
                self.lost.pop_first();
            }
        }
        self.transport.flight.set(time, self.transport.flight.bytes().saturating_sub(freed));
        freed
    }

    /// RFC 9002 section 6.4: packets whose keys are gone are no longer in flight.
    fn forget_handshake(&mut self, time: Time) {
        let mut freed = 0;
        for space in [0, 1] {
            let packets = std::mem::take(&mut self.outstanding[space]);
            freed += packets.values().filter(|packet| packet.in_flight).map(|packet| packet.bytes).sum::<u64>();
        }
        self.transport.flight.set(time, self.transport.flight.bytes().saturating_sub(freed));
    }

    pub(crate) fn finish(&mut self, run: &mut RunMetrics) {
        if self.packets_seen == 0 {
            return;
        }
        let metrics = &mut run.metrics;
        metrics.packets_reordered = Some(self.reordered);
        metrics.packets_duplicated = Some(self.duplicates);
        metrics.packet_numbers_missing =
            Some(self.numbers.iter().map(|numbers| numbers.span() - numbers.members()).sum::<u64>());
        metrics.stream_bytes = Some(self.stream_bytes);
        metrics.packets_retransmitted = Some(self.retransmissions);
        metrics.retransmitted_bytes = Some(self.retransmitted_bytes);
        metrics.packets_lost = Some(self.declared_lost - self.spuriously_lost);
        metrics.packets_lost_spuriously = Some(self.spuriously_lost);
        metrics.acks_received = Some(self.acks);
        metrics.ack_delay_median_ns = self.ack_delays.median();
        self.transport.flight.finish(metrics);
        self.transport.rtt.finish(run);
        if self.streams_not_followed > 0 {
            run.warn(
                WarningCode::StreamsNotFollowed,
                format!(
                    "{} STREAM frames of streams beyond the first {MOST_STREAMS} were ignored: stream bytes and \
                     retransmissions are too low",
                    self.streams_not_followed
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests;
