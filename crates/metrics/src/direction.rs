//! Everything that is measured of one sender of a flow.

mod doubts;

use std::hash::Hasher;

use quiclab_units::Time;
use quiclab_wire::{Decryption, FlowProtocol, QuicForm, Role, Transport};
use rustc_hash::FxHasher;

use crate::analysis::AnalysisSettings;
use crate::bursts::{BurstMeter, SentContext};
use crate::congestion_window::LoggedEnd;
use crate::decryption::DecryptionCounts;
use crate::exchanges::ExchangeMeter;
use crate::first_packets::{PacketView, TELLING_BYTES};
use crate::goodput::{ProtectedMeter, Protection};
use crate::needs::{MOST_UNMET, MissingEvidence, Need, Subject};
use crate::output::RunMetrics;
use crate::packets::PacketMeter;
use crate::phases::PhaseMeter;
use crate::pictures::Pictures;
use crate::planned::{PlannedKey, PlannedTimes, PrecisionMeter};
use crate::recovery::{AckEffect, RecoveryMeter, SentEffect, space};
use crate::tcp::TcpMeter;
use crate::unread::UnreadFrames;
use crate::warnings::WarningCode;
use crate::windows::{Running, Window, WindowMeter};

/// Largest Ethernet frame at an MTU of 1500 bytes, without VLAN tag and frame check sequence.
pub const LARGEST_FRAME_BYTES: u32 = 1514;
/// Datagrams with which one is compared to find copies.
const COPIES_REMEMBERED: usize = 8;
/// Payloads shorter than this may repeat themselves.
const SMALLEST_UNIQUE_PAYLOAD: usize = 21;

/// One sender of a flow.
pub(crate) struct DirectionMeter {
    packets: PacketMeter,
    phases: PhaseMeter,
    /// Number of the first 1-RTT packet after slow start, by the sender's own log.
    pub(crate) slow_start_log: Option<(u64, LoggedEnd)>,
    protected: ProtectedMeter,
    precision: PrecisionMeter,
    recovery: Option<Box<RecoveryMeter>>,
    tcp: Option<Box<TcpMeter>>,
    /// Requests and responses; only those in the server's meter are finished.
    exchanges: Option<Box<ExchangeMeter>>,
    bursts: Option<Box<BurstMeter>>,
    windows: Option<Box<WindowMeter>>,
    decryption: DecryptionCounts,
    /// How many of the peer's packets could be read how far.
    decryption_of_peer: DecryptionCounts,
    super_packets: u64,
    largest_frame_bytes: u32,
    without_payload: u64,
    foreign: u64,
    unread: UnreadFrames,
    unread_of_peer: UnreadFrames,
    short_headers: u64,
    fixed_bits: u64,
    resets: u64,
    bad_retries: u64,
    copies: u64,
    recent: [(u64, u32); COPIES_REMEMBERED],
    recent_at: usize,
    acks_of_peer_read: bool,
}

