//! What the page shows of a packet besides its row of `quiclab packets`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use quiclab_metrics::{PlannedKey, PlannedTimes, RangeSet};
use quiclab_report::LookPacket;
use quiclab_units::Time;
use quiclab_wire::{Observed, QuicForm, QuicFrame, Role, Segment};

use super::window::Window;
use crate::transfer::row::Row;

/// One datagram with all that is known of it.
pub struct SeenPacket {
    /// The datagram as `quiclab packets` lists it.
    pub row: Row,
    /// Number of its last 1-RTT packet.
    pub number: Option<u64>,
    /// Largest 1-RTT packet number that it acknowledges.
    pub largest_acknowledged: Option<u64>,
    /// Sample of the round-trip time that it gives its receiver, RFC 9002 section 5.1.
    pub rtt_ns: Option<u64>,
    /// Bytes of streams that were not sent before.
    pub new_stream_bytes: u64,
    /// Bytes of streams that arrive for the first time: none of a packet that was dropped or, without a tap behind the
    /// bottleneck, declared lost.
    pub delivered_bytes: u64,
    /// Whether it has bytes of streams that were sent before.
    pub is_retransmission: bool,
    /// Whether it says that a limit of flow control blocks, or uses one up.
    pub is_blocked: bool,
    /// Whether it was decrypted.
    pub is_read: bool,
    /// When the server planned to send it, by its own clock.
    pub planned_ns: Option<i64>,
}

/// Joins the rows, which come later, with what was seen when the packets came.
pub struct Extras<'a> {
    planned: &'a PlannedTimes,
    waiting: VecDeque<Extra>,
    flows: BTreeMap<usize, FlowState>,
    /// What arrived, by flow, sender and stream.
    delivered: BTreeMap<(usize, Role, u64), RangeSet>,
    window: Window,
    seen: Vec<SeenPacket>,
    /// When the server of each flow began to send.
    server_starts: BTreeMap<usize, u64>,
    /// The end that the page is about.
    sender: Role,
    /// Whether there are packets after the last one that is kept.
    is_over: bool,
}

#[derive(Default)]
struct Extra {
    number: Option<u64>,
    largest_acknowledged: Option<u64>,
    rtt_ns: Option<u64>,
    new_stream_bytes: u64,
    /// Streams, with begin and end of the bytes.
    streams: Vec<(Role, u64, u64, u64)>,
    is_retransmission: bool,
    is_blocked: bool,
    is_read: bool,
    planned_ns: Option<i64>,
}

/// State of one connection; arrays by sender.
#[derive(Default)]
struct FlowState {
    sent: [BTreeMap<u64, Time>; 2],
    largest_acknowledged: [Option<u64>; 2],
    /// End of what was sent, by stream.
    ends: [BTreeMap<u64, u64>; 2],
    total: [u64; 2],
    /// What the peer allows the sender: on the connection, and by stream.
    limit: [Option<u64>; 2],
    stream_limits: [BTreeMap<u64, u64>; 2],
    /// Limits that blocked, by stream (`None`: the connection): each counts once, however often it is repeated.
    blocked: [BTreeSet<(Option<u64>, u64)>; 2],
}

impl<'a> Extras<'a> {
    /// Nothing was seen yet. Packets outside of the window are followed, and not kept.
    pub fn new(sender: Role, planned: &'a PlannedTimes, window: Window) -> Self {
        Self {
            planned,
            waiting: VecDeque::new(),
            flows: BTreeMap::new(),
            delivered: BTreeMap::new(),
            window,
            seen: Vec::new(),
            server_starts: BTreeMap::new(),
            sender,
            is_over: false,
        }
    }

    /// A packet at the tap, in the order of the rows.
    pub fn on_packet(&mut self, segment: &Segment, observed: &Observed) {
        let state = self.flows.entry(observed.flow).or_default();
        let mut extra = Extra::default();
        for packet in observed.packets {
            let frames = &observed.frames[packet.frames.clone()];
            extra.is_read |= !frames.is_empty();
            let is_one_rtt = packet.form == QuicForm::OneRtt;
            if let (true, Some(number)) = (is_one_rtt, packet.packet_number) {
                extra.number = Some(number);
                state.sent[observed.sender as usize].entry(number).or_insert(segment.time);
            }
            for frame in frames {
                if let (true, Some(ack)) = (is_one_rtt, frame.acknowledgment()) {
                    state.on_ack(observed.sender, ack.largest(), segment.time, &mut extra);
                }
                state.on_frame(observed.sender, frame, &mut extra);
            }
        }
        if observed.sender == self.sender {
            let by_number = extra.number.and_then(|number| self.planned.of(PlannedKey::PacketNumber(number)));
            extra.planned_ns = by_number.or_else(|| self.planned.of_datagram(segment));
        }
        self.waiting.push_back(extra);
    }

