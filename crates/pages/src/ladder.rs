//! Handshakes of a capture, for the page that shows them.

mod dropped;
mod logged;
mod marks;
pub mod pages;
mod steps;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io,
    net::SocketAddr,
    ops::ControlFlow,
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_metrics::{HandshakeMarkMeter, PayloadKey, TapPlace};
use quiclab_report::{Ladder, LadderConnection, LadderDatagram, LadderMark, LadderTaps};
use quiclab_units::{ShowPath, Time};
use quiclab_wire::{CaptureReader, Decompressed, Dissector, DissectorSettings, FlowProtocol, Observed, Role, Segment};

use crate::transfer::sequence::packets_in_words;
use steps::Steps;

/// Connections that are drawn.
const MOST_CONNECTIONS: usize = 20;
/// Datagrams of a connection that are drawn, where the handshake is not over earlier.
const MOST_DATAGRAMS: usize = 200;
/// Datagrams that are drawn behind the end of the handshake.
const BEHIND_THE_END: usize = 4;

/// Reads the handshakes of a capture, which `open` opens.
///
/// # Errors
/// Where it cannot be read.
pub fn read(
    path: &Path,
    open: fn(&Path) -> io::Result<File>,
    keys: &[u8],
    settings: DissectorSettings,
) -> Result<Ladder> {
    let name = path.shown();
    let file = open(path).with_context(|| format!("{name}: cannot be opened"))?;
    let input = Decompressed::detect(file).with_context(|| name.clone())?;
    let mut reader = CaptureReader::new(input).with_context(|| name.clone())?;
    let mut dissector = Dissector::new(settings);
    dissector.add_keys(keys);
    let mut connections = Connections::default();
    let mut meter = HandshakeMarkMeter::default();
    reader
        .for_each_segment(None, &mut |_, segment, capture| {
            dissector.add_secrets(&capture.secrets);
            let end = TapPlace::end_at(capture, segment.interface);
            if let Some(observed) = dissector.on_segment(segment) {
                meter.on_packet(segment, &observed);
                connections.on_segment(segment, &observed, end);
            }
            ControlFlow::Continue(())
        })
        .with_context(|| name.clone())?;
    for found in meter.finish(dissector.flows(), reader.summary()) {
        if let Some(connection) = connections.open.iter_mut().find(|one| one.addresses == found.addresses) {
            connection.marks = marks::in_words(&found.marks, connection.start);
        }
    }
    Ok(connections.finish(name))
}

#[derive(Default)]
struct Connections {
    open: Vec<Connection>,
    /// Place in `open` for each flow of the dissector; `None` where it is left out. The taps of a record see a connection as a flow each.
    flows: BTreeMap<usize, Option<usize>>,
    left_out: BTreeSet<[SocketAddr; 2]>,
}

/// A connection while it is read.
struct Connection {
    /// Addresses of client and server.
    addresses: [SocketAddr; 2],
    start: Time,
    taps: LadderTaps,
    datagrams: Vec<LadderDatagram>,
    marks: Vec<LadderMark>,
    /// What passed its first tap and not yet the second, with its place.
    under_way: BTreeMap<(Role, PayloadKey), Vec<usize>>,
    /// Whether all of a datagram was read: one tap may keep more of it than the other.
    complete: Vec<bool>,
    steps: Steps,
    /// Datagrams behind the end of the handshake so far.
    behind: usize,
    left_out: usize,
}

impl Connections {
    fn on_segment(&mut self, segment: &Segment, observed: &Observed, end: Option<Role>) {
        if observed.connection.protocol() == FlowProtocol::Tcp {
            return;
        }
        let place_of_flow = match self.flows.get(&observed.flow) {
            Some(known) => *known,
            None => {
                let found = self.place_of(segment, observed, end);
                self.flows.insert(observed.flow, found);
                found
            }
        };
        if let Some(connection) = place_of_flow.and_then(|number| self.open.get_mut(number)) {
            connection.on_segment(segment, observed, end);
        }
    }

    /// The connection of a new flow, which the other tap may have seen before.
    fn place_of(&mut self, segment: &Segment, observed: &Observed, end: Option<Role>) -> Option<usize> {
        let addresses = match observed.sender {
            Role::Client => [segment.source, segment.destination],
            Role::Server => [segment.destination, segment.source],
        };
        let known = self.open.iter().position(|one| end.is_some() && one.addresses == addresses);
        if known.is_some() {
            return known;
        }
        if self.open.len() == MOST_CONNECTIONS {
            self.left_out.insert(addresses);
            return None;
        }
        self.open.push(Connection {
            addresses,
            start: segment.time,
            taps: if end.is_some() { LadderTaps::Two } else { LadderTaps::One },
            datagrams: Vec::new(),
            marks: Vec::new(),
            under_way: BTreeMap::new(),
            complete: Vec::new(),
            steps: Steps::default(),
            behind: 0,
            left_out: 0,
        });
        Some(self.open.len() - 1)
    }

    fn finish(self, title: String) -> Ladder {
        let connections = self.open.into_iter().map(|connection| LadderConnection {
            name: format!("{} to {}", connection.addresses[0], connection.addresses[1]),
            marks: marks::within(connection.marks, &connection.datagrams),
            datagrams: connection.datagrams,
            left_out: connection.left_out,
            taps: connection.taps,
        });
        Ladder { title, connections: connections.collect(), connections_left_out: self.left_out.len(), run: None }
    }
}

impl Connection {
    fn on_segment(&mut self, segment: &Segment, observed: &Observed, end: Option<Role>) {
        let sender = observed.sender;
        let time_ns = segment.time.checked_since(self.start).map_or(0, |time| time.as_nanos());
        // What an end sends passes the tap at that end first.
        let is_second = end.is_some_and(|end| end != sender);
        let key = PayloadKey::of(segment);
        if is_second {
            let first = key.and_then(|key| self.under_way.get_mut(&(sender, key))?.pop());
            if let Some((number, datagram)) = first.and_then(|first| Some((first, self.datagrams.get_mut(first)?))) {
                datagram.arrived_ns = Some(time_ns);
                if observed.is_complete && !self.complete[number] {
                    self.complete[number] = true;
                    datagram.packets = packets_in_words(observed);
                    datagram.steps = self.steps.of(observed);
                }
                return;
            }
        }
        if self.steps.is_over() {
            self.behind += 1;
        }
        if self.behind > BEHIND_THE_END || self.datagrams.len() == MOST_DATAGRAMS {
            self.left_out += usize::from(!is_second);
            return;
        }
        if let Some(key) = key.filter(|_| !is_second) {
            self.under_way.entry((sender, key)).or_default().insert(0, self.datagrams.len());
        }
        self.complete.push(observed.is_complete);
        self.datagrams.push(LadderDatagram {
            sender,
            sent_ns: time_ns,
            arrived_ns: is_second.then_some(time_ns),
            dropped_by: None,
            bytes: segment.payload_length,
            packets: packets_in_words(observed),
            steps: self.steps.of(observed),
        });
    }
}
