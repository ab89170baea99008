//! What the first messages of both ends show: ClientHello, ServerHello and EncryptedExtensions, RFC 8446 sections 4.1.2,
//! 4.1.3 and 4.3.1, with the names of RFC 6066 (SNI) and RFC 7301 (ALPN), and the transport parameters of RFC 9001 section 8.2; and how long the
//! server's certificate chain is, RFC 8446 section 4.4.2.

use std::collections::BTreeMap;

use super::connection_id::ConnectionId;
use super::fields::Fields;
use super::protection::CipherSuite;
use crate::keylog::ClientRandom;

/// An IPv4 address with its port and an IPv6 address with its port come first in `preferred_address`.
const PREFERRED_ADDRESS_BYTES_BEFORE_ID: usize = 4 + 2 + 16 + 2;
/// draft-ferrieux-hamchaoui-quic-lossbits, which LSQUIC keeps.
const LOSS_BITS: u64 = 0x1057;
/// `max_ack_delay` where an endpoint does not say, in milliseconds, RFC 9000 section 18.2.
pub(crate) const DEFAULT_MAX_ACK_DELAY_MS: u64 = 25;
/// `ack_delay_exponent` where an endpoint does not say, RFC 9000 section 18.2.
pub const DEFAULT_ACK_DELAY_EXPONENT: u8 = 3;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const FINISHED: u8 = 20;
/// RFC 8879 section 4.
const COMPRESSED_CERTIFICATE: u8 = 25;
// Extensions, RFC 8446 section 4.2. Transport parameters have two numbers: RFC 9001 section 8.2, and the drafts before it.
const SERVER_NAME: u16 = 0;
/// RFC 7301.
const APPLICATION_PROTOCOL: u16 = 16;
const PRE_SHARED_KEY: u16 = 41;
const SUPPORTED_GROUPS: u16 = 10;
const EARLY_DATA: u16 = 42;
const TRANSPORT_PARAMETERS: u16 = 0x39;
const DRAFT_TRANSPORT_PARAMETERS: u16 = 0xffa5;
/// Most bytes of one encryption level's CRYPTO data kept: a certificate chain is behind what is looked for.
const MAXIMUM_BUFFERED_BYTES: usize = 64 * 1024;
/// Most numbers of transport parameters kept: RFC 9000 has 17.
const MAXIMUM_PARAMETERS: usize = 64;
/// Most pieces kept behind a gap. A client that scatters its hello on purpose makes some tens.
const MAXIMUM_PIECES: usize = 1024;
/// RFC 8446 section 4.1.3: a ServerHello with this random is a HelloRetryRequest.
const HELLO_RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A handshake message of interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    Client {
        random: ClientRandom,
        server_name: Option<String>,
        parameters: Option<TransportParameters>,
        offer: ClientOffer,
    },
    Server {
        suite: Option<CipherSuite>,
        choice: ServerChoice,
    },
    EncryptedExtensions {
        parameters: Option<TransportParameters>,
        /// Their numbers, in order, as far as there are not too many.
        parameter_numbers: Vec<u64>,
        preferred_address: Option<PreferredAddress>,
        accepts_early_data: bool,
        application_protocol: Option<String>,
    },
    /// The message's header alone was read.
    Certificate {
        length: u32,
    },
}

/// What a ClientHello offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOffer {
    /// Numbers of TLS, in the client's order; with those that mean nothing (RFC 8701).
    pub cipher_suites: Vec<u16>,
    /// The groups for key exchange that it supports, likewise (RFC 8446, section 4.2.7).
    pub groups: Vec<u16>,
    /// A `pre_shared_key` extension: the client wants to resume a session.
    pub pre_shared_key: bool,
    /// An `early_data` extension: 0-RTT packets may follow.
    pub early_data: bool,
}

/// What a ServerHello chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerChoice {
    /// Number of TLS.
    pub cipher_suite: u16,
    /// A `pre_shared_key` extension: the session is resumed.
    pub pre_shared_key: bool,
}

/// The transport parameters that reading a capture needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportParameters {
    pub(crate) ack_delay_exponent: u8,
    pub(crate) max_ack_delay_ms: u64,
    pub(crate) stateless_reset_token: Option<[u8; 16]>,
    pub(crate) initial_max_streams_bidi: Option<u64>,
    pub(crate) disables_active_migration: bool,
    /// 1: it sends loss bits where its peer takes them; 0: it takes them.
    pub(crate) loss_bits: Option<u64>,
}

/// What the server's `preferred_address` says besides the addresses, RFC 9000 section 18.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreferredAddress {
    /// Its sequence number is 1 (RFC 9000 section 5.1.1). Never empty.
    pub(crate) connection_id: ConnectionId,
    pub(crate) stateless_reset_token: [u8; 16],
}

/// Puts the CRYPTO data of one direction and level back in order, and reads the messages at its beginning. What it holds
/// grows with the bytes that were captured, not with the offsets that they claim.
#[derive(Default)]
pub(crate) struct CryptoStream {
    /// Offset of the first byte that is kept: those before it were read.
    start: usize,
    /// The bytes from `start` on, without a gap.
    bytes: Vec<u8>,
    /// Pieces behind a gap, by offset.
    pieces: BTreeMap<usize, Vec<u8>>,
    /// Where in `bytes` the first message begins that has not been read.
    read: usize,
    finished: bool,
}

