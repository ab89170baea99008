//! One QUIC connection: its keys, its packet number spaces, what its handshake says.

mod one_rtt;

use super::connection_id::ConnectionId;
use super::form::QuicForm;
use super::frames::{QuicFrame, parse_frames};
use super::header::LongHeader;
use super::hello::{CryptoStream, DEFAULT_ACK_DELAY_EXPONENT, DEFAULT_MAX_ACK_DELAY_MS, Hello, TransportParameters};
use super::initial::InitialKeys;
use super::keys::{Keys, NotOpened, OneRttKeys, Opened, ProtectedPacket, open, suites_of};
use super::packet::{Decryption, QuicPacket};
use super::packet_number::Numbers;
use super::protection::{CipherSuite, Secret, initial_secret};
use super::tls_handshake::TlsHandshake;
use crate::keylog::{ClientRandom, KeyLog, SecretLabel};
use crate::role::Role;

/// Stateless reset tokens kept of each endpoint.
const MAXIMUM_RESET_TOKENS: usize = 64;

/// A packet number space, RFC 9000 section 12.3.
#[derive(Clone, Copy)]
enum Space {
    Initial,
    Handshake,
    Application,
}

/// Buffers that one datagram after the other uses.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) frames: Vec<QuicFrame>,
    /// The connection ID of the server's `preferred_address`, where the last packet completed what says it.
    pub(crate) preferred_id: Option<ConnectionId>,
    /// Client randoms of other connections between the addresses of the packet at hand: their secrets are not tried for it.
    pub(crate) taken_randoms: Vec<ClientRandom>,
    scratch: Vec<u8>,
}

/// State of one connection. Arrays by [`Role`] hold what that role sends.
#[derive(Default)]
pub(crate) struct Connection {
    initial: InitialKeys,
    client_random: Option<ClientRandom>,
    server_name: Option<String>,
    suite: Option<CipherSuite>,
    tls: Option<Box<TlsHandshake>>,
    /// Version of the server's long headers, or the client's until then.
    version: Option<u32>,
    early: Option<Box<Keys>>,
    handshake: [Option<Box<Keys>>; 2],
    one_rtt: [Option<Box<OneRttKeys>>; 2],
    /// Packet numbers by sender and space, of a connection of which a packet was opened.
    numbers: Option<Box<[[Numbers; 3]; 2]>>,
    crypto: [[Option<Box<CryptoStream>>; 2]; 2],
    parameters: [Option<TransportParameters>; 2],
    reset_tokens: [Vec<[u8; 16]>; 2],
    key_updates: [u64; 2],
    blind_trials: u32,
}

/// Every flow of UDP has one, QUIC or not: a capture may hold a million.
const _: () = assert!(size_of::<Connection>() <= 512);

impl Connection {
    /// Value of the ClientHello's random, once it was seen.
    pub(crate) fn client_random(&self) -> Option<&ClientRandom> {
        self.client_random.as_ref()
    }

    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    pub(crate) fn suite(&self) -> Option<CipherSuite> {
        self.suite
    }

    /// `None` before the first message that tells anything.
    pub(crate) fn tls_handshake(&self) -> Option<&TlsHandshake> {
        self.tls.as_deref()
    }

    pub(crate) fn version(&self) -> Option<u32> {
        self.version
    }

    /// Key updates seen of a sender.
    pub(crate) fn key_updates(&self, sender: Role) -> u64 {
        self.key_updates[sender as usize]
    }

    /// Bidirectional streams that this end lets its peer open at first.
    pub(crate) fn initial_max_streams_bidi(&self, of: Role) -> Option<u64> {
        self.parameters[of as usize]?.initial_max_streams_bidi
    }

    /// Whether this end has said that its peer must not move to another address during the connection.
    pub(crate) fn disables_active_migration(&self, of: Role) -> Option<bool> {
        Some(self.parameters[of as usize]?.disables_active_migration)
    }

    /// Negotiated by both: draft-ferrieux-hamchaoui-quic-lossbits.
    fn sends_loss_bits(&self, sender: Role) -> bool {
        let [client, server] = self.parameters.map(|parameters| parameters.and_then(|it| it.loss_bits));
        let own = if sender == Role::Client { client } else { server };
        own == Some(1) && client.is_some() && server.is_some()
    }

    /// Number of bits by which ACK delays of this sender are shifted.
    pub(crate) fn ack_delay_exponent(&self, sender: Role) -> u8 {
        self.parameters[sender as usize].map_or(DEFAULT_ACK_DELAY_EXPONENT, |it| it.ack_delay_exponent)
    }

    /// The longest that this sender delays ACKs of 1-RTT packets by, in milliseconds.
    pub(crate) fn max_ack_delay_ms(&self, sender: Role) -> u64 {
        self.parameters[sender as usize].map_or(DEFAULT_MAX_ACK_DELAY_MS, |it| it.max_ack_delay_ms)
    }

