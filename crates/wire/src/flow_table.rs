//! Which flow a segment belongs to.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::flow::{Flow, FlowProtocol};
use crate::frame::Segment;
use crate::isolation::{self, Misses};
use crate::keylog::ClientRandom;
use crate::quic::{
    Buffers, Connection, ConnectionId, LongHeader, MAXIMUM_CONNECTION_ID_BYTES, ProtectedPacket, QuicForm,
};
use crate::role::Role;

/// Shortest destination connection ID in a client's first Initial, in bytes (RFC 9000 section 7.2).
const SHORTEST_FIRST_ID: usize = 8;
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

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    interface: u32,
    is_tcp: bool,
    low: SocketAddr,
    high: SocketAddr,
}

/// The flow of each connection ID at a tap, and the end that chose the ID.
type Ids = IndexMap<(u32, ConnectionId), (usize, Role), FxBuildHasher>;

/// All flows, by addresses and by connection IDs.
#[derive(Default)]
pub(crate) struct FlowTable {
    settings: DissectorSettings,
    flows: Vec<Flow>,
    pairs: IndexMap<Pair, Vec<usize>, FxBuildHasher>,
    /// Owner of each connection ID that has bytes.
    ids: Ids,
    /// Bit n: a connection ID of n bytes is in `ids`.
    id_lengths: u32,
    last: Option<(Pair, usize)>,
    /// Kept where other tables see the rest of the capture.
    misses: Option<Box<Misses>>,
}

impl DissectorSettings {
    /// A hash of the segment's addresses and tap, the same for both directions: packets with the same value may be given
    /// to one [`Dissector::of_part`](crate::Dissector::of_part).
    pub fn address_hash(&self, segment: &Segment) -> u64 {
        FxBuildHasher.hash_one(Pair::of(segment, self))
    }

    /// Number of the place that an interface stands for.
    fn tap(&self, interface: u32) -> u32 {
        if self.interfaces_are_one_tap { 0 } else { interface }
    }
}

impl Pair {
    fn of(segment: &Segment, settings: &DissectorSettings) -> Self {
        Pair::between(settings.tap(segment.interface), segment.is_tcp(), segment.source, segment.destination)
    }

    fn between(tap: u32, is_tcp: bool, one: SocketAddr, other: SocketAddr) -> Self {
        Pair { interface: tap, is_tcp, low: one.min(other), high: one.max(other) }
    }
}

impl FlowTable {
    pub(crate) fn new(settings: DissectorSettings) -> Self {
        FlowTable { settings, ..FlowTable::default() }
    }

    /// Makes a table for some address pairs of a capture, whose others are in other tables.
    pub(crate) fn of_part(settings: DissectorSettings) -> Self {
        FlowTable { misses: Some(Box::default()), ..FlowTable::new(settings) }
    }