impl CryptoStream {
    /// Takes a piece, and gives the messages that it completes.
    pub(crate) fn on_data(&mut self, offset: u64, data: &[u8]) -> Vec<Hello> {
        let mut messages = Vec::new();
        let Some(begin) = usize::try_from(offset).ok().filter(|begin| *begin < MAXIMUM_BUFFERED_BYTES) else {
            return messages;
        };
        if self.finished || data.is_empty() {
            return messages;
        }
        let data = &data[..data.len().min(MAXIMUM_BUFFERED_BYTES - begin)];
        if begin > self.end() {
            let is_longer = self.pieces.get(&begin).is_none_or(|piece| piece.len() < data.len());
            if is_longer && (self.pieces.len() < MAXIMUM_PIECES || self.pieces.contains_key(&begin)) {
                self.pieces.insert(begin, data.to_vec());
            }
            return messages;
        }
        self.append(begin, data);
        while let Some((&begin, _)) = self.pieces.first_key_value().filter(|(begin, _)| **begin <= self.end()) {
            let data = self.pieces.remove(&begin).unwrap_or_default();
            self.append(begin, &data);
        }
        while let Some(message) = self.next_message() {
            messages.extend(message);
        }
        if self.read == self.bytes.len() {
            self.start += std::mem::take(&mut self.read);
            self.bytes = Vec::new();
        }
        messages
    }

    /// Offset behind the last byte without a gap before it.
    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }

    /// What of a piece is new, where it begins within the bytes at hand or directly behind them.
    fn append(&mut self, begin: usize, data: &[u8]) {
        self.bytes.extend_from_slice(data.get(self.end() - begin..).unwrap_or_default());
    }

    /// `Some(None)` for a message of no interest; `None` where the next one is not whole.
    fn next_message(&mut self) -> Option<Option<Hello>> {
        let mut fields = Fields::new(self.bytes.get(self.read..)?);
        let kind = fields.u8()?;
        let length = fields.u24()?;
        let message = match kind {
            // Only how long it is matters.
            CERTIFICATE | COMPRESSED_CERTIFICATE => Some(Hello::Certificate { length }),
            FINISHED => None,
            _ => {
                let body = fields.take(length as usize)?;
                match kind {
                    CLIENT_HELLO => client_hello(body),
                    SERVER_HELLO => server_hello(body),
                    ENCRYPTED_EXTENSIONS => encrypted_extensions(body),
                    _ => None,
                }
            }
        };
        self.read += fields.position;
        // Nothing of interest follows in the same direction and level.
        if kind == FINISHED || matches!(message, Some(Hello::Server { .. } | Hello::Certificate { .. })) {
            self.finished = true;
            self.bytes = Vec::new();
            self.read = 0;
            self.pieces.clear();
        }
        Some(message)
    }
}

fn client_hello(body: &[u8]) -> Option<Hello> {
    let mut fields = Fields::new(body);
    fields.take(2)?;
    let random = fields.take(32)?.try_into().ok()?;
    fields.take_with_length_byte()?;
    let suites_bytes = fields.u16()?;
    let suites = fields.take(usize::from(suites_bytes))?;
    let mut offer = ClientOffer { cipher_suites: numbers(suites), ..ClientOffer::default() };
    fields.take_with_length_byte()?;
    let mut server_name = None;
    let mut parameters = None;
    for_each_extension(&mut fields, |kind, data| match kind {
        SERVER_NAME => server_name = parse_server_name(data),
        SUPPORTED_GROUPS => offer.groups = numbers(data.get(2..).unwrap_or_default()),
        PRE_SHARED_KEY => offer.pre_shared_key = true,
        EARLY_DATA => offer.early_data = true,
        TRANSPORT_PARAMETERS | DRAFT_TRANSPORT_PARAMETERS => parameters = Some(transport_parameters(data)),
        _ => {}
    });
    Some(Hello::Client { random, server_name, parameters, offer })
}

fn numbers(list: &[u8]) -> Vec<u16> {
    list.chunks_exact(2).map(|number| u16::from_be_bytes([number[0], number[1]])).collect()
}

fn server_hello(body: &[u8]) -> Option<Hello> {
    let mut fields = Fields::new(body);
    fields.take(2)?;
    if fields.take(32)? == HELLO_RETRY_RANDOM {
        return None;
    }
    fields.take_with_length_byte()?;
    let cipher_suite = fields.u16()?;
    // The legacy compression method.
    fields.u8();
    let mut choice = ServerChoice { cipher_suite, pre_shared_key: false };
    for_each_extension(&mut fields, |kind, _| choice.pre_shared_key |= kind == PRE_SHARED_KEY);
    Some(Hello::Server { suite: CipherSuite::from_number(cipher_suite), choice })
}

