//! From segments to connections: which flow a packet belongs to, who sent it, what its QUIC packets hold.

use std::ops::Range;

use crate::flow::{Flow, FlowProtocol};
use crate::flow_table::{DissectorSettings, FlowTable};
use crate::frame::{Segment, Transport};
use crate::isolation;
use crate::keylog::KeyLog;
use crate::quic::{
    Buffers, ConnectionId, Decryption, LongHeader, ProtectedPacket, QuicForm, QuicFrame, QuicPacket,
    SMALLEST_SHORT_PACKET, is_genuine_retry, looks_like_short_header,
};
use crate::role::Role;
use crate::secrets::Secrets;

/// Lengths of UDP payload that segments may have: the smallest an MTU must allow (RFC 9000 section 14), the largest of
/// Ethernet without jumbo frames.
const MINIMUM_SEGMENT_BYTES: usize = 1_200;
const MAXIMUM_SEGMENT_BYTES: usize = 1_472;
/// Super-packets of a flow for which every length is tried in vain.
const MAXIMUM_SEGMENT_SEARCHES: u32 = 4;

/// What one segment showed.
pub struct Observed<'a> {
    /// Index of its flow, counted from 0 in the order of their first packets.
    pub flow: usize,
    /// Who sent it.
    pub sender: Role,
    /// Its QUIC packets, in the order of the datagram. Empty for TCP, and where no byte was captured.
    pub packets: &'a [QuicPacket],
    /// Frames of all its packets; see [`QuicPacket::frames`].
    pub frames: &'a [QuicFrame],
    /// Its UDP payload ends in bytes that are no QUIC packet.
    pub has_foreign_bytes: bool,
    /// They are zeros, with which some stacks pad datagrams.
    pub has_zero_padding: bool,
    /// Whether every packet of the datagram was walked: the capture kept enough of it.
    pub is_complete: bool,
    /// The flow as it is after this segment.
    pub connection: &'a Flow,
}

impl Observed<'_> {
    /// Whether the datagram carries a packet with 1-RTT protection. `None` where what was captured does not tell.
    pub fn has_one_rtt(&self) -> Option<bool> {
        if self.packets.iter().any(|packet| packet.form == QuicForm::OneRtt) {
            return Some(true);
        }
        self.is_complete.then_some(false)
    }
}

/// Where walking a datagram ended.
struct Walk {
    flow: usize,
    has_foreign_bytes: bool,
    has_zero_padding: bool,
    is_complete: bool,
}

impl Walk {
    /// Every byte is part of a packet.
    fn whole(flow: usize) -> Self {
        Walk { flow, has_foreign_bytes: false, has_zero_padding: false, is_complete: true }
    }
}

/// Puts packets into flows and reads them. Feed it in the order of time.
#[derive(Default)]
pub struct Dissector {
    key_log: KeyLog,
    secrets_read: usize,
    table: FlowTable,
    other_packets: u64,
    buffers: Buffers,
    packets: Vec<QuicPacket>,
}

impl Dissector {
    /// Makes a dissector without keys, and without flows.
    pub fn new(settings: DissectorSettings) -> Self {
        Dissector { table: FlowTable::new(settings), ..Dissector::default() }
    }

    /// Makes a dissector for the packets of some address pairs; others go to other dissectors, whose flows are put together afterwards.
    pub fn of_part(settings: DissectorSettings) -> Self {
        Dissector { table: FlowTable::of_part(settings), ..Dissector::default() }
    }

    /// Whether dissectors [of parts](Self::of_part) found the flows that one of the whole capture would have found: none
    /// looked for a connection ID that only another one knows. False also where that is not certain, and for others.
    pub fn are_independent(parts: &[&Dissector]) -> bool {
        let tables: Option<Vec<_>> = parts.iter().map(|part| part.table.as_part()).collect();
        tables.is_some_and(|tables| isolation::are_independent(&tables))
    }

    /// Its flows, in the order of their first packets.
    pub fn into_flows(self) -> Vec<Flow> {
        self.table.into_flows()
    }

    /// Adds the lines of a key log.
    pub fn add_keys(&mut self, key_log: &[u8]) {
        self.key_log.read(key_log);
    }

    /// Adds the TLS secrets of a capture, of which it has taken those before already.
    pub fn add_secrets(&mut self, secrets: &[Secrets]) {
        for secret in secrets.iter().skip(self.secrets_read) {
            if secret.kind == Secrets::TLS_KEY_LOG {
                self.key_log.read(&secret.data);
            }
        }
        self.secrets_read = secrets.len();
    }

    /// All keys.
    pub fn key_log(&self) -> &KeyLog {
        &self.key_log
    }

    /// The flows, in the order of their first packets.
    pub fn flows(&self) -> &[Flow] {
        self.table.flows()
    }

    /// Packets that do not have the server's port, where one was given.
    pub fn other_packets(&self) -> u64 {
        self.other_packets
    }

