//! A capture from its first to its last packet.

use std::io::Read;
use std::net::SocketAddr;

use quiclab_wire::{
    Capture, CaptureError, CaptureReader, CipherSuite, ClientRandom, ConnectionId, Dissector, Flow, FlowProtocol,
    Observed, Role, Segment,
};

use crate::analysis::{Analysis, AnalysisSettings, DirectionAnalysis};

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
    /// Of QUIC.
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
}

impl FlowDescription {
    fn of(flow: &Flow) -> Self {
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
        }
    }
}

/// What was measured of a capture.
#[derive(Clone, Debug)]
pub struct CaptureAnalysis {
    /// Every sender of every flow.
    pub directions: Vec<DirectionAnalysis>,
    /// In the order of their first packets; [`DirectionAnalysis::flow`] counts in it.
    pub flows: Vec<FlowDescription>,
    /// Interfaces, what was skipped, where the file was cut off. Without packets.
    pub capture: Capture,
    /// UDP datagrams and TCP segments measured.
    pub packets: u64,
    /// Those without the server's port, where one was asked for.
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
    mut dissector: Dissector,
    settings: AnalysisSettings,
    on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
) -> Result<CaptureAnalysis, CaptureError> {
    let mut analysis = Analysis::new(settings);
    reader.dissect(&mut dissector, None, &mut |number, segment, observed| {
        if let Some(observed) = observed {
            analysis.on_packet(segment, observed);
        }
        on_packet(number, segment, observed);
    })?;
    let packets = analysis.packets();
    let mut flows: Vec<FlowDescription> = dissector.flows().iter().map(FlowDescription::of).collect();
    let capture = reader.into_summary();
    let directions = analysis.finish(&dissector, &capture);
    for direction in &directions {
        flows[direction.flow].protocol = direction.protocol;
    }
    Ok(CaptureAnalysis {
        directions,
        flows,
        capture,
        packets,
        other_packets: dissector.other_packets(),
        key_log_lines_not_understood: dissector.key_log().lines_not_understood(),
    })
}