fn encrypted_extensions(body: &[u8]) -> Option<Hello> {
    let mut parameters = None;
    let mut parameter_numbers = Vec::new();
    let mut preferred_address = None;
    let mut accepts_early_data = false;
    let mut application_protocol = None;
    for_each_extension(&mut Fields::new(body), |kind, data| match kind {
        EARLY_DATA => accepts_early_data = true,
        APPLICATION_PROTOCOL => application_protocol = parse_application_protocol(data),
        TRANSPORT_PARAMETERS | DRAFT_TRANSPORT_PARAMETERS => {
            parameters = Some(transport_parameters(data));
            for_each_transport_parameter(data, |number, _| {
                if parameter_numbers.len() < MAXIMUM_PARAMETERS {
                    parameter_numbers.push(number);
                }
            });
            preferred_address = find_preferred_address(data);
        }
        _ => {}
    });
    Some(Hello::EncryptedExtensions {
        parameters,
        parameter_numbers,
        preferred_address,
        accepts_early_data,
        application_protocol,
    })
}

fn for_each_extension(fields: &mut Fields, mut on_extension: impl FnMut(u16, &[u8])) -> Option<()> {
    let length = fields.u16()?;
    let mut extensions = Fields::new(fields.take(usize::from(length))?);
    while !extensions.is_empty() {
        let kind = extensions.u16()?;
        let length = extensions.u16()?;
        on_extension(kind, extensions.take(usize::from(length))?);
    }
    Some(())
}

/// The one name that a server chose. `None` where it is none that can be shown.
fn parse_application_protocol(data: &[u8]) -> Option<String> {
    let mut fields = Fields::new(data);
    fields.u16()?;
    let name = std::str::from_utf8(fields.take_with_length_byte()?).ok()?;
    name.chars().all(|letter| letter.is_ascii_graphic()).then(|| name.to_owned())
}

/// The first name of type host_name.
fn parse_server_name(data: &[u8]) -> Option<String> {
    let mut fields = Fields::new(data);
    fields.u16()?;
    if fields.u8()? != 0 {
        return None;
    }
    let length = fields.u16()?;
    let name = std::str::from_utf8(fields.take(usize::from(length))?).ok()?;
    name.chars().all(|letter| letter.is_ascii_graphic()).then(|| name.to_owned())
}

/// RFC 9000 section 18.
fn transport_parameters(data: &[u8]) -> TransportParameters {
    let mut parameters = TransportParameters {
        ack_delay_exponent: DEFAULT_ACK_DELAY_EXPONENT,
        max_ack_delay_ms: DEFAULT_MAX_ACK_DELAY_MS,
        stateless_reset_token: None,
        initial_max_streams_bidi: None,
        disables_active_migration: false,
        loss_bits: None,
    };
    for_each_transport_parameter(data, |kind, value| {
        match kind {
            0x02 => parameters.stateless_reset_token = value.try_into().ok(),
            0x08 => parameters.initial_max_streams_bidi = Fields::new(value).take_variable_length_integer(),
            0x0a => {
                let exponent = Fields::new(value).take_variable_length_integer();
                // Values above 20 are invalid.
                if let Some(exponent) = exponent.filter(|exponent| *exponent <= 20) {
                    parameters.ack_delay_exponent = exponent as u8;
                }
            }
            0x0b => {
                let delay = Fields::new(value).take_variable_length_integer();
                // Values of 2^14 and above are invalid.
                parameters.max_ack_delay_ms =
                    delay.filter(|delay| *delay < 1 << 14).unwrap_or(DEFAULT_MAX_ACK_DELAY_MS);
            }
            0x0c => parameters.disables_active_migration = true,
            LOSS_BITS => parameters.loss_bits = Fields::new(value).take_variable_length_integer(),
            _ => {}
        }
    });
    parameters
}

/// Up to the first one that is cut.
fn for_each_transport_parameter(data: &[u8], mut on_parameter: impl FnMut(u64, &[u8])) {
    let mut fields = Fields::new(data);
    let mut next = || {
        let kind = fields.take_variable_length_integer()?;
        let length = fields.take_variable_length_integer()?;
        Some((kind, fields.take_u64(length)?))
    };
    while let Some((kind, value)) = next() {
        on_parameter(kind, value);
    }
}

/// `None` where the parameter is missing or malformed.
fn find_preferred_address(data: &[u8]) -> Option<PreferredAddress> {
    let mut found = None;
    for_each_transport_parameter(data, |kind, value| {
        if kind == 0x0d {
            found = parse_preferred_address(value);
        }
    });
    found
}

/// RFC 9000 section 18.2, figure 22.
fn parse_preferred_address(value: &[u8]) -> Option<PreferredAddress> {
    let mut fields = Fields::new(value);
    fields.take(PREFERRED_ADDRESS_BYTES_BEFORE_ID)?;
    let connection_id = ConnectionId::new(fields.take_with_length_byte()?).filter(|id| !id.is_empty())?;
    let stateless_reset_token = fields.take(16)?.try_into().ok()?;
    fields.is_empty().then_some(PreferredAddress { connection_id, stateless_reset_token })
}

#[cfg(test)]
mod tests;
