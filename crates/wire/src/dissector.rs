//! From segments to connections: which flow a packet belongs to, who sent it, what its QUIC packets hold.

use std::net::SocketAddr;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::capture::Secrets;
use crate::frame::{Segment, Transport};
use crate::keylog::{ClientRandom, KeyLog};
use crate::quic::{
    Buffers, CipherSuite, Connection, ConnectionId, Decryption, LongHeader, MAXIMUM_CONNECTION_ID_BYTES,
    ProtectedPacket, QuicForm, QuicFrame, QuicPacket, SMALLEST_SHORT_PACKET, is_genuine_retry, looks_like_short_header,
};
use crate::role::Role;

/// Ports on which servers listen, for captures that do not show who opened a connection.
const SERVER_PORTS: [u16; 8] = [443, 4433, 4443, 8443, 80, 8080, 784, 853];
/// Most flows that one pair of addresses is remembered for: the newest.
const MAXIMUM_FLOWS_PER_PAIR: usize = 16;

/// How packets are put into flows.
#[derive(Clone, Debug, Default)]
pub struct DissectorSettings {
    /// Packets with this port on one side are of interest, and that side is the server. `None`: all, found by what the
    /// packets show.
    pub server_port: Option<u16>,
    /// Whether the interfaces of a capture are one place (an optical tap has one for each direction). Otherwise each sees
    /// flows of its own.
    pub interfaces_are_one_tap: bool,
}

/// What a flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowProtocol {
    /// QUIC, whatever the version.
    Quic,
    /// TCP.
    Tcp,
    /// UDP of which nothing shows that it is QUIC; or no byte of the payload was captured.
    Udp,
}

impl FlowProtocol {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            FlowProtocol::Quic => "quic",
            FlowProtocol::Tcp => "tcp",
            FlowProtocol::Udp => "udp",
        }
    }
}

/// Both directions of one connection at one tap.
pub struct Flow {
    protocol: FlowProtocol,
    interface: u32,
    server: SocketAddr,
    client: SocketAddr,
    roles_are_known: bool,
    /// SYN's sequence number of TCP.
    initial_sequence: Option<u32>,
    quic: Option<Box<QuicFlow>>,
}

#[derive(Default)]
struct QuicFlow {
    connection: Connection,
    /// By owner: the length of its newest connection ID, once one was seen.
    id_bytes: [Option<u8>; 2],
    /// By owner: its connection IDs have different lengths, so that each packet must be looked at.
    id_bytes_differ: [bool; 2],
    first_destination: Option<ConnectionId>,
    migrations: u64,
}

impl Flow {
    /// A flow of which nothing was seen yet but its ends: for those who make [`Observed`] by hand.
    pub fn between(server: SocketAddr, client: SocketAddr) -> Self {
        Flow {
            protocol: FlowProtocol::Udp,
            interface: 0,
            server,
            client,
            roles_are_known: false,
            initial_sequence: None,
            quic: None,
        }
    }

    /// What it speaks.
    pub fn protocol(&self) -> FlowProtocol {
        self.protocol
    }

    /// Index into [`Capture::interfaces`](crate::Capture::interfaces) of the first packet.
    pub fn interface(&self) -> u32 {
        self.interface
    }

    /// Address of an end; where it moved, the newest.
    pub fn address(&self, role: Role) -> SocketAddr {
        match role {
            Role::Client => self.client,
            Role::Server => self.server,
        }
    }

    /// Whether packets showed who opened the connection. Otherwise the ports were taken as a hint.
    pub fn roles_are_known(&self) -> bool {
        self.roles_are_known
    }

    /// QUIC version, as far as long headers were seen.
    pub fn quic_version(&self) -> Option<u32> {
        self.quic.as_ref()?.connection.version()
    }

    /// Destination connection ID of the client's first Initial.
    pub fn original_destination_connection_id(&self) -> Option<ConnectionId> {
        self.quic.as_ref()?.first_destination
    }

    /// The ClientHello's random, which names the connection in key logs.
    pub fn client_random(&self) -> Option<&ClientRandom> {
        self.quic.as_ref()?.connection.client_random()
    }