    /// Whether the client's first Initial is of this connection: its keys open it.
    pub(crate) fn begins_with(header: &LongHeader, packet: &ProtectedPacket, buffers: &mut Buffers) -> bool {
        let secret = initial_secret(header.version, header.destination_connection_id, Role::Client);
        let keys = secret.and_then(Keys::of);
        keys.is_some_and(|keys| {
            open(&keys.header, &keys.packet, packet, Numbers::default(), &mut buffers.scratch).is_ok()
        })
    }

    /// The server sent a Retry.
    pub(crate) fn on_retry(&mut self) {
        self.initial.on_retry();
    }

    /// Removes the protection of a packet with a long header.
    pub(crate) fn on_long(
        &mut self,
        sender: Role,
        header: &LongHeader,
        packet: &ProtectedPacket,
        key_log: &KeyLog,
        buffers: &mut Buffers,
    ) -> QuicPacket {
        if sender == Role::Server || self.version.is_none() {
            self.version = Some(header.version);
        }
        let mut row = QuicPacket::new(header.form, packet.length);
        let space = match header.form {
            QuicForm::Initial => Space::Initial,
            QuicForm::Handshake => Space::Handshake,
            _ => Space::Application,
        };
        let numbers = self.numbers_of(sender, space);
        let opened = match header.form {
            QuicForm::Initial => self.initial.open(sender, header, packet, numbers, &mut buffers.scratch),
            QuicForm::Handshake => self.open_handshake(sender, header.version, packet, numbers, key_log, buffers),
            _ => self.open_early(header.version, packet, numbers, key_log, buffers),
        };
        self.finish(sender, space, opened, &mut row, buffers);
        row
    }

    /// Removes the protection of a 1-RTT packet.
    pub(crate) fn on_short(
        &mut self,
        sender: Role,
        packet: &ProtectedPacket,
        key_log: &KeyLog,
        buffers: &mut Buffers,
    ) -> QuicPacket {
        let mut row = QuicPacket::new(QuicForm::OneRtt, packet.length);
        let opened = self.open_one_rtt(sender, packet, key_log, buffers, &mut row);
        if !matches!(opened, Ok(Opened::Whole { .. })) {
            row.is_stateless_reset = self.is_stateless_reset(sender, packet);
        }
        self.finish(sender, Space::Application, opened, &mut row, buffers);
        row
    }

    fn open_early(
        &mut self,
        version: u32,
        packet: &ProtectedPacket,
        numbers: Numbers,
        key_log: &KeyLog,
        buffers: &mut Buffers,
    ) -> Result<Opened, NotOpened> {
        if let Some(keys) = &self.early {
            return open(&keys.header, &keys.packet, packet, numbers, &mut buffers.scratch);
        }
        let random = self.client_random.ok_or(NotOpened::NoKeys)?;
        let secrets = key_log.secrets(&random, SecretLabel::ClientEarly);
        let mut result = Err(if secrets.is_empty() { NotOpened::NoKeys } else { NotOpened::Failed });
        // The suite is that of the session resumed, which nothing here shows.
        let trials = secrets.iter().flat_map(|secret| suites_of(secret, None).map(move |suite| (secret, suite)));
        for (secret, suite) in trials {
            let Some(keys) = Secret::new(suite, version, secret).and_then(Keys::of) else { continue };
            result = open(&keys.header, &keys.packet, packet, numbers, &mut buffers.scratch);
            match result {
                Ok(Opened::Whole { .. }) => {
                    self.early = Some(Box::new(keys));
                    break;
                }
                Ok(Opened::Cut(_)) => result = Ok(Opened::Cut(None)),
                Err(_) => {}
            }
        }
        result
    }

    fn open_handshake(
        &mut self,
        sender: Role,
        version: u32,
        packet: &ProtectedPacket,
        numbers: Numbers,
        key_log: &KeyLog,
        buffers: &mut Buffers,
    ) -> Result<Opened, NotOpened> {
        let label = [SecretLabel::ClientHandshake, SecretLabel::ServerHandshake][sender as usize];
        let secrets = self.client_random.as_ref().map_or(&[][..], |random| key_log.secrets(random, label));
        let keys_of = |suite, secret: &[u8]| Secret::new(suite, version, secret).and_then(Keys::of).map(Box::new);
        let keys = &mut self.handshake[sender as usize];
        if keys.is_none()
            && let (Some(suite), [secret]) = (self.suite, secrets)
        {
            *keys = keys_of(suite, secret);
        }
        let mut result = match keys {
            Some(keys) => open(&keys.header, &keys.packet, packet, numbers, &mut buffers.scratch),
            None => Err(NotOpened::NoKeys),
        };
        if let (Err(_), Some(suite), [_, _, ..]) = (&result, self.suite, secrets) {
            for other in secrets.iter().filter_map(|secret| keys_of(suite, secret)) {
                result = open(&other.header, &other.packet, packet, numbers, &mut buffers.scratch);
                match result {
                    Ok(Opened::Whole { .. }) => {
                        *keys = Some(other);
                        break;
                    }
                    Ok(Opened::Cut(_)) => return Ok(Opened::Cut(None)),
                    Err(_) => {}
                }
            }
        }
        result
    }