impl DirectionMeter {
    pub(crate) fn new(settings: &AnalysisSettings, protocol: FlowProtocol) -> Self {
        let is_tcp = protocol == FlowProtocol::Tcp;
        let mut recovery: Option<Box<RecoveryMeter>> = (!is_tcp).then(Box::default);
        let mut tcp: Option<Box<TcpMeter>> = is_tcp.then(Box::default);
        if settings.pictures {
            recovery.iter_mut().for_each(|recovery| recovery.transport.want_pictures(settings.picture_points));
            tcp.iter_mut().for_each(|tcp| tcp.transport.want_pictures(settings.picture_points));
        }
        DirectionMeter {
            packets: PacketMeter::new(settings.train_threshold),
            phases: PhaseMeter::new(settings.train_threshold),
            slow_start_log: None,
            protected: ProtectedMeter::default(),
            precision: PrecisionMeter::default(),
            recovery,
            tcp,
            exchanges: (!is_tcp).then(Box::default),
            bursts: Some(Box::new(BurstMeter::default())),
            windows: settings.window.map(|length| Box::new(WindowMeter::new(length, settings.train_threshold))),
            decryption: DecryptionCounts::default(),
            decryption_of_peer: DecryptionCounts::default(),
            super_packets: 0,
            largest_frame_bytes: settings.largest_frame_bytes,
            without_payload: 0,
            foreign: 0,
            unread: UnreadFrames::default(),
            unread_of_peer: UnreadFrames::default(),
            short_headers: 0,
            fixed_bits: 0,
            resets: 0,
            bad_retries: 0,
            copies: 0,
            recent: [(0, 0); COPIES_REMEMBERED],
            recent_at: 0,
            acks_of_peer_read: false,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets.packets()
    }

    /// When the last packet with 1-RTT protection was sent.
    pub(crate) fn protected_until(&self) -> Option<Time> {
        self.protected.end()
    }

    pub(crate) fn decryption(&self) -> DecryptionCounts {
        self.decryption
    }

    /// Whether what was captured looks like QUIC although no long header was: short headers with the fixed bit, all.
    pub(crate) fn looks_like_quic(&self) -> bool {
        self.short_headers > 7 && self.fixed_bits * 50 >= self.short_headers * 49
    }

    /// A packet of this sender. `origin` is the flow's first packet.
    pub(crate) fn on_packet(
        &mut self,
        seen: &PacketView,
        protection: Protection,
        origin: Time,
        plan: Option<&PlannedTimes>,
    ) {
        let time = seen.time;
        let (gap, begins_train) = self.packets.on_packet(time, seen.frame_length, seen.payload_length);
        self.protected.on_packet(time, protection);
        self.super_packets += u64::from(seen.frame_length > self.largest_frame_bytes);
        let mut context = SentContext {
            time,
            gap,
            begins_train,
            frame_bytes: seen.frame_length,
            bytes_in_flight_before: self.bytes_in_flight(),
            smoothed_rtt_ns: self.smoothed_rtt_ns(),
            ..SentContext::default()
        };
        match seen.transport {
            Transport::Tcp { sequence_number, flags, .. } => {
                if let Some(tcp) = &mut self.tcp {
                    let effect = tcp.on_sent(sequence_number, flags, seen.payload_length, time, origin);
                    context.is_retransmission = effect.is_retransmission;
                    context.before_first_acknowledgment = !tcp.has_acknowledged_data();
                    if effect.is_retransmission && seen.payload_length > 0 {
                        self.phases.on_retransmission(time);
                    }
                }
            }
            Transport::Udp => self.on_datagram(seen, origin, plan, &mut context),
        }
        if let Some(planned) = context.planned_ns {
            self.precision.on_packet(time.as_nanos(), planned);
        }
        self.phases.on_packet(time, seen.frame_length, seen.payload_length);
        context.is_steady = self.phases.is_steady();
        if let Some(bursts) = &mut self.bursts {
            bursts.on_sent(&context);
        }
        if self.windows.is_some() {
            let running = self.running();
            if let Some(windows) = &mut self.windows {
                windows.on_packet(origin, time, seen.frame_length, seen.payload_length, running);
            }
        }
    }

    fn on_datagram(&mut self, seen: &PacketView, origin: Time, plan: Option<&PlannedTimes>, context: &mut SentContext) {
        if seen.payload.is_empty() {
            self.without_payload += 1;
            return;
        }
        self.foreign += u64::from(seen.has_foreign_bytes && !seen.has_zero_padding);
        self.count_copies(seen);
        let mut any = SentEffect::default();
        for packet in seen.packets {
            if packet.form == QuicForm::Retry && packet.decryption == Decryption::Failed {
                self.bad_retries += 1;
            } else {
                self.decryption.count(packet);
            }
            if let Some(error) = &packet.frame_error {
                self.unread.count(error);
            }
            self.resets += u64::from(packet.is_stateless_reset);
            let (Some(space), Some(number), Some(recovery)) =
                (space(packet.form), packet.packet_number, &mut self.recovery)
            else {
                continue;
            };
            let frames = (packet.decryption == Decryption::Verified).then(|| &seen.frames[packet.frames.clone()]);
            let effect = recovery.on_sent(space, number, seen.time, packet.length, frames, origin);
            any.is_retransmission |= effect.is_retransmission;
            any.carries_stream |= effect.carries_stream;
            if let Some((first, end)) = self.slow_start_log
                && space == 2
                && number >= first
            {
                self.phases.on_log(seen.time, number, end);
            }
            if space == 2 && context.planned_ns.is_none() && !effect.is_duplicate {
                context.planned_ns = plan.and_then(|plan| plan.of(PlannedKey::PacketNumber(number)));
            }
        }
        if let [packet] = seen.packets
            && packet.form == QuicForm::OneRtt
        {
            self.short_headers += 1;
            self.fixed_bits += u64::from(seen.payload[0] & 0x40 != 0);
        }
        if context.planned_ns.is_none()
            && seen.payload.len() == seen.payload_length as usize
            && let Some(plan) = plan.filter(|plan| plan.has_checksums())
        {
            context.planned_ns = plan.of(PlannedKey::DatagramChecksum(crc32c::crc32c(seen.payload)));
        }
        context.is_retransmission = any.is_retransmission;
        context.before_first_acknowledgment =
            self.recovery.as_ref().is_some_and(|recovery| !recovery.one_rtt_acknowledged);
    }

    /// The same bytes again: no two protected packets are alike.
    fn count_copies(&mut self, datagram: &PacketView) {
        if datagram.payload.len() < SMALLEST_UNIQUE_PAYLOAD {
            return;
        }
        let mut hasher = FxHasher::default();
        hasher.write(&datagram.payload[..datagram.payload.len().min(TELLING_BYTES)]);
        let telling = (hasher.finish(), datagram.payload_length);
        if self.recent.contains(&telling) {
            self.copies += 1;
        } else {
            self.recent[self.recent_at] = telling;
            self.recent_at = (self.recent_at + 1) % COPIES_REMEMBERED;
        }
    }

    /// A packet of the peer: what it acknowledges.
    pub(crate) fn on_packet_of_peer(&mut self, seen: &PacketView) {
        let mut total = AckEffect::default();
        match seen.transport {
            Transport::Tcp { acknowledgment_number, flags, .. } => {
                if let Some(tcp) = self.tcp.as_mut().filter(|_| flags.ack) {
                    self.acks_of_peer_read = true;
                    total.newly_acknowledged_bytes = tcp.on_acknowledgment(acknowledgment_number, seen.time);
                    total.newly_acknowledged_packets = u64::from(total.newly_acknowledged_bytes > 0);
                }
            }
            Transport::Udp => {
                let exponent = seen.ack_delay_exponent;
                for packet in seen.packets {
                    self.decryption_of_peer.count(packet);
                    if let Some(error) = &packet.frame_error {
                        self.unread_of_peer.count(error);
                    }
                    let (Some(space), Some(recovery)) = (space(packet.form), &mut self.recovery) else { continue };
                    for frame in &seen.frames[packet.frames.clone()] {
                        if let Some(ack) = frame.acknowledgment() {
                            self.acks_of_peer_read = true;
                            let effect = recovery.on_ack(space, ack, exponent, seen.time);
                            total.newly_acknowledged_packets += effect.newly_acknowledged_packets;
                            total.newly_acknowledged_bytes += effect.newly_acknowledged_bytes;
                            total.newly_lost_bytes += effect.newly_lost_bytes;
                            total.ends_recovery |= effect.ends_recovery;
                        }
                    }
                }
            }
        }
        if let Some(loss) = self.recovery.as_ref().and_then(|recovery| recovery.first_loss) {
            self.phases.on_loss(loss);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.on_packet_of_peer(seen.time, total);
        }
    }

    /// A packet of either end: what requests and responses it carries.
    pub(crate) fn on_packet_of_exchange(&mut self, seen: &PacketView, sender: Role) {
        let Some(exchanges) = &mut self.exchanges else { return };
        for packet in seen.packets.iter().filter(|packet| packet.decryption == Decryption::Verified) {
            for frame in &seen.frames[packet.frames.clone()] {
                exchanges.on_frame(sender, seen.time, frame);
            }
        }
    }

    /// The capture begins after the connection did: what is in flight already is not known.
    pub(crate) fn begin_late(&mut self) {
        self.recovery.iter_mut().for_each(|recovery| recovery.transport.flight.wait());
        self.tcp.iter_mut().for_each(|tcp| tcp.transport.flight.wait());
    }

    /// What is in flight, where nearly all packets of both ends could be read so far.
    pub(crate) fn readable_bytes_in_flight(&self) -> Option<u64> {
        let is_read = |counts: &DecryptionCounts, unread: &UnreadFrames| {
            let not_read = counts.protected() - counts.verified + unread.packets();
            not_read as f64 <= MOST_UNMET * counts.protected() as f64
        };
        let all_read = self.tcp.is_some()
            || (is_read(&self.decryption, &self.unread) && is_read(&self.decryption_of_peer, &self.unread_of_peer));
        self.bytes_in_flight().filter(|_| self.acks_of_peer_read && all_read)
    }

    /// Bytes in flight as far as they can be known so far; what they rest on is judged at the end.
    fn bytes_in_flight(&self) -> Option<u64> {
        match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => recovery.transport.flight.is_whole().then(|| recovery.bytes_in_flight()),
            (_, Some(tcp)) => tcp.transport.flight.is_whole().then(|| tcp.bytes_in_flight()),
            _ => None,
        }
    }

