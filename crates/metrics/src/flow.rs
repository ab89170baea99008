//! The flow under test, found in the capture.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use quiclab_wire::Packet;

use crate::observation::Observation;

/// Server and client of one flow, and whether it is TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKey {
    is_tcp: bool,
    server: SocketAddr,
    client: SocketAddr,
}

/// The flow under test at the sender's tap.
pub(crate) struct Flow<'a> {
    /// Packets from server to client, in the order of the capture.
    pub(crate) packets: Vec<&'a Packet>,
    /// Packets of both directions, in the order of the capture.
    pub(crate) both_directions: Vec<(&'a Packet, Sender)>,
    /// Every flow from the server's port with its number of packets, the measured one first, the others by size.
    pub(crate) candidates: Vec<(FlowKey, u64)>,
}

/// Who sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Server,
    Client,
}

impl<'a> Flow<'a> {
    /// Takes the flow with most packets from the server's port; of equal ones the lowest address.
    pub(crate) fn find(observation: &Observation<'a>) -> Flow<'a> {
        let at_tap = || observation.capture.packets.iter().filter(|packet| packet.interface == observation.sender_tap);
        let mut counts: BTreeMap<FlowKey, u64> = BTreeMap::new();
        for packet in at_tap().filter(|packet| packet.source.port() == observation.server_port) {
            *counts.entry(FlowKey::from_server(packet)).or_insert(0) += 1;
        }
        let mut candidates: Vec<(FlowKey, u64)> = counts.into_iter().collect();
        candidates.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
        let both_directions: Vec<_> = match candidates.first() {
            None => Vec::new(),
            Some((key, _)) => at_tap().filter_map(|packet| Some((packet, key.sender_of(packet)?))).collect(),
        };
        Flow {
            packets: both_directions
                .iter()
                .filter(|(_, sender)| *sender == Sender::Server)
                .map(|(packet, _)| *packet)
                .collect(),
            both_directions,
            candidates,
        }
    }
}

impl FlowKey {
    fn from_server(packet: &Packet) -> FlowKey {
        FlowKey { is_tcp: packet.is_tcp(), server: packet.source, client: packet.destination }
    }

    /// `None` for packets of other flows.
    fn sender_of(&self, packet: &Packet) -> Option<Sender> {
        if packet.is_tcp() != self.is_tcp {
            return None;
        }
        if packet.source == self.server && packet.destination == self.client {
            Some(Sender::Server)
        } else if packet.source == self.client && packet.destination == self.server {
            Some(Sender::Client)
        } else {
            None
        }
    }
}

impl std::fmt::Display for FlowKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let protocol = if self.is_tcp { "TCP" } else { "UDP" };
        write!(f, "{protocol} {} to {}", self.server, self.client)
    }
}