    /// The name the client asked for.
    pub fn server_name(&self) -> Option<&str> {
        self.quic.as_ref()?.connection.server_name()
    }

    /// What the server chose.
    pub fn cipher_suite(&self) -> Option<CipherSuite> {
        self.quic.as_ref()?.connection.suite()
    }

    /// Key updates seen of a sender.
    pub fn key_updates(&self, sender: Role) -> u64 {
        self.quic.as_ref().map_or(0, |quic| quic.connection.key_updates(sender))
    }

    /// How often an address of the connection changed.
    pub fn migrations(&self) -> u64 {
        self.quic.as_ref().map_or(0, |quic| quic.migrations)
    }

    /// By which the ACK delays that a sender reports are shifted to become µs, RFC 9000 section 18.2.
    pub fn ack_delay_exponent(&self, sender: Role) -> u8 {
        self.quic
            .as_ref()
            .map_or(crate::quic::DEFAULT_ACK_DELAY_EXPONENT, |quic| quic.connection.ack_delay_exponent(sender))
    }
}

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

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    interface: u32,
    is_tcp: bool,
    low: SocketAddr,
    high: SocketAddr,
}

type Ids = IndexMap<(u32, ConnectionId), (usize, Role), FxBuildHasher>;

/// Puts packets into flows and reads them. Feed it in the order of time.
#[derive(Default)]
pub struct Dissector {
    settings: DissectorSettings,
    key_log: KeyLog,
    secrets_read: usize,
    flows: Vec<Flow>,
    pairs: IndexMap<Pair, Vec<usize>, FxBuildHasher>,
    /// Owner of each connection ID that has bytes.
    ids: Ids,
    /// Bit n: a connection ID of n bytes is in `ids`.
    id_lengths: u32,
    last: Option<(Pair, usize)>,
    other_packets: u64,
    buffers: Buffers,
    packets: Vec<QuicPacket>,
}

impl Dissector {
    /// Without keys, and without flows.
    pub fn new(settings: DissectorSettings) -> Self {
        Dissector { settings, ..Dissector::default() }
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

    /// In the order of their first packets.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Packets that do not have the server's port, where one was given.
    pub fn other_packets(&self) -> u64 {
        self.other_packets
    }

    /// Reads a segment. `None` when it does not have the server's port.
    pub fn on_segment(&mut self, segment: &Segment) -> Option<Observed<'_>> {
        if let Some(port) = self.settings.server_port
            && segment.source.port() != port
            && segment.destination.port() != port
        {
            self.other_packets += 1;
            return None;
        }
        self.packets.clear();
        self.buffers.frames.clear();
        let Walk { flow, has_foreign_bytes, has_zero_padding, is_complete } = match segment.transport {
            Transport::Tcp { sequence_number, flags, .. } => {
                let flow = self.tcp_flow(segment, sequence_number, flags.syn, flags.ack);
                Walk::whole(flow)
            }
            Transport::Udp => self.on_datagram(segment),
        };
        Some(Observed {
            flow,
            sender: self.sender(flow, segment),
            packets: &self.packets,
            frames: &self.buffers.frames,
            has_foreign_bytes,
            has_zero_padding,
            is_complete,
            connection: &self.flows[flow],
        })
    }

    fn pair(&self, segment: &Segment) -> Pair {
        Pair {
            interface: if self.settings.interfaces_are_one_tap { 0 } else { segment.interface },
            is_tcp: segment.is_tcp(),
            low: segment.source.min(segment.destination),
            high: segment.source.max(segment.destination),
        }
    }

    fn sender(&self, flow: usize, segment: &Segment) -> Role {
        let flow = &self.flows[flow];
        if segment.source == flow.server {
            Role::Server
        } else if segment.source == flow.client || segment.destination == flow.server {
            Role::Client
        } else {
            Role::Server
        }
    }

