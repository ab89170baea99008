//! Rows of `packets.parquet`.

use std::fmt;
use std::net::SocketAddr;

use quiclab_wire::{ConnectionId, Decryption, Observed, QuicForm, QuicPacket, Role, Segment, TcpFlags, Transport};

use crate::row::row;

row! {
    /// A QUIC packet, or a datagram or segment without any. Each field is described in `docs/reference/trace.md`.
    struct PacketRow<'a> {
        frame_number: u64,
        packet_index: u32,
        time_ns: u64,
        interface: u32,
        flow: Option<u64>,
        sender: Option<&'a str>,
        protocol: &'a str,
        source: SocketAddr,
        destination: SocketAddr,
        frame_length_bytes: u32,
        captured_length_bytes: u32,
        payload_length_bytes: u32,
        tcp_sequence_number: Option<u32>,
        tcp_acknowledgment_number: Option<u32>,
        tcp_flags: Option<FlagNames>,
        packet_type: Option<&'a str>,
        version: Option<u32>,
        destination_connection_id: Option<ConnectionId>,
        source_connection_id: Option<ConnectionId>,
        packet_length_bytes: Option<u32>,
        packet_number: Option<u64>,
        key_phase: Option<bool>,
        decryption: Option<&'a str>,
        is_stateless_reset: Option<bool>,
        frame_error_offset_bytes: Option<u64>,
        frame_error_type: Option<u64>,
    }
}

impl PacketRow<'_> {
    /// What all packets of a datagram have in common; nothing of QUIC yet.
    pub(crate) fn of_segment(number: u64, segment: &Segment, observed: Option<&Observed>) -> Self {
        let (protocol, tcp) = match segment.transport {
            Transport::Udp => ("udp", None),
            Transport::Tcp { sequence_number, acknowledgment_number, flags, .. } => {
                ("tcp", Some((sequence_number, acknowledgment_number, flags)))
            }
        };
        PacketRow {
            frame_number: number,
            packet_index: 0,
            time_ns: segment.time.as_nanos(),
            interface: segment.interface,
            flow: observed.map(|observed| observed.flow as u64),
            sender: observed.map(|observed| observed.sender).map(Role::name),
            protocol,
            source: segment.source,
            destination: segment.destination,
            frame_length_bytes: segment.frame_length,
            captured_length_bytes: segment.captured_length,
            payload_length_bytes: segment.payload_length,
            tcp_sequence_number: tcp.map(|(sequence, ..)| sequence),
            tcp_acknowledgment_number: tcp.filter(|(.., flags)| flags.ack).map(|(_, acknowledgment, _)| acknowledgment),
            tcp_flags: tcp.map(|(.., flags)| FlagNames(flags)),
            packet_type: None,
            version: None,
            destination_connection_id: None,
            source_connection_id: None,
            packet_length_bytes: None,
            packet_number: None,
            key_phase: None,
            decryption: None,
            is_stateless_reset: None,
            frame_error_offset_bytes: None,
            frame_error_type: None,
        }
    }

    /// Everything of QUIC, from one packet.
    pub(crate) fn set_packet(&mut self, packet: &QuicPacket) {
        self.packet_type = Some(form_name(packet.form));
        self.version = packet.version;
        self.destination_connection_id = packet.destination_connection_id;
        self.source_connection_id = packet.source_connection_id;
        self.packet_length_bytes = Some(packet.length);
        self.packet_number = packet.packet_number;
        self.key_phase = packet.key_phase;
        self.decryption = Some(decryption_name(packet.decryption));
        self.is_stateless_reset = Some(packet.is_stateless_reset);
        self.frame_error_offset_bytes = packet.frame_error.map(|error| error.offset as u64);
        self.frame_error_type = packet.frame_error.and_then(|error| error.frame_type);
    }

    /// Bytes behind the last packet of a datagram.
    pub(crate) fn set_foreign_bytes(&mut self, length: u32) {
        self.packet_type = Some("not_quic");
        self.version = None;
        self.destination_connection_id = None;
        self.source_connection_id = None;
        self.packet_length_bytes = Some(length);
        self.packet_number = None;
        self.key_phase = None;
        self.decryption = None;
        self.is_stateless_reset = None;
        self.frame_error_offset_bytes = None;
        self.frame_error_type = None;
    }
}

pub(crate) fn form_name(form: QuicForm) -> &'static str {
    match form {
        QuicForm::Initial => "initial",
        QuicForm::ZeroRtt => "zero_rtt",
        QuicForm::Handshake => "handshake",
        QuicForm::Retry => "retry",
        QuicForm::VersionNegotiation => "version_negotiation",
        QuicForm::OneRtt => "one_rtt",
        QuicForm::UnknownVersion => "unknown_version",
    }
}

fn decryption_name(decryption: Decryption) -> &'static str {
    match decryption {
        Decryption::Verified => "verified",
        Decryption::HeaderOnly => "header_only",
        Decryption::NoKeys => "no_keys",
        Decryption::Failed => "failed",
        Decryption::NotProtected => "not_protected",
    }
}

/// The flags that are set, by name, with commas between.
#[derive(Clone, Copy)]
pub(crate) struct FlagNames(TcpFlags);

impl fmt::Display for FlagNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TcpFlags { syn, ack, fin, rst, psh } = self.0;
        let mut separator = "";
        for (is_set, name) in [(syn, "SYN"), (fin, "FIN"), (rst, "RST"), (psh, "PSH"), (ack, "ACK")] {
            if is_set {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}
