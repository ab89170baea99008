//! What the ClientHello and the ServerHello show: RFC 8446 sections 4.1.2 and 4.1.3, RFC 6066 (SNI), RFC 7301 (ALPN),
//! RFC 9001 section 8.2 (transport parameters).

use std::collections::BTreeMap;

use super::fields::Fields;
use super::protection::CipherSuite;
use crate::keylog::ClientRandom;

/// `ack_delay_exponent` where an endpoint does not say, RFC 9000 section 18.2.
pub const DEFAULT_ACK_DELAY_EXPONENT: u8 = 3;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
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
    Client { random: ClientRandom, server_name: Option<String>, parameters: Option<TransportParameters> },
    Server { suite: Option<CipherSuite> },
    EncryptedExtensions { parameters: Option<TransportParameters> },
}

/// The transport parameters that reading a capture needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportParameters {
    pub(crate) ack_delay_exponent: u8,
    pub(crate) stateless_reset_token: Option<[u8; 16]>,
}

/// Puts the CRYPTO data of one direction and level back in order, and reads the messages at its beginning. What it holds
/// grows with the bytes that were captured, not with the offsets that they claim.
#[derive(Default)]
pub(crate) struct CryptoStream {
    /// From offset 0, without a gap.
    bytes: Vec<u8>,
    /// Pieces behind a gap, by offset.
    pieces: BTreeMap<usize, Vec<u8>>,
    /// Offset of the first message that has not been read.
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
        if begin > self.bytes.len() {
            let is_longer = self.pieces.get(&begin).is_none_or(|piece| piece.len() < data.len());
            if is_longer && (self.pieces.len() < MAXIMUM_PIECES || self.pieces.contains_key(&begin)) {
                self.pieces.insert(begin, data.to_vec());
            }
            return messages;
        }
        self.append(begin, data);
        while let Some(piece) = self.pieces.first_entry().filter(|piece| *piece.key() <= self.bytes.len()) {
            let (begin, data) = piece.remove_entry();
            self.append(begin, &data);
        }
        while let Some(message) = self.next_message() {
            messages.extend(message);
        }
        messages
    }

    /// What of a piece is new, where it begins within the bytes at hand or directly behind them.
    fn append(&mut self, begin: usize, data: &[u8]) {
        self.bytes.extend_from_slice(data.get(self.bytes.len() - begin..).unwrap_or_default());
    }

    /// `Some(None)` for a message of no interest; `None` where the next one is not whole.
    fn next_message(&mut self) -> Option<Option<Hello>> {
        let mut fields = Fields::new(self.bytes.get(self.read..)?);
        let kind = fields.u8()?;
        let length = fields.u24()? as usize;
        let body = fields.take(length)?;
        let message = match kind {
            CLIENT_HELLO => client_hello(body),
            SERVER_HELLO => server_hello(body),
            ENCRYPTED_EXTENSIONS => encrypted_extensions(body),
            _ => None,
        };
        self.read += fields.position;
        // Nothing of interest follows in the same direction and level.
        if matches!(message, Some(Hello::Server { .. } | Hello::EncryptedExtensions { .. })) {
            self.finished = true;
            self.bytes = Vec::new();
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
    fields.take(usize::from(suites_bytes))?;
    fields.take_with_length_byte()?;
    let mut server_name = None;
    let mut parameters = None;
    for_each_extension(&mut fields, |kind, data| match kind {
        0 => server_name = parse_server_name(data),
        // Both numbers of the extension: RFC 9001 section 8.2, and the drafts before it.
        0x39 | 0xffa5 => parameters = Some(transport_parameters(data)),
        _ => {}
    });
    Some(Hello::Client { random, server_name, parameters })
}

fn server_hello(body: &[u8]) -> Option<Hello> {
    let mut fields = Fields::new(body);
    fields.take(2)?;
    if fields.take(32)? == HELLO_RETRY_RANDOM {
        return None;
    }
    fields.take_with_length_byte()?;
    Some(Hello::Server { suite: CipherSuite::from_number(fields.u16()?) })
}

fn encrypted_extensions(body: &[u8]) -> Option<Hello> {
    let mut parameters = None;
    for_each_extension(&mut Fields::new(body), |kind, data| {
        if matches!(kind, 0x39 | 0xffa5) {
            parameters = Some(transport_parameters(data));
        }
    });
    Some(Hello::EncryptedExtensions { parameters })
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
    let mut parameters =
        TransportParameters { ack_delay_exponent: DEFAULT_ACK_DELAY_EXPONENT, stateless_reset_token: None };
    let mut fields = Fields::new(data);
    let mut next = || {
        let kind = fields.take_variable_length_integer()?;
        let length = fields.take_variable_length_integer()?;
        Some((kind, fields.take_u64(length)?))
    };
    while let Some((kind, value)) = next() {
        match kind {
            0x02 => parameters.stateless_reset_token = value.try_into().ok(),
            0x0a => {
                let exponent = Fields::new(value).take_variable_length_integer();
                // Values above 20 are invalid.
                if let Some(exponent) = exponent.filter(|exponent| *exponent <= 20) {
                    parameters.ack_delay_exponent = exponent as u8;
                }
            }
            _ => {}
        }
    }
    parameters
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
        let expected = [Hello::Server { suite: Some(CipherSuite::ChaCha20Poly1305) }];
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

    #[test]
    fn transport_parameters_are_found_among_others() {
        let data = [0x01, 0x02, 0x40, 0x50, 0x0a, 0x01, 0x05, 0x1b, 0x00];
        assert_eq!(transport_parameters(&data).ack_delay_exponent, 5);
        assert_eq!(transport_parameters(&[0x0a, 0x01, 21]).ack_delay_exponent, DEFAULT_ACK_DELAY_EXPONENT);
    }
}