    fn new_flow(&mut self, pair: Pair, segment: &Segment, protocol: FlowProtocol, server: Option<SocketAddr>) -> usize {
        let (known, server) = match server {
            Some(server) => (true, server),
            None => (false, self.guess_server(segment)),
        };
        let client = if server == segment.source { segment.destination } else { segment.source };
        let index = self.flows.len();
        self.flows.push(Flow {
            protocol,
            interface: segment.interface,
            server,
            client,
            roles_are_known: known,
            initial_sequence: None,
            quic: (protocol != FlowProtocol::Tcp).then(Box::default),
        });
        self.remember(pair, index);
        index
    }

    fn remember(&mut self, pair: Pair, flow: usize) {
        let flows = self.pairs.entry(pair).or_default();
        if !flows.contains(&flow) {
            if flows.len() == MAXIMUM_FLOWS_PER_PAIR {
                flows.remove(0);
            }
            flows.push(flow);
        }
        self.last = Some((pair, flow));
    }

    /// The port asked for, else one that servers have, else the lower one.
    fn guess_server(&self, segment: &Segment) -> SocketAddr {
        let (source, destination) = (segment.source, segment.destination);
        if let Some(port) = self.settings.server_port {
            return if source.port() == port { source } else { destination };
        }
        let rank = |address: SocketAddr| {
            let known = SERVER_PORTS.iter().position(|port| *port == address.port()).unwrap_or(SERVER_PORTS.len());
            (known, address.port())
        };
        if rank(source) < rank(destination) { source } else { destination }
    }

    fn tcp_flow(&mut self, segment: &Segment, sequence: u32, is_syn: bool, is_ack: bool) -> usize {
        let pair = self.pair(segment);
        let known = match self.last {
            Some((last, flow)) if last == pair => Some(flow),
            _ => self.pairs.get(&pair).and_then(|flows| flows.last().copied()),
        };
        let opens = is_syn && !is_ack;
        if let Some(flow) = known {
            let is_new = opens && self.flows[flow].initial_sequence.is_some_and(|initial| initial != sequence);
            if !is_new {
                self.last = Some((pair, flow));
                return flow;
            }
        }
        let server = match (opens, is_syn && is_ack) {
            (true, _) => Some(segment.destination),
            (_, true) => Some(segment.source),
            _ => None,
        };
        let flow = self.new_flow(pair, segment, FlowProtocol::Tcp, server);
        self.flows[flow].initial_sequence = opens.then_some(sequence);
        flow
    }

