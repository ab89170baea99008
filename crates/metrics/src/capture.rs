//! A capture from its first to its last packet.

use std::io::Read;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use quiclab_wire::{
    Capture, CaptureError, CaptureReader, CipherSuite, ClientRandom, ConnectionId, Dissector, Flow, FlowProtocol,
    Observed, Role, Segment,
};

use crate::analysis::{Analysis, AnalysisSettings, DirectionAnalysis, Finished};
use crate::handshake::HandshakeClass;
use crate::summed_up::SummedUp;

/// What is known of a flow besides its numbers.
#[derive(Clone, Debug)]
pub struct FlowDescription {
    /// What it speaks.
    pub protocol: FlowProtocol,
    /// Index into [`Capture::interfaces`].
    pub interface: u32,
    /// Address of the server.
    pub server: SocketAddr,
    /// Address of the client.
    pub client: SocketAddr,
    /// Whether packets showed who is who.
    pub roles_are_known: bool,
    /// The flow's version of QUIC.
    pub quic_version: Option<u32>,
    /// Destination connection ID of the client's first Initial.
    pub original_destination_connection_id: Option<ConnectionId>,
    /// Names the connection in key logs.
    pub client_random: Option<ClientRandom>,
    /// The name the client asked for.
    pub server_name: Option<String>,
    /// What the server chose.
    pub cipher_suite: Option<CipherSuite>,
    /// Key updates by the client and by the server.
    pub key_updates: [u64; 2],
    /// How often an address changed.
    pub migrations: u64,
    /// How its server answered; `None` where the client's first packet is missing, and beyond the first 20,000 flows.
    pub handshake: Option<Box<HandshakeClass>>,
}

impl FlowDescription {
    fn of(flow: &Flow, handshake: Option<Box<HandshakeClass>>) -> Self {
        FlowDescription {
            protocol: flow.protocol(),
            interface: flow.interface(),
            server: flow.address(Role::Server),
            client: flow.address(Role::Client),
            roles_are_known: flow.roles_are_known(),
            quic_version: flow.quic_version(),
            original_destination_connection_id: flow.original_destination_connection_id(),
            client_random: flow.client_random().copied(),
            server_name: flow.server_name().map(str::to_owned),
            cipher_suite: flow.cipher_suite(),
            key_updates: Role::BOTH.map(|sender| flow.key_updates(sender)),
            migrations: flow.migrations(),
            handshake,
        }
    }
}

/// What was measured of a capture.
#[derive(Clone, Debug)]
pub struct CaptureAnalysis {
    /// Every sender of every flow that is measured.
    pub directions: Vec<DirectionAnalysis>,
    /// The flows, in the order of their first packets; [`DirectionAnalysis::flow`] counts in it.
    pub flows: Vec<FlowDescription>,
    /// Flows without directions, where there are very many.
    pub summed_up: SummedUp,
    /// Interfaces, what was skipped, where the file was cut off. Without packets.
    pub capture: Capture,
    /// UDP datagrams and TCP segments measured.
    pub packets: u64,
    /// Packets without the server's port, where one was asked for.
    pub other_packets: u64,
    /// Lines of key logs that are none.
    pub key_log_lines_not_understood: u64,
}

/// Reads a capture to its end and measures every flow. `on_packet` sees each packet before the next one is read, with its
/// number in the file, from 1; what is not in the flows asked for has no [`Observed`].
///
/// # Errors
/// [`CaptureError`] where the file breaks its format or cannot be read.
pub fn analyze<R: Read>(
    mut reader: CaptureReader<R>,
    dissector: Dissector,
    settings: AnalysisSettings,
    on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
) -> Result<CaptureAnalysis, CaptureError> {
    let mut part = CapturePart::new(dissector, settings);
    reader.for_each_segment(None, &mut |number, segment, summary| {
        part.dissector.add_secrets(&summary.secrets);
        part.on_segment(number, segment, on_packet);
        ControlFlow::Continue(())
    })?;
    Ok(put_together(vec![part], reader.into_summary()))
}

/// The flows of some address pairs of a capture, or all of them.
pub struct CapturePart {
    dissector: Dissector,
    analysis: Analysis,
    /// Number in the file of each flow's first packet.
    first_packets: Vec<u64>,
}

impl CapturePart {
    /// A part without packets. For one of several parts the dissector must be one [of a part](Dissector::of_part), and the settings must
    /// not [relate flows](AnalysisSettings::relates_flows).
    pub fn new(dissector: Dissector, settings: AnalysisSettings) -> Self {
        CapturePart { dissector, analysis: Analysis::new(settings), first_packets: Vec::new() }
    }

    /// Adds the lines of a key log.
    pub fn add_keys(&mut self, key_log: &[u8]) {
        self.dissector.add_keys(key_log);
    }

    /// The next packet of this part, with its number in the file, from 1. `on_packet` sees it too.
    pub fn on_segment(
        &mut self,
        number: u64,
        segment: &Segment,
        on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
    ) {
        let observed = self.dissector.on_segment(segment);
        if let Some(observed) = &observed {
            // A flow begins with a packet of its own.
            if observed.flow == self.first_packets.len() {
                self.first_packets.push(number);
            }
            self.analysis.on_packet(segment, observed);
        }
        on_packet(number, segment, observed.as_ref());
    }
}

/// What was measured of a capture, from all its parts. `capture` is what its reader says of it. `None` where the parts are
/// not [independent](Dissector::are_independent): then one part has to see every packet.
pub fn merge(parts: Vec<CapturePart>, capture: Capture) -> Option<CaptureAnalysis> {
    let dissectors: Vec<&Dissector> = parts.iter().map(|part| &part.dissector).collect();
    (parts.len() == 1 || Dissector::are_independent(&dissectors)).then(|| put_together(parts, capture))
}

fn put_together(parts: Vec<CapturePart>, capture: Capture) -> CaptureAnalysis {
    let packets = parts.iter().map(|part| part.analysis.packets()).sum();
    let other_packets = parts.iter().map(|part| part.dissector.other_packets()).sum();
    // Each part has read all keys.
    let key_log_lines_not_understood = parts.first().map_or(0, |part| part.dissector.key_log().lines_not_understood());
    let mut flows = Vec::new();
    let mut analyses = Vec::new();
    let mut first_packets = Vec::new();
    for part in parts {
        append(&mut flows, part.dissector.into_flows());
        analyses.push(part.analysis);
        first_packets.extend(part.first_packets);
    }
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_unstable_by_key(|flow| first_packets[*flow]);
    let flows = in_order(flows, &order);
    let Finished { directions, summed_up, classes } = Analysis::merge(analyses, &order).finish(&flows, &capture);
    let describe = |(flow, class)| FlowDescription::of(flow, class);
    let mut flows: Vec<FlowDescription> = flows.iter().zip(classes).map(describe).collect();
    for direction in &directions {
        flows[direction.flow].protocol = direction.protocol;
    }
    CaptureAnalysis { directions, flows, summed_up, capture, packets, other_packets, key_log_lines_not_understood }
}

/// Adds items without holding the first ones twice.
pub(crate) fn append<T>(to: &mut Vec<T>, items: Vec<T>) {
    if to.is_empty() { *to = items } else { to.extend(items) }
}

/// The items at the places of `order`, in that order. `order` has each place once.
pub(crate) fn in_order<T>(items: Vec<T>, order: &[usize]) -> Vec<T> {
    if order.is_sorted() {
        return items;
    }
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.iter().filter_map(|place| items[*place].take()).collect()
}