    /// RFC 9000 section 10.3.1: the last 16 bytes are a token that the sender gave for one of its connection IDs.
    fn is_stateless_reset(&self, sender: Role, packet: &ProtectedPacket) -> bool {
        let is_whole = packet.captured.len() == packet.length;
        let token = packet.captured.last_chunk::<16>();
        let tokens = &self.reset_tokens[sender as usize];
        let parameter = self.parameters[sender as usize].and_then(|it| it.stateless_reset_token);
        is_whole && token.is_some_and(|token| tokens.contains(token) || parameter.as_ref() == Some(token))
    }

    fn numbers_of(&self, sender: Role, space: Space) -> Numbers {
        self.numbers.as_ref().map_or_else(Numbers::default, |numbers| numbers[sender as usize][space as usize])
    }

    fn numbers_mut(&mut self, sender: Role, space: Space) -> &mut Numbers {
        &mut self.numbers.get_or_insert_default()[sender as usize][space as usize]
    }

    /// Reads the frames, and what they say about the connection.
    fn finish(
        &mut self,
        sender: Role,
        space: Space,
        opened: Result<Opened, NotOpened>,
        row: &mut QuicPacket,
        buffers: &mut Buffers,
    ) {
        let first = buffers.frames.len();
        row.frames = first..first;
        let opened = match opened {
            Ok(opened) => opened,
            Err(NotOpened::NoKeys) => {
                row.decryption = Decryption::NoKeys;
                return;
            }
            Err(NotOpened::Failed) => {
                row.decryption = Decryption::Failed;
                return;
            }
        };
        let numbers = self.numbers_mut(sender, space);
        let (packet_number, payload) = match opened {
            Opened::Whole { packet_number, payload } => (packet_number, payload),
            Opened::Cut(header) => {
                row.packet_number = header.and_then(|header| {
                    numbers.of_cut_packet(header.truncated_packet_number, header.packet_number_bytes)
                });
                row.decryption = Decryption::HeaderOnly;
                return;
            }
        };
        row.packet_number = Some(packet_number);
        numbers.on_decrypted(packet_number);
        row.decryption = Decryption::Verified;
        let payload = &buffers.scratch[payload];
        row.frame_error = parse_frames(payload, &mut buffers.frames).err();
        row.frames = first..buffers.frames.len();
        for frame in &buffers.frames[row.frames.clone()] {
            match (frame, space) {
                (QuicFrame::Crypto { offset, data }, Space::Initial | Space::Handshake) => {
                    let stream = self.crypto[sender as usize][space as usize].get_or_insert_default();
                    for hello in stream.on_data(*offset, &payload[data.clone()]) {
                        let tls = self.tls.get_or_insert_default();
                        match hello {
                            Hello::Client { random, server_name, parameters, offer } if sender == Role::Client => {
                                self.client_random = Some(random);
                                self.server_name = server_name.or(self.server_name.take());
                                self.parameters[Role::Client as usize] = parameters;
                                tls.offer = Some(offer);
                            }
                            Hello::Server { suite, choice } if sender == Role::Server => {
                                self.suite = suite;
                                tls.choice = Some(choice);
                            }
                            Hello::EncryptedExtensions {
                                parameters,
                                parameter_numbers,
                                preferred_address,
                                accepts_early_data,
                                application_protocol,
                            } if sender == Role::Server => {
                                self.parameters[Role::Server as usize] = parameters;
                                tls.server_parameters = parameters.map(|_| parameter_numbers);
                                if let Some(preferred) = preferred_address {
                                    buffers.preferred_id = Some(preferred.connection_id);
                                    keep_token(
                                        &mut self.reset_tokens[sender as usize],
                                        preferred.stateless_reset_token,
                                    );
                                }
                                tls.accepts_early_data = Some(accepts_early_data);
                                tls.application_protocol = application_protocol;
                            }
                            Hello::Certificate { length } if sender == Role::Server => {
                                tls.certificate_bytes = Some(length);
                            }
                            _ => {}
                        }
                    }
                }
                (frame, _) => {
                    if let Some(largest) = frame.acknowledgment().and_then(|ack| ack.ranges.first()) {
                        self.numbers_mut(sender.peer(), space).on_acknowledged(*largest.end());
                    }
                    if let Some((_, token)) = frame.new_connection_id() {
                        keep_token(&mut self.reset_tokens[sender as usize], token);
                    }
                }
            }
        }
    }
}

fn keep_token(tokens: &mut Vec<[u8; 16]>, token: [u8; 16]) {
    if tokens.len() < MAXIMUM_RESET_TOKENS {
        tokens.push(token);
    }
}
