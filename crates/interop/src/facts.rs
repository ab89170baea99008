//! What a capture shows of its QUIC connections, in one pass.

mod amplification;
mod connection;
mod cross_traffic;
mod paths;
mod retry;
mod sender;
mod streams;

use std::io::Read;

use quiclab_wire::{Capture, CaptureError, CaptureReader, Dissector, DissectorSettings, FlowProtocol};

pub use amplification::{AddressValidation, AmplificationFacts, ValidatedBy};
pub use connection::{Completion, ConnectionFacts};
pub use cross_traffic::CrossTrafficFacts;
pub use paths::PathFacts;
pub use retry::RetryFacts;
pub use sender::{CloseFacts, SenderFacts};
pub use streams::StreamFacts;

use connection::ConnectionMeter;

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct FactsSettings {
    /// Packets with this UDP port on one side are of interest, and that side is the server. `None`: all.
    pub server_port: Option<u16>,
    /// Index into [`Capture::interfaces`] of the tap at the server, where what it receives and sends is seen: the limit of
    /// RFC 9000 section 8.1 counts there. Packets of other taps are left out. `None`: all interfaces are one tap.
    pub tap: Option<u32>,
}

/// What a capture shows of its QUIC connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The connections, in the order of their first packets.
    pub connections: Vec<ConnectionFacts>,
    /// Data of TCP connections beside them, whatever their ports; `None` where there was none.
    pub cross_traffic: Option<CrossTrafficFacts>,
    /// Where the capture stops in the middle of a record, in the uncompressed file. `None` where it ends as it should.
    pub capture_cut_at_byte: Option<u64>,
    /// Frames that were not understood and may have held packets.
    pub frames_not_understood: u64,
}

impl Facts {
    /// Reads a capture to its end. `key_log` is added to the TLS secrets that stand in the capture itself; it may be empty.
    ///
    /// # Errors
    /// [`CaptureError`] where the file breaks its format or cannot be read. One that merely stops in the middle is not an
    /// error: see [`Facts::capture_cut_at_byte`].
    pub fn read<R: Read>(
        mut reader: CaptureReader<R>,
        key_log: &[u8],
        settings: &FactsSettings,
    ) -> Result<Facts, CaptureError> {
        let mut dissector = Dissector::new(DissectorSettings {
            server_port: settings.server_port,
            // Either it is said which one counts, and others never get here, or all are the same place.
            interfaces_are_one_tap: true,
        });
        dissector.add_keys(key_log);
        let mut meters: Vec<ConnectionMeter> = Vec::new();
        let mut cross_traffic = None;
        reader.dissect(&mut dissector, settings.tap, &mut |_, segment, observed| {
            CrossTrafficFacts::add(&mut cross_traffic, segment);
            let Some(observed) = observed else { return };
            while meters.len() <= observed.flow {
                meters.push(ConnectionMeter::new(segment.time));
            }
            meters[observed.flow].on_packet(segment, observed);
        })?;
        let connections = meters
            .into_iter()
            .zip(dissector.flows())
            .filter(|(_, flow)| flow.protocol() == FlowProtocol::Quic)
            .map(|(meter, flow)| meter.finish(flow))
            .collect();
        Ok(Facts { connections, cross_traffic, ..Facts::of_capture(&reader.into_summary()) })
    }

    fn of_capture(capture: &Capture) -> Facts {
        let hidden = capture.skipped.iter().filter(|(reason, _)| reason.may_hide_packets());
        Facts {
            connections: Vec::new(),
            cross_traffic: None,
            capture_cut_at_byte: capture.truncation.map(|cut| cut.byte_offset),
            frames_not_understood: hidden.map(|(_, frames)| frames).sum(),
        }
    }

    /// Connections to which the server answered with an Initial packet: those of a client that began before the server
    /// listened, or that gave up a version, are no handshakes.
    pub fn handshakes(&self) -> impl Iterator<Item = &ConnectionFacts> {
        self.connections.iter().filter(|connection| connection.is_answered())
    }
}
