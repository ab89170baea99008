//! What the packets of one handshake show. The only place that knows the classifier.

use std::net::SocketAddr;

use quiclab_metrics::{HandshakeClass, HandshakeClassifier};
use quiclab_units::Time;
use quiclab_wire::{Dissector, DissectorSettings, Segment, Transport};

/// Bytes of the headers of IPv4 or IPv6 and UDP, without options.
const HEADER_BYTES: [u32; 2] = [28, 48];

/// A datagram, as it was on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// Who sent it.
    pub source: SocketAddr,
    /// Whom to.
    pub destination: SocketAddr,
    /// See [`Segment::ecn`].
    pub ecn: u8,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Reads the datagrams of one handshake in the order of time. Only handshakes that were answered have one.
pub struct Watch {
    dissector: Dissector,
    classifier: HandshakeClassifier,
}

impl Watch {
    /// Makes a watch that has read no datagram yet.
    pub fn new(server: SocketAddr) -> Self {
        let settings = DissectorSettings { server_port: Some(server.port()), interfaces_are_one_tap: true };
        Watch { dissector: Dissector::new(settings), classifier: HandshakeClassifier::new() }
    }

    /// Lines of the key log, before the datagrams that need them.
    pub fn add_secret(&mut self, line: &str) {
        self.dissector.add_keys(line.as_bytes());
    }

    /// The next datagram.
    pub fn on_datagram(&mut self, datagram: &Datagram<'_>) {
        let length = datagram.payload.len() as u32;
        let frame_length = length + HEADER_BYTES[usize::from(datagram.source.is_ipv6())];
        let segment = Segment {
            time: Time::from_nanos(datagram.unix_ns),
            interface: 0,
            frame_length,
            captured_length: frame_length,
            source: datagram.source,
            destination: datagram.destination,
            payload_length: length,
            payload: datagram.payload,
            ecn: datagram.ecn,
            transport: Transport::Udp,
        };
        // Strange bytes from the same address may look like another connection.
        let observed = self.dissector.on_segment(&segment).filter(|observed| observed.flow == 0);
        if let Some(observed) = observed {
            self.classifier.on_datagram(&segment, &observed);
        }
    }

    /// What all of them show.
    pub fn finish(&self) -> Option<HandshakeClass> {
        self.dissector.flows().first().map(|flow| self.classifier.finish(flow))
    }
}
