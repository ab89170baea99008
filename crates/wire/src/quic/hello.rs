//! What the first messages of both ends show: ClientHello, ServerHello and EncryptedExtensions, RFC 8446 sections 4.1.2,
//! 4.1.3 and 4.3.1, with the names of RFC 6066 (SNI) and the transport parameters of RFC 9001 section 8.2; and how long the
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
const PRE_SHARED_KEY: u16 = 41;
const SUPPORTED_GROUPS: u16 = 10;
const EARLY_DATA: u16 = 42;
const TRANSPORT_PARAMETERS: u16 = 0x39;
const DRAFT_TRANSPORT_PARAMETERS: u16 = 0xffa5;
/// Most bytes of one encryption level's CRYPTO data kept: a certificate chain is behind what is looked for.
const MAXIMUM_BUFFERED_BYTES: usize = 64 * 1024;
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
        preferred_address: Option<PreferredAddress>,
        accepts_early_data: bool,
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
    /// From there, without a gap.
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
    let mut preferred_address = None;
    let mut accepts_early_data = false;
    for_each_extension(&mut Fields::new(body), |kind, data| match kind {
        EARLY_DATA => accepts_early_data = true,
        TRANSPORT_PARAMETERS | DRAFT_TRANSPORT_PARAMETERS => {
            parameters = Some(transport_parameters(data));
            preferred_address = find_preferred_address(data);
        }
        _ => {}
    });
    Some(Hello::EncryptedExtensions { parameters, preferred_address, accepts_early_data })
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
mod tests {
    use super::*;