    /// What this table knows and looked for; `None` where it is not one of a part.
    pub(crate) fn as_part(&self) -> Option<isolation::Part<'_>> {
        Some(isolation::Part { ids: self.ids.keys().copied().collect(), misses: self.misses.as_deref()? })
    }

    pub(crate) fn into_flows(self) -> Vec<Flow> {
        self.flows
    }

    /// The flows, in the order of their first packets.
    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    pub(crate) fn flow_mut(&mut self, flow: usize) -> &mut Flow {
        &mut self.flows[flow]
    }

    /// Client randoms of other flows between the same addresses.
    pub(crate) fn taken_randoms(&self, flow: usize) -> impl Iterator<Item = &ClientRandom> {
        let Flow { interface, server, client, .. } = self.flows[flow];
        let pair = Pair::between(self.settings.tap(interface), false, server, client);
        let flows = self.pairs.get(&pair).map_or(&[][..], Vec::as_slice);
        flows.iter().filter(move |other| **other != flow).filter_map(|other| self.flows[*other].client_random())
    }

    /// Whether it has the server's port, where one was asked for.
    pub(crate) fn is_wanted(&self, segment: &Segment) -> bool {
        self.settings.server_port.is_none_or(|port| segment.source.port() == port || segment.destination.port() == port)
    }

    /// The length of the ID of this end that a short header begins with; its newest one's where it is not known.
    pub(crate) fn id_bytes(&self, flow: usize, owner: Role, packet: &[u8]) -> Option<u8> {
        let quic = self.flows[flow].quic.as_ref()?;
        let newest = quic.id_bytes[owner as usize];
        if !quic.id_bytes_differ[owner as usize] {
            return newest;
        }
        let tap = self.settings.tap(self.flows[flow].interface);
        let found = find_id(&self.ids, self.id_lengths, tap, packet, |of| *of == (flow, owner));
        found.map_or(newest, |(bytes, _)| Some(bytes as u8))
    }

    pub(crate) fn sender(&self, flow: usize, segment: &Segment) -> Role {
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
            quic: None,
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

    pub(crate) fn tcp_flow(&mut self, segment: &Segment, sequence: u32, is_syn: bool, is_ack: bool) -> usize {
        let pair = Pair::of(segment, &self.settings);
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

    /// Whether a packet that nobody can verify may be of this flow, by the connection ID of this end that it is for: it is
    /// one of those seen, or none was seen yet.
    pub(crate) fn may_have_id(&self, flow: usize, owner: Role, id: Option<ConnectionId>) -> bool {
        let Flow { interface, quic: Some(quic), .. } = &self.flows[flow] else { return true };
        let has_first_id = owner == Role::Server && quic.first_destination.is_some();
        if quic.id_bytes[owner as usize].is_none() && !has_first_id {
            return true;
        }
        match id.filter(|id| !id.is_empty()) {
            Some(id) => self.ids.get(&(self.settings.tap(*interface), id)) == Some(&(flow, owner)),
            None => quic.id_bytes[owner as usize] == Some(0),
        }
    }

    pub(crate) fn learn_id(&mut self, flow: usize, owner: Role, id: ConnectionId) {
        if let Some(quic) = self.flows[flow].quic_mut() {
            let bytes = id.as_bytes().len() as u8;
            let before = quic.id_bytes[owner as usize].replace(bytes);
            quic.id_bytes_differ[owner as usize] |= before.is_some_and(|before| before != bytes);
        }
        self.insert_id(flow, owner, id);
    }

    /// The client's first Initial is for this ID, and others may follow.
    pub(crate) fn learn_first_destination(&mut self, flow: usize, id: ConnectionId) {
        if let Some(quic) = self.flows[flow].quic_mut()
            && quic.first_destination.is_none()
        {
            quic.first_destination = Some(id);
            self.insert_id(flow, Role::Server, id);
        }
    }

    fn insert_id(&mut self, flow: usize, owner: Role, id: ConnectionId) {
        if !id.is_empty() {
            let tap = self.settings.tap(self.flows[flow].interface);
            self.id_lengths |= 1 << id.as_bytes().len();
            self.ids.insert((tap, id), (flow, owner));
        }
    }

    /// Finds the flow of a datagram, by connection ID where there is one, by addresses where there is none.
    pub(crate) fn flow_of_datagram(&mut self, segment: &Segment, buffers: &mut Buffers) -> usize {
        let pair = Pair::of(segment, &self.settings);
        let Some(first) = segment.payload.first() else {
            return self.newest_of_pair(pair, segment);
        };
        if first & 0x80 != 0 {
            return self.flow_of_long(pair, segment, buffers);
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
    fn owner_of_short(&mut self, pair: Pair, segment: &Segment) -> Option<(usize, Role)> {
        let tap = pair.interface;
        let found = find_id(&self.ids, self.id_lengths, tap, segment.payload, |_| true).map(|(_, owner)| owner);
        if found.is_none()
            && let Some(misses) = &mut self.misses
        {
            let end = segment.payload.len().min(1 + MAXIMUM_CONNECTION_ID_BYTES);
            let beginning = ConnectionId::new(&segment.payload[1..end]);
            beginning.into_iter().for_each(|bytes| misses.add_beginning(tap, bytes));
        }
        found
    }

    fn flow_of_long(&mut self, pair: Pair, segment: &Segment, buffers: &mut Buffers) -> usize {
        let Some(header) = LongHeader::parse(segment.payload) else {
            return self.newest_of_pair(pair, segment);
        };
        let id = ConnectionId::new(header.destination_connection_id).filter(|id| !id.is_empty());
        let owner = id.and_then(|id| self.ids.get(&(pair.interface, id)).copied());
        if let (Some(id), None, Some(misses)) = (id, owner, &mut self.misses) {
            misses.add_id(pair.interface, id);
        }
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
        // RFC 9000 section 7.2: a client's first Initial has an ID of 8 bytes or more. A server's to a client without one, cut by
        // the snap length, could not be told from it by its protection.
        let begins = is_initial && header.destination_connection_id.len() >= SHORTEST_FIRST_ID && {
            let length = header.packet_bytes.unwrap_or(0);
            let protected = ProtectedPacket {
                captured: &segment.payload[..segment.payload.len().min(length)],
                length,
                packet_number_offset: header.packet_number_offset,
            };
            Connection::begins_with(&header, &protected, buffers)
        };
        // Behind a Retry the client's Initial has an ID that only the Retry showed; that one is in `ids`.
        match known {
            // Only servers send it. Nothing authenticates it: a short header with a damaged first byte may look like it.
            Some(flow) if header.form == QuicForm::VersionNegotiation => {
                if !self.flows[flow].roles_are_known {
                    self.set_server(flow, segment.source);
                }
                flow
            }
            Some(flow) if !begins => flow,
            Some(flow) if self.flows[flow].original_destination_connection_id().is_none() => {
                self.set_server(flow, segment.destination);
                id.into_iter().for_each(|id| self.learn_first_destination(flow, id));
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
        if let Some(quic) = moved.quic_mut() {
            quic.migrations += 1;
        }
        self.remember(pair, flow);
    }
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
