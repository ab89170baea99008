//! How much a server sends before it knows that the client is where it says: RFC 9000 section 8.1.

use quiclab_wire::{ConnectionId, Decryption, Observed, QuicForm, QuicPacket, Role, Segment};

/// RFC 9000 section 8.1: "an endpoint MUST limit the amount of data it sends to the unvalidated address to three times the
/// amount of data received from that address".
const LIMIT_FACTOR: u64 = 3;
/// RFC 9000 section 8.1: a connection ID that the server chose proves the address only with 64 bits of entropy.
const PROVING_ID_BYTES: usize = 8;
/// Connection IDs remembered: a server has one, one more for each Retry.
const MOST_IDS: usize = 8;

/// What proved the client's address, RFC 9000 section 8.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidatedBy {
    /// A Handshake packet of the client.
    HandshakePacket,
    /// An Initial packet with a token.
    Token,
    /// A packet with a connection ID of 8 bytes or more that the server chose.
    ConnectionId,
}

/// When the address was validated, in bytes of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressValidation {
    /// What validated the address.
    pub by: ValidatedBy,
    /// What the client had sent until then, the datagram that proved its address included.
    pub client_bytes: u64,
    /// What the server had sent until then.
    pub server_bytes: u64,
}

/// What both ends sent before the client's address was validated, in bytes of UDP payload, at the tap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AmplificationFacts {
    /// What the client had sent when the server was closest to the limit, or furthest beyond it.
    pub client_bytes: u64,
    /// What the server had sent then.
    pub server_bytes: u64,
    /// Datagrams of the server that went beyond the limit.
    pub datagrams_beyond_limit: u64,
    /// `None` where nothing validated the address.
    pub validated: Option<AddressValidation>,
}

impl AmplificationFacts {
    /// What the server may have sent when it was closest to the limit.
    pub fn allowed_bytes(&self) -> u64 {
        self.client_bytes.saturating_mul(LIMIT_FACTOR)
    }

    /// Bytes beyond the limit where it was worst; 0 where it was kept.
    pub fn excess_bytes(&self) -> u64 {
        self.server_bytes.saturating_sub(self.allowed_bytes())
    }
}

#[derive(Default)]
pub(super) struct AmplificationMeter {
    facts: AmplificationFacts,
    client_bytes: u64,
    server_bytes: u64,
    /// Source connection IDs of the server's long headers.
    server_ids: Vec<ConnectionId>,
    /// The most that the server has sent, less what it may have; `None` before it sent anything.
    worst: Option<i128>,
}

impl AmplificationMeter {
    pub(super) fn on_datagram(&mut self, segment: &Segment, observed: &Observed) {
        if self.facts.validated.is_some() {
            return;
        }
        match observed.sender {
            Role::Client => {
                self.client_bytes += u64::from(segment.payload_length);
                let proof = observed.packets.iter().find_map(|packet| self.proof(packet));
                self.facts.validated = proof.map(|by| AddressValidation {
                    by,
                    client_bytes: self.client_bytes,
                    server_bytes: self.server_bytes,
                });
            }
            Role::Server => {
                self.server_bytes += u64::from(segment.payload_length);
                self.learn_ids(observed.packets);
                let beyond = i128::from(self.server_bytes) - i128::from(self.client_bytes) * i128::from(LIMIT_FACTOR);
                self.facts.datagrams_beyond_limit += u64::from(beyond > 0);
                if self.worst.is_none_or(|worst| beyond > worst) {
                    self.worst = Some(beyond);
                    self.facts.client_bytes = self.client_bytes;
                    self.facts.server_bytes = self.server_bytes;
                }
            }
        }
    }

    fn proof(&self, packet: &QuicPacket) -> Option<ValidatedBy> {
        if packet.decryption == Decryption::Failed {
            return None;
        }
        match packet.form {
            QuicForm::Handshake => Some(ValidatedBy::HandshakePacket),
            QuicForm::Initial if !packet.token.is_empty() => Some(ValidatedBy::Token),
            QuicForm::Initial => {
                let id = packet.destination_connection_id?;
                self.server_ids.contains(&id).then_some(ValidatedBy::ConnectionId)
            }
            _ => None,
        }
    }

    fn learn_ids(&mut self, packets: &[QuicPacket]) {
        for id in
            packets.iter().filter(|packet| packet.form == QuicForm::Initial).filter_map(|it| it.source_connection_id)
        {
            let proves = id.as_bytes().len() >= PROVING_ID_BYTES;
            if proves && self.server_ids.len() < MOST_IDS && !self.server_ids.contains(&id) {
                self.server_ids.push(id);
            }
        }
    }

    pub(super) fn finish(self) -> AmplificationFacts {
        self.facts
    }
}