    /// Reads a segment. `None` when it does not have the server's port.
    pub fn on_segment(&mut self, segment: &Segment) -> Option<Observed<'_>> {
        if !self.table.is_wanted(segment) {
            self.other_packets += 1;
            return None;
        }
        self.packets.clear();
        self.buffers.frames.clear();
        let Walk { flow, has_foreign_bytes, has_zero_padding, is_complete } = match segment.transport {
            Transport::Tcp { sequence_number, flags, .. } => {
                Walk::whole(self.table.tcp_flow(segment, sequence_number, flags.syn, flags.ack))
            }
            Transport::Udp => self.on_datagram(segment),
        };
        Some(Observed {
            flow,
            sender: self.table.sender(flow, segment),
            packets: &self.packets,
            frames: &self.buffers.frames,
            has_foreign_bytes,
            has_zero_padding,
            is_complete,
            connection: &self.table.flows()[flow],
        })
    }

    /// Walks the QUIC packets of a datagram, RFC 9000 section 12.2.
    fn on_datagram(&mut self, segment: &Segment) -> Walk {
        let captured = segment.payload;
        let length = segment.payload_length as usize;
        let flow = self.table.flow_of_datagram(segment, &mut self.buffers);
        let sender = self.table.sender(flow, segment);
        let mut offset = 0;
        let mut first_id: Option<&[u8]> = None;
        while offset < length {
            let Some(packet) = captured.get(offset..).filter(|rest| !rest.is_empty()) else {
                return Walk { is_complete: false, ..Walk::whole(flow) };
            };
            let left = length - offset;
            if packet[0] & 0x80 == 0 {
                let is_short = looks_like_short_header(packet, first_id);
                if is_short == Some(true) {
                    self.on_short(flow, sender, packet, left);
                }
                let has_foreign_bytes = is_short == Some(false);
                let has_zero_padding = has_foreign_bytes && is_padding(packet);
                return Walk { flow, has_foreign_bytes, has_zero_padding, is_complete: is_short.is_some() };
            }
            let Some(header) = LongHeader::parse(packet) else {
                // Cut by the capture, or no QUIC at all.
                let is_whole = captured.len() == length;
                return Walk { has_foreign_bytes: is_whole, is_complete: is_whole, ..Walk::whole(flow) };
            };
            if first_id.is_some_and(|first| first != header.destination_connection_id) {
                return Walk { has_foreign_bytes: true, ..Walk::whole(flow) };
            }
            first_id = Some(header.destination_connection_id);
            let packet_bytes = header.packet_bytes.unwrap_or(left);
            if packet_bytes > left {
                return Walk { has_foreign_bytes: true, is_complete: false, ..Walk::whole(flow) };
            }
            self.on_long(flow, sender, &header, packet, offset, packet_bytes);
            offset += packet_bytes;
        }
        Walk::whole(flow)
    }

    /// A packet with a long header, which begins at `offset` of the UDP payload.
    fn on_long(&mut self, flow: usize, sender: Role, header: &LongHeader, packet: &[u8], offset: usize, length: usize) {
        let packet = &packet[..packet.len().min(length)];
        let destination = ConnectionId::new(header.destination_connection_id);
        let source = ConnectionId::new(header.source_connection_id);
        let Some(quic) = self.table.flow_mut(flow).quic_mut() else {
            return;
        };
        let mut row = match header.form {
            QuicForm::Initial | QuicForm::Handshake | QuicForm::ZeroRtt => {
                let protected =
                    ProtectedPacket { captured: packet, length, packet_number_offset: header.packet_number_offset };
                quic.connection.on_long(sender, header, &protected, &self.key_log, &mut self.buffers)
            }
            QuicForm::Retry => {
                let mut row = QuicPacket::new(header.form, length);
                if let Some(original) = quic.first_destination
                    && packet.len() == length
                    && !is_genuine_retry(packet, header.version, original.as_bytes())
                {
                    row.decryption = Decryption::Failed;
                } else {
                    quic.connection.on_retry();
                }
                row
            }
            form => QuicPacket::new(form, length),
        };
        row.version = Some(header.version);
        row.destination_connection_id = destination;
        row.source_connection_id = source;
        row.token = token_range(header, offset);
        let is_known_version = !matches!(header.form, QuicForm::UnknownVersion);
        if is_known_version {
            self.table.flow_mut(flow).protocol = FlowProtocol::Quic;
        }
        // A damaged packet may name IDs that nobody has, and may be of another flow.
        let is_certain = match row.decryption {
            Decryption::Verified => true,
            Decryption::Failed => false,
            Decryption::HeaderOnly | Decryption::NoKeys | Decryption::NotProtected => {
                self.table.may_have_id(flow, sender.peer(), destination)
            }
        };
        // A Retry's source ID is the server's too: the client's next packets carry it.
        if let Some(source) = source
            && is_certain
            && !matches!(header.form, QuicForm::VersionNegotiation | QuicForm::UnknownVersion)
        {
            self.table.learn_id(flow, sender, source);
        }
        if sender == Role::Client
            && is_certain
            && header.form == QuicForm::Initial
            && let Some(destination) = destination
        {
            self.table.learn_first_destination(flow, destination);
        }
        self.learn_new_ids(flow, sender, &row);
        self.packets.push(row);
    }

    /// A packet with a short header, or what segmentation offload will make several of.
    fn on_short(&mut self, flow: usize, sender: Role, packet: &[u8], length: usize) {
        let row = self.read_short(flow, sender, packet, length);
        let is_whole = packet.len() == length;
        if row.decryption == Decryption::Failed
            && is_whole
            && length > MAXIMUM_SEGMENT_BYTES
            && let Some(bytes) = self.segment_bytes(flow, sender, packet)
        {
            for segment in packet.chunks(bytes) {
                let row = self.read_short(flow, sender, segment, segment.len());
                self.learn_new_ids(flow, sender, &row);
                self.packets.push(row);
            }
            return;
        }
        self.learn_new_ids(flow, sender, &row);
        self.packets.push(row);
    }

    /// How long the segments are that a super-packet will be cut into: as long as this sender's last ones, or whatever
    /// makes its first segment open. All but the last one are alike (udp(7), UDP_SEGMENT).
    fn segment_bytes(&mut self, flow: usize, sender: Role, packet: &[u8]) -> Option<usize> {
        let frames = self.buffers.frames.len();
        let quic = self.table.flow_mut(flow).quic_mut()?;
        let last = quic.segment_bytes[sender as usize];
        let search = quic.segment_searches < MAXIMUM_SEGMENT_SEARCHES;
        let sizes = last.into_iter().chain((MINIMUM_SEGMENT_BYTES..=MAXIMUM_SEGMENT_BYTES).rev().filter(|_| search));
        for bytes in sizes {
            let row = self.read_short(flow, sender, &packet[..bytes], bytes);
            self.buffers.frames.truncate(frames);
            if row.decryption == Decryption::Verified {
                self.table.flow_mut(flow).quic_mut()?.segment_bytes[sender as usize] = Some(bytes);
                return Some(bytes);
            }
        }
        self.table.flow_mut(flow).quic_mut()?.segment_searches += 1;
        None
    }

    fn read_short(&mut self, flow: usize, sender: Role, packet: &[u8], length: usize) -> QuicPacket {
        let id_bytes = self.table.id_bytes(flow, sender.peer(), packet);
        let mut row = QuicPacket::new(QuicForm::OneRtt, length);
        row.decryption = Decryption::NoKeys;
        // Nothing says where the packet number is: the length of this end's IDs was never seen.
        let tries = match id_bytes {
            Some(bytes) => usize::from(bytes)..usize::from(bytes) + 1,
            None if self.key_log.connections() > 0 => 0..21,
            None => 0..0,
        };
        let is_whole = packet.len() == length;
        let quic = self.table.flows()[flow].quic.as_ref();
        if is_whole && self.key_log.connections() > 0 && quic.is_none_or(|quic| quic.connection.tries_blindly(sender)) {
            self.buffers.taken_randoms.clear();
            self.buffers.taken_randoms.extend(self.table.taken_randoms(flow));
        }
        if length >= SMALLEST_SHORT_PACKET
            && !tries.is_empty()
            && let Some(quic) = self.table.flow_mut(flow).quic_mut()
        {
            for bytes in tries {
                let protected = ProtectedPacket { captured: packet, length, packet_number_offset: 1 + bytes };
                row = quic.connection.on_short(sender, &protected, &self.key_log, &mut self.buffers);
                if row.decryption == Decryption::Verified {
                    quic.id_bytes[sender.peer() as usize] = Some(bytes as u8);
                    break;
                }
            }
        }
        if row.decryption == Decryption::Verified {
            self.table.flow_mut(flow).protocol = FlowProtocol::Quic;
        }
        if let Some(bytes) = id_bytes {
            row.destination_connection_id = packet.get(1..1 + usize::from(bytes)).and_then(ConnectionId::new);
        }
        row
    }

    fn learn_new_ids(&mut self, flow: usize, sender: Role, row: &QuicPacket) {
        for place in row.frames.clone() {
            if let Some((connection_id, _)) = self.buffers.frames[place].new_connection_id() {
                self.table.learn_id(flow, sender, connection_id);
            }
        }
        // RFC 9000 section 9.6: a client that moves to the server's preferred address uses this one.
        if let Some(connection_id) = self.buffers.preferred_id.take() {
            self.table.learn_id(flow, sender, connection_id);
        }
    }
}

/// Place of the token in the UDP payload. RFC 9000 section 17.2.5: a Retry's token ends where its integrity tag of 16 bytes begins.
fn token_range(header: &LongHeader, offset: usize) -> Range<usize> {
    let tag_bytes = if header.form == QuicForm::Retry { 16 } else { 0 };
    let begin = offset + header.token_offset;
    match header.token.len().saturating_sub(tag_bytes) {
        0 => 0..0,
        bytes => begin..begin + bytes,
    }
}

fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