    /// Walks the QUIC packets of a datagram, RFC 9000 section 12.2.
    fn on_datagram(&mut self, segment: &Segment) -> Walk {
        let pair = self.pair(segment);
        let captured = segment.payload;
        let length = segment.payload_length as usize;
        let flow = self.flow_of_datagram(pair, segment);
        let sender = self.sender(flow, segment);
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
            self.on_long(flow, sender, &header, packet, packet_bytes);
            offset += packet_bytes;
        }
        Walk::whole(flow)
    }

    fn on_long(&mut self, flow: usize, sender: Role, header: &LongHeader, packet: &[u8], length: usize) {
        let packet = &packet[..packet.len().min(length)];
        let destination = ConnectionId::new(header.destination_connection_id);
        let source = ConnectionId::new(header.source_connection_id);
        let interface = self.flows[flow].interface;
        let Some(quic) = self.flows[flow].quic.as_mut() else {
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
                }
                row
            }
            form => QuicPacket::new(form, length),
        };
        row.version = Some(header.version);
        row.destination_connection_id = destination;
        row.source_connection_id = source;
        let is_known_version = !matches!(header.form, QuicForm::UnknownVersion);
        if is_known_version {
            self.flows[flow].protocol = FlowProtocol::Quic;
        }
        // A Retry's source ID is the server's too: the client's next packets carry it.
        if let Some(source) = source
            && !matches!(header.form, QuicForm::VersionNegotiation | QuicForm::UnknownVersion)
        {
            self.learn_id(flow, interface, sender, source);
        }
        if sender == Role::Client
            && header.form == QuicForm::Initial
            && let Some(destination) = destination
            && let Some(quic) = self.flows[flow].quic.as_mut()
            && quic.first_destination.is_none()
        {
            quic.first_destination = Some(destination);
            self.insert_id(flow, interface, Role::Server, destination);
        }
        self.learn_new_ids(flow, interface, sender, &row);
        self.packets.push(row);
    }

    fn on_short(&mut self, flow: usize, sender: Role, packet: &[u8], length: usize) {
        let interface = self.flows[flow].interface;
        let Some(quic) = self.flows[flow].quic.as_mut() else {
            return;
        };
        let mut id_bytes = quic.id_bytes[sender.peer() as usize];
        if quic.id_bytes_differ[sender.peer() as usize] {
            let tap = if self.settings.interfaces_are_one_tap { 0 } else { interface };
            let owner = (flow, sender.peer());
            id_bytes = find_id(&self.ids, self.id_lengths, tap, packet, |of| *of == owner)
                .map_or(id_bytes, |(bytes, _)| Some(bytes as u8));
        }
        // Nothing says where the packet number is: the length of this end's IDs was never seen.
        let tries = match id_bytes {
            Some(bytes) => usize::from(bytes)..usize::from(bytes) + 1,
            None if self.key_log.connections() > 0 => 0..21,
            None => 0..0,
        };
        let mut row = QuicPacket::new(QuicForm::OneRtt, length);
        row.decryption = Decryption::NoKeys;
        if length >= SMALLEST_SHORT_PACKET {
            for bytes in tries {
                let protected = ProtectedPacket { captured: packet, length, packet_number_offset: 1 + bytes };
                row = quic.connection.on_short(sender, &protected, &self.key_log, &mut self.buffers);
                if row.decryption == Decryption::Verified {
                    quic.id_bytes[sender.peer() as usize] = Some(bytes as u8);
                    self.flows[flow].protocol = FlowProtocol::Quic;
                    break;
                }
            }
        }
        if let Some(bytes) = id_bytes {
            row.destination_connection_id = packet.get(1..1 + usize::from(bytes)).and_then(ConnectionId::new);
        }
        self.learn_new_ids(flow, interface, sender, &row);
        self.packets.push(row);
    }

    fn learn_new_ids(&mut self, flow: usize, interface: u32, sender: Role, row: &QuicPacket) {
        for place in row.frames.clone() {
            if let QuicFrame::NewConnectionId { connection_id, .. } = self.buffers.frames[place] {
                self.learn_id(flow, interface, sender, connection_id);
            }
        }
    }

    fn learn_id(&mut self, flow: usize, interface: u32, owner: Role, id: ConnectionId) {
        if let Some(quic) = self.flows[flow].quic.as_mut() {
            let bytes = id.as_bytes().len() as u8;
            let before = quic.id_bytes[owner as usize].replace(bytes);
            quic.id_bytes_differ[owner as usize] |= before.is_some_and(|before| before != bytes);
        }
        self.insert_id(flow, interface, owner, id);
    }

    fn insert_id(&mut self, flow: usize, interface: u32, owner: Role, id: ConnectionId) {
        if !id.is_empty() {
            let tap = if self.settings.interfaces_are_one_tap { 0 } else { interface };
            self.id_lengths |= 1 << id.as_bytes().len();
            self.ids.insert((tap, id), (flow, owner));
        }
    }

    /// By connection ID where there is one, by addresses where there is none.
    fn flow_of_datagram(&mut self, pair: Pair, segment: &Segment) -> usize {
        let Some(first) = segment.payload.first() else {
            return self.newest_of_pair(pair, segment);
        };
        if first & 0x80 != 0 {
            return self.flow_of_long(pair, segment);
        }
        // What most packets are: one flow between these addresses, and nothing that says otherwise.
        if let Some((last, flow)) = self.last
            && last == pair
            && self.pairs.get(&pair).is_some_and(|flows| flows.len() == 1)
        {
            return flow;
        }
        let flows = self.pairs.get(&pair).map_or(&[][..], Vec::as_slice);
        match flows {
            [flow] => {
                self.last = Some((pair, *flow));
                *flow
            }
            [] => match self.owner_of_short(pair, segment) {
                Some((flow, owner)) => {
                    self.migrate(flow, owner.peer(), pair, segment);
                    flow
                }
                None => self.new_flow(pair, segment, FlowProtocol::Udp, None),
            },
            [.., newest] => {
                let newest = *newest;
                self.owner_of_short(pair, segment).map_or(newest, |(flow, _)| flow)
            }
        }
    }

    /// Whom the destination connection ID of a short header belongs to. The longest that fits.
    fn owner_of_short(&self, pair: Pair, segment: &Segment) -> Option<(usize, Role)> {
        find_id(&self.ids, self.id_lengths, pair.interface, segment.payload, |_| true).map(|(_, owner)| owner)
    }

    fn flow_of_long(&mut self, pair: Pair, segment: &Segment) -> usize {
        let Some(header) = LongHeader::parse(segment.payload) else {
            return self.newest_of_pair(pair, segment);
        };
        let owner = ConnectionId::new(header.destination_connection_id)
            .filter(|id| !id.is_empty())
            .and_then(|id| self.ids.get(&(pair.interface, id)).copied());
        if let Some((flow, owner)) = owner {
            let is_on_pair = self.pairs.get(&pair).is_some_and(|flows| flows.contains(&flow));
            if is_on_pair {
                return flow;
            }
            self.migrate(flow, owner.peer(), pair, segment);
            return flow;
        }
        let known = self.pairs.get(&pair).and_then(|flows| flows.last().copied());
        let is_initial = matches!(header.form, QuicForm::Initial) && header.packet_bytes.is_some();
        let begins = is_initial && {
            let length = header.packet_bytes.unwrap_or(0);
            let protected = ProtectedPacket {
                captured: &segment.payload[..segment.payload.len().min(length)],
                length,
                packet_number_offset: header.packet_number_offset,
            };
            Connection::begins_with(&header, &protected, &mut self.buffers)
        };
        // Behind a Retry the client's Initial has an ID that only the Retry showed; that one is in `ids`.
        match known {
            // Only servers send it.
            Some(flow) if header.form == QuicForm::VersionNegotiation => {
                self.set_server(flow, segment.source);
                flow
            }
            Some(flow) if !begins => flow,
            Some(flow) if self.flows[flow].original_destination_connection_id().is_none() => {
                self.set_server(flow, segment.destination);
                flow
            }
            _ => {
                let protocol = match header.form {
                    QuicForm::UnknownVersion => FlowProtocol::Udp,
                    _ => FlowProtocol::Quic,
                };
                self.new_flow(pair, segment, protocol, begins.then_some(segment.destination))
            }
        }
    }

    fn set_server(&mut self, flow: usize, server: SocketAddr) {
        let flow = &mut self.flows[flow];
        if flow.server != server {
            std::mem::swap(&mut flow.server, &mut flow.client);
        }
        flow.roles_are_known = true;
    }

    fn newest_of_pair(&mut self, pair: Pair, segment: &Segment) -> usize {
        match self.pairs.get(&pair).and_then(|flows| flows.last().copied()) {
            Some(flow) => flow,
            None => self.new_flow(pair, segment, FlowProtocol::Udp, None),
        }
    }

    /// A packet of a known connection between other addresses.
    fn migrate(&mut self, flow: usize, sender: Role, pair: Pair, segment: &Segment) {
        let moved = &mut self.flows[flow];
        (moved.client, moved.server) = match sender {
            Role::Client => (segment.source, segment.destination),
            Role::Server => (segment.destination, segment.source),
        };
        if let Some(quic) = moved.quic.as_mut() {
            quic.migrations += 1;
        }
        self.remember(pair, flow);
    }
}

fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The longest known connection ID that a short header begins with, of those whose owner is wanted: its length and owner.
/// Bit n of `lengths`: there is an ID of n bytes.
fn find_id(
    ids: &Ids,
    lengths: u32,
    tap: u32,
    packet: &[u8],
    is_wanted: impl Fn(&(usize, Role)) -> bool,
) -> Option<(usize, (usize, Role))> {
    (1..=MAXIMUM_CONNECTION_ID_BYTES).rev().filter(|length| lengths & (1 << length) != 0).find_map(|length| {
        let id = ConnectionId::new(packet.get(1..=length)?)?;
        let owner = ids.get(&(tap, id)).filter(|owner| is_wanted(owner))?;
        Some((length, *owner))
    })
}