    fn smoothed_rtt_ns(&self) -> Option<u64> {
        match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => recovery.smoothed_rtt_ns(),
            (_, Some(tcp)) => tcp.smoothed_rtt_ns(),
            _ => None,
        }
    }

    fn running(&self) -> Running {
        let (retransmitted, lost) = match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => recovery.counters(),
            (_, Some(tcp)) => (Some(tcp.retransmissions()), None),
            _ => (None, None),
        };
        Running {
            packets_retransmitted: retransmitted,
            packets_lost: lost,
            bytes_in_flight: self.bytes_in_flight(),
            smoothed_rtt_ns: self.smoothed_rtt_ns(),
        }
    }

    /// Bytes of streams, each counted once; `None` where no frame was read.
    fn stream_bytes(&self) -> Option<u64> {
        match (&self.recovery, &self.tcp) {
            (Some(recovery), _) => Some(recovery.stream_bytes()),
            (_, Some(tcp)) => Some(tcp.data_bytes()),
            _ => None,
        }
        .filter(|bytes| *bytes > 0)
    }

    /// `unmet`: needs that the flow as a whole does not meet.
    pub(crate) fn finish(
        self,
        subject: Subject,
        mut unmet: MissingEvidence,
        settings: &AnalysisSettings,
        planned: usize,
        run: &mut RunMetrics,
    ) -> (Pictures, Vec<Window>) {
        self.add_unmet(subject, &mut unmet);
        let stream_bytes = self.stream_bytes();
        let packets = self.packets();
        self.warn(packets, subject, run);
        self.packets.finish(run);
        self.phases.finish(run);
        let mut pictures = Pictures::default();
        if let Some(mut recovery) = self.recovery {
            recovery.finish(run);
            pictures = recovery.transport.into_pictures();
        }
        if let Some(mut tcp) = self.tcp {
            tcp.finish(run);
            pictures = tcp.transport.into_pictures();
        }
        if let Some(exchanges) = self.exchanges.filter(|_| subject.sender == Role::Server) {
            exchanges.finish(run);
        }
        if run.metrics.packets_duplicated.is_none() && self.copies > 0 {
            run.metrics.packets_duplicated = Some(self.copies);
        }
        if let Some(copies) = run.metrics.packets_duplicated.filter(|copies| *copies > 0) {
            let reason = || {
                format!(
                    "{copies} of {packets} packets are copies: the tap sees packets twice; capture on one interface, \
                     or remove copies with `editcap -d`"
                )
            };
            unmet.add_share(Need::NoCopies, WarningCode::PacketsDuplicated, copies, packets, &reason);
            if !unmet.has(Need::NoCopies) {
                run.warn(WarningCode::PacketsDuplicated, reason());
            }
        }
        let given = settings.bytes_of(subject.sender);
        if subject.sender == Role::Server || subject.sender == settings.sender {
            let bytes = given.or_else(|| stream_bytes.map(quiclab_units::ByteCount::from_bytes));
            if let Some(bytes) = bytes {
                if given.is_none() {
                    run.warn(
                        WarningCode::GoodputFromStreamBytes,
                        format!(
                            "the length of the transfer is not known, so goodput counts the {} bytes of streams on \
                             the wire, including HTTP or TLS framing",
                            bytes.as_bytes()
                        ),
                    );
                }
                self.protected.finish(bytes, subject.protocol, run);
            }
        }
        self.precision.finish(planned, run);
        if let Some(bursts) = self.bursts {
            bursts.finish(settings.train_threshold, run);
        }
        unmet.withhold(subject, run);
        if unmet.hides_recovery() {
            pictures = Pictures { sequence: pictures.sequence, ..Pictures::default() };
        }
        let mut rows = Vec::new();
        if let Some(windows) = self.windows {
            let left_out;
            (rows, left_out) = windows.finish();
            rows.iter_mut().for_each(|row| unmet.clear_window(&mut row.metrics));
            if left_out {
                run.warn(
                    WarningCode::WindowsTooMany,
                    format!(
                        "only the first {} time windows are listed: use longer windows",
                        crate::windows::MOST_WINDOWS
                    ),
                );
            }
        }
        (pictures, rows)
    }
}