    /// The row of the packet that has waited longest.
    pub fn join(&mut self, row: Row) {
        let extra = self.waiting.pop_front().unwrap_or_default();
        let Extra {
            number,
            largest_acknowledged,
            rtt_ns,
            new_stream_bytes,
            streams,
            is_retransmission,
            is_blocked,
            is_read,
            planned_ns,
        } = extra;
        let arrives = !row.is_dropped.unwrap_or(row.is_lost == Some(true));
        let mut delivered_bytes = 0;
        for (sender, stream, begin, end) in streams.into_iter().filter(|_| arrives) {
            delivered_bytes += self.delivered.entry((row.flow, sender, stream)).or_default().insert(begin, end);
        }
        if row.sender == self.sender.name() {
            self.server_starts.entry(row.flow).or_insert(row.time_ns);
        }
        self.is_over |= self.window.ends_before(row.time_ns, self.seen.len());
        if self.is_over || !self.window.has_begun(row.time_ns) {
            return;
        }
        self.seen.push(SeenPacket {
            row,
            number,
            largest_acknowledged,
            rtt_ns,
            new_stream_bytes,
            delivered_bytes,
            is_retransmission,
            is_blocked,
            is_read,
            planned_ns,
        });
    }

    /// Whether no more packets will be kept, though there are some.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Says in words what is missing, for the page.
    pub fn what_is_missing(&self) -> Option<String> {
        self.window
            .what_is_missing(self.seen.last().filter(|_| self.is_over).map(|seen| seen.row.time_ns), self.seen.len())
    }

    /// The packets in the window in the order of the capture, and when each flow's server began to send.
    pub fn finish(self) -> (Vec<SeenPacket>, BTreeMap<usize, u64>) {
        (self.seen, self.server_starts)
    }
}

impl FlowState {
    fn on_ack(&mut self, by: Role, largest: u64, now: Time, extra: &mut Extra) {
        extra.largest_acknowledged = extra.largest_acknowledged.max(Some(largest));
        let of = by.peer() as usize;
        if self.largest_acknowledged[of].is_some_and(|before| before >= largest) {
            return;
        }
        self.largest_acknowledged[of] = Some(largest);
        let sent = self.sent[of].get(&largest);
        extra.rtt_ns = sent.and_then(|sent| now.checked_since(*sent)).map(|rtt| rtt.as_nanos());
        // Smaller numbers give no sample any more.
        self.sent[of] = self.sent[of].split_off(&largest);
    }

    fn on_frame(&mut self, sender: Role, frame: &QuicFrame, extra: &mut Extra) {
        let (own, peer) = (sender as usize, sender.peer() as usize);
        match frame {
            QuicFrame::MaxData { maximum } => self.limit[peer] = self.limit[peer].max(Some(*maximum)),
            QuicFrame::MaxStreamData { stream, maximum } => {
                let limit = self.stream_limits[peer].entry(*stream).or_default();
                *limit = (*limit).max(*maximum);
            }
            QuicFrame::DataBlocked { limit } => extra.is_blocked |= self.blocked[own].insert((None, *limit)),
            QuicFrame::StreamDataBlocked { stream, limit } => {
                extra.is_blocked |= self.blocked[own].insert((Some(*stream), *limit));
            }
            QuicFrame::Stream { stream, offset, length, .. } => {
                let end = self.ends[own].entry(*stream).or_default();
                let reaches = offset.saturating_add(*length);
                let new = reaches.saturating_sub(*end).min(*length);
                *end = (*end).max(reaches);
                self.total[own] = self.total[own].saturating_add(new);
                extra.new_stream_bytes = extra.new_stream_bytes.saturating_add(new);
                extra.is_retransmission |= new < *length;
                extra.streams.push((sender, *stream, *offset, reaches));
                if self.limit[own] == Some(self.total[own]) {
                    extra.is_blocked |= self.blocked[own].insert((None, self.total[own]));
                }
                if self.stream_limits[own].get(stream) == Some(end) {
                    extra.is_blocked |= self.blocked[own].insert((Some(*stream), *end));
                }
            }
            _ => {}
        }
    }
}

/// How much later than planned each packet left, above the smallest: the plan's clock is not the capture's. In ns.
pub fn lateness(seen: &[SeenPacket]) -> Vec<Option<u64>> {
    let late = |seen: &SeenPacket| Some(i128::from(seen.row.time_ns) - i128::from(seen.planned_ns?));
    let all: Vec<_> = seen.iter().map(late).collect();
    let smallest = all.iter().flatten().min().copied().unwrap_or(0);
    all.into_iter().map(|late| late.and_then(|late| u64::try_from(late - smallest).ok())).collect()
}

impl SeenPacket {
    /// Makes the packet as the page has it.
    pub fn into_packet(self, sender: Role, late_ns: Option<u64>) -> LookPacket {
        LookPacket {
            frame: self.row.frame,
            time_ns: self.row.time_ns,
            is_server: self.row.sender == sender.name(),
            bytes: self.row.bytes,
            number: self.number,
            bytes_in_flight: self.row.bytes_in_flight,
            acknowledged_after_ns: self.row.acknowledged_after_ns,
            is_lost: self.row.is_lost == Some(true),
            is_dropped: self.row.is_dropped == Some(true),
            is_retransmission: self.is_retransmission,
            behind_bottleneck_after_ns: self.row.behind_bottleneck_after_ns,
            late_ns,
            largest_acknowledged: self.largest_acknowledged,
            rtt_ns: self.rtt_ns,
            new_stream_bytes: self.delivered_bytes,
            content: self.row.content,
        }
    }
}
