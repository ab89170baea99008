//! From frames to contents.

use std::{collections::BTreeMap, net::SocketAddr};

use quiclab_path::content::{Content, Direction, Flight, PacketForm};
use quiclab_units::Time;
use quiclab_wire::{Dissector, DissectorSettings, FlowProtocol, Frame, Segment};

use crate::{connection::Connection, reading::Reading};

/// `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;
/// Flows after which nothing more is read: the frames of later ones, and those of earlier ones from then on, have no content.
const MAXIMUM_FLOWS: usize = 16_384;
/// Bytes of key logs that are read.
const MAXIMUM_KEY_LOG_BYTES: usize = 16 << 20;

/// Reads datagrams as they enter a path. The crate's documentation says in which order its functions are called.
pub struct Classifier {
    dissector: Dissector,
    key_log_bytes: usize,
    /// Number of the connection of each flow, by index of the dissector's flow.
    flows: BTreeMap<usize, u32>,
    connections: Vec<Connection>,
    /// Number of a connection that may go on as another flow, with a version that the server speaks; by client and server.
    negotiating: BTreeMap<(SocketAddr, SocketAddr), u32>,
    skipped: u64,
}

impl Classifier {
    /// Makes a classifier of the connections to servers on this UDP port. What has another port has no content.
    pub fn new(server_port: u16) -> Self {
        let settings = DissectorSettings { server_port: Some(server_port), interfaces_are_one_tap: true };
        Self {
            dissector: Dissector::new(settings),
            key_log_bytes: 0,
            flows: BTreeMap::new(),
            connections: Vec::new(),
            negotiating: BTreeMap::new(),
            skipped: 0,
        }
    }

    /// Adds whole lines of a key log (`SSLKEYLOGFILE`). Lines that say the same twice do no harm.
    pub fn add_keys(&mut self, key_log_lines: &[u8]) {
        self.key_log_bytes = self.key_log_bytes.saturating_add(key_log_lines.len());
        if self.key_log_bytes <= MAXIMUM_KEY_LOG_BYTES {
            self.dissector.add_keys(key_log_lines);
        }
    }

    /// An Ethernet frame enters the path, in direction `to`. `None` where it holds no QUIC datagram of a server on this port.
    pub fn on_frame(&mut self, time: Time, to: Direction, frame: &[u8]) -> Option<Content> {
        let length = u32::try_from(frame.len()).ok()?;
        let frame = Frame { time, interface: 0, link_type: ETHERNET, length, byte_offset: 0, captured: frame };
        self.on_segment(to, &frame.segment().ok()?)
    }

    /// The same of a datagram whose headers were read.
    pub fn on_segment(&mut self, to: Direction, segment: &Segment) -> Option<Content> {
        if segment.is_tcp() {
            return None;
        }
        if self.dissector.flows().len() >= MAXIMUM_FLOWS {
            self.skipped += 1;
            return None;
        }
        let observed = self.dissector.on_segment(segment)?;
        // A version that is not known makes no flow of QUIC, and its first datagram counts all the same.
        if observed.connection.protocol() != FlowProtocol::Quic && observed.packets.is_empty() {
            return None;
        }
        let reading = Reading::of(&observed, segment.payload_length);
        let flow = observed.flow;
        let ends = match to {
            Direction::ToServer => (segment.source, segment.destination),
            Direction::ToClient => (segment.destination, segment.source),
        };
        let connections = &mut self.connections;
        let number = *self.flows.entry(flow).or_insert_with(|| {
            self.negotiating.remove(&ends).unwrap_or_else(|| {
                connections.push(Connection::default());
                connections.len() as u32
            })
        });
        let content = self.connections[number as usize - 1].on_sent(to, number, reading);
        let is_negotiation = content.packets.iter().any(|packet| packet.form == PacketForm::VersionNegotiation);
        if is_negotiation && to == Direction::ToClient && content.flight == Flight::Outside {
            self.negotiating.insert(ends, number);
        } else if to == Direction::ToClient {
            self.negotiating.remove(&ends);
        }
        Some(content)
    }

    /// A packet leaves the path whole, and is received. `content` is what [`Self::on_frame`] gave for it.
    pub fn on_delivered(&mut self, content: &Content) {
        let place = (content.connection as usize).checked_sub(1);
        if let Some(connection) = place.and_then(|place| self.connections.get_mut(place)) {
            connection.on_delivered(content);
        }
    }

    /// Datagrams that were not looked at because there were too many flows.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Whether lines of key logs were not read because there were too many.
    pub fn has_skipped_keys(&self) -> bool {
        self.key_log_bytes > MAXIMUM_KEY_LOG_BYTES
    }
}
