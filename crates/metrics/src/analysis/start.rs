//! Where in a connection its capture begins.

use quiclab_wire::{Decryption, Observed, QuicForm, Role, Segment, TlsContentType, Transport};

/// How the capture of a flow begins, by its first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The capture begins with a SYN.
    Beginning,
    /// The capture begins with an Initial packet of the client that could be read. It is the flow's beginning where it is the
    /// ClientHello's.
    ReadInitial,
    /// The capture begins with a later part of the handshake, before any data: it may have one direction only.
    Answer,
    /// The capture begins with a packet that comes later in a connection.
    Late,
    /// Too little was captured of the first packet to tell how the capture begins.
    NotKnown,
}

impl Start {
    pub(super) fn of(segment: &Segment, observed: &Observed) -> Self {
        if let Transport::Tcp { flags, .. } = segment.transport {
            // Nothing comes before a TLS handshake but TCP's own.
            let is_handshake = || segment.tls().is_some_and(|records| records.contains(TlsContentType::Handshake));
            return match flags.syn {
                true => Start::Beginning,
                false if is_handshake() => Start::Answer,
                false if segment.payload.is_empty() && segment.payload_length > 0 => Start::NotKnown,
                false => Start::Late,
            };
        }
        let Some(first) = observed.packets.first() else { return Start::NotKnown };
        match (observed.sender, first.form) {
            (Role::Client, QuicForm::Initial) if first.decryption == Decryption::Verified => Start::ReadInitial,
            (Role::Client, QuicForm::Initial) => Start::NotKnown,
            (Role::Server, QuicForm::Initial | QuicForm::Handshake | QuicForm::Retry) => Start::Answer,
            (Role::Client, QuicForm::Handshake) | (_, QuicForm::OneRtt | QuicForm::ZeroRtt) => Start::Late,
            _ => Start::NotKnown,
        }
    }
}