    /// A ServerHello with cipher suite 0x1303.
    fn server_hello_message() -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0x13, 0x03, 0, 0, 0]);
        [&[SERVER_HELLO, 0, 0, body.len() as u8], body.as_slice()].concat()
    }

    #[test]
    fn a_hello_in_pieces_that_arrive_backwards_is_read_once() {
        let message = server_hello_message();
        let mut stream = CryptoStream::default();
        for begin in (1..message.len()).rev() {
            assert_eq!(stream.on_data(begin as u64, &message[begin..begin + 1]), []);
        }
        let choice = ServerChoice { cipher_suite: 0x1303, pre_shared_key: false };
        let expected = [Hello::Server { suite: Some(CipherSuite::ChaCha20Poly1305), choice }];
        assert_eq!(stream.on_data(0, &message[..1]), expected);
        assert_eq!(stream.on_data(0, &message), []);
    }

    #[test]
    fn offsets_beyond_the_buffer_are_ignored() {
        let mut stream = CryptoStream::default();
        assert_eq!(stream.on_data(u64::MAX, &[1]), []);
        assert_eq!(stream.on_data(MAXIMUM_BUFFERED_BYTES as u64 - 1, &[1; 500]), []);
        assert_eq!(stream.pieces.values().map(Vec::len).sum::<usize>(), 1);
    }

    #[test]
    fn memory_grows_with_what_was_captured_and_not_with_offsets() {
        let mut stream = CryptoStream::default();
        stream.on_data(60_000, &[1; 10]);
        assert!(stream.bytes.capacity() + stream.pieces[&60_000].capacity() < 100);
    }

    #[test]
    fn a_hello_is_read_behind_more_pieces_than_are_kept() {
        let mut stream = CryptoStream::default();
        for offset in 0..2 * MAXIMUM_PIECES {
            assert_eq!(stream.on_data(1_000 + 2 * offset as u64, &[1]), []);
        }
        assert_eq!(stream.pieces.len(), MAXIMUM_PIECES);
        assert_eq!(stream.on_data(0, &server_hello_message()).len(), 1);
    }

    /// Any message.
    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, 0, 0, body.len() as u8], body].concat()
    }

    #[test]
    fn a_server_hello_says_whether_a_session_is_resumed() {
        for (extensions, expected) in [
            (vec![], false),
            (vec![0, 6, 0, 41, 0, 2, 0, 0], true),
            (vec![0, 6, 0, 43, 0, 2, 3, 4], false),
            // Cut in the middle of the extension behind.
            (vec![0, 9, 0, 41, 0, 2, 0, 0, 0, 43, 0], true),
        ] {
            let mut body = vec![3, 3];
            body.extend([7; 32]);
            body.extend([0, 0x13, 0x01, 0]);
            body.extend(&extensions);
            let found = CryptoStream::default().on_data(0, &message(SERVER_HELLO, &body));
            let choice = ServerChoice { cipher_suite: 0x1301, pre_shared_key: expected };
            assert_eq!(found, [Hello::Server { suite: Some(CipherSuite::Aes128Gcm), choice }], "{extensions:?}");
        }
    }

    #[test]
    fn a_client_hello_says_what_it_offers() {
        let mut body = vec![3, 3];
        body.extend([9; 32]);
        body.extend([0, 0, 4, 0x1a, 0x1a, 0x13, 0x03, 1, 0]);
        body.extend([0, 18, 0, 10, 0, 6, 0, 4, 0x11, 0xec, 0, 0x1d, 0, 42, 0, 0, 0, 41, 0, 0]);
        let found = CryptoStream::default().on_data(0, &message(CLIENT_HELLO, &body));
        let offer = ClientOffer {
            cipher_suites: vec![0x1a1a, 0x1303],
            groups: vec![0x11ec, 0x1d],
            pre_shared_key: true,
            early_data: true,
        };
        assert_eq!(found, [Hello::Client { random: [9; 32], server_name: None, parameters: None, offer }]);
    }

    #[test]
    fn a_certificate_is_announced_by_its_header_and_ends_what_is_kept() {
        let extensions = message(ENCRYPTED_EXTENSIONS, &[0, 4, 0, 42, 0, 0]);
        let request = message(13, &[0, 0, 0]);
        let stream = &mut CryptoStream::default();
        let data = [extensions.as_slice(), &request, &[CERTIFICATE, 0x00, 0x23, 0x28]].concat();
        let found = stream.on_data(0, &data);
        let first = Hello::EncryptedExtensions { parameters: None, preferred_address: None, accepts_early_data: true };
        assert_eq!(found, [first, Hello::Certificate { length: 0x2328 }]);
        assert_eq!(stream.on_data(data.len() as u64, &[1; 500]), []);
        assert!(stream.bytes.is_empty());
    }

    #[test]
    fn a_resumed_session_has_no_certificate() {
        let extensions = message(ENCRYPTED_EXTENSIONS, &[0, 0]);
        let data = [extensions.as_slice(), &[FINISHED, 0, 0, 32]].concat();
        let mut stream = CryptoStream::default();
        assert_eq!(stream.on_data(0, &data).len(), 1);
        assert!(stream.finished);
    }

    #[test]
    fn transport_parameters_are_found_among_others() {
        let data = [0x01, 0x02, 0x40, 0x50, 0x0a, 0x01, 0x05, 0x1b, 0x00, 0x08, 0x02, 0x40, 0x64];
        assert_eq!(transport_parameters(&data).ack_delay_exponent, 5);
        assert_eq!(transport_parameters(&data).initial_max_streams_bidi, Some(100));
        assert_eq!(transport_parameters(&data).loss_bits, None);
        assert_eq!(transport_parameters(&data).max_ack_delay_ms, 25);
        assert_eq!(transport_parameters(&[0x0b, 0x01, 20]).max_ack_delay_ms, 20);
        assert_eq!(transport_parameters(&[0x0b, 0x04, 0x80, 0, 0x40, 0]).max_ack_delay_ms, 25);
        assert_eq!(transport_parameters(&[0x50, 0x57, 0x01, 0x01]).loss_bits, Some(1));
        assert_eq!(transport_parameters(&[0x0a, 0x01, 21]).ack_delay_exponent, DEFAULT_ACK_DELAY_EXPONENT);
    }

    /// A `preferred_address` with an ID of these bytes, whose length is told as `length`.
    fn preferred_address(length: u8, id: &[u8]) -> Vec<u8> {
        let addresses = [&[203, 0, 113, 1, 0x11, 0x51][..], &[0x20; 16], &[0x11, 0x51]].concat();
        let value = [&addresses[..], &[length], id, &[7; 16]].concat();
        [&[0x0d, value.len() as u8], value.as_slice()].concat()
    }

    #[test]
    fn a_preferred_address_has_a_connection_id_and_a_reset_token() {
        for id in [&[9_u8][..], b"8 bytes.", &[9; 20]] {
            let data = [&[0x0a, 0x01, 0x05][..], &preferred_address(id.len() as u8, id), &[0x0b, 0x01, 20]].concat();
            let connection_id = ConnectionId::new(id).unwrap();
            let expected = PreferredAddress { connection_id, stateless_reset_token: [7; 16] };
            assert_eq!(find_preferred_address(&data), Some(expected));
            assert_eq!(transport_parameters(&data).max_ack_delay_ms, 20);
        }
    }

    #[test]
    fn a_preferred_address_without_an_id_or_of_another_length_is_ignored() {
        let whole = preferred_address(8, b"8 bytes.");
        let longer = [&[0x0d, whole[1] + 1][..], &whole[2..], &[0]].concat();
        let shorter = [&[0x0d, whole[1] - 1][..], &whole[2..whole.len() - 1]].concat();
        for data in [preferred_address(0, b""), preferred_address(21, &[9; 21]), longer, shorter, vec![0x0d, 0]] {
            assert_eq!(find_preferred_address(&data), None, "{data:02x?}");
        }
        assert!(find_preferred_address(&whole).is_some());
    }
}
