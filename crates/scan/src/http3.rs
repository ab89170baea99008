//! HTTP/3 as far as one HEAD request needs it, RFC 9114, from bytes to bytes: what the client's streams carry, and the header
//! section of the response. [`request`] and [`control_stream`] are sent; [`ResponseReader`] reads the request's stream.

mod fields;
mod huffman;
mod qpack;
mod static_table;

use std::net::SocketAddr;

use thiserror::Error;

pub use qpack::QpackError;

use fields::Fields;

use crate::answer::HttpAnswer;
use crate::first_flight::variable_integer;
use crate::settings::HttpSettings;

/// Closes a connection without an error, RFC 9114 section 8.1.
pub const NO_ERROR: u32 = 0x100;
const HTTPS_PORT: u16 = 443;

// Types of frames, RFC 9114 section 7.2.
const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
/// Frames that do not belong on a request's stream: CANCEL_PUSH, SETTINGS, PUSH_PROMISE (no push was allowed), GOAWAY, MAX_PUSH_ID,
/// and those that HTTP/2 had and HTTP/3 does not (RFC 9114 section 7.2.8).
const UNEXPECTED: [u64; 9] = [0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0d];

/// Bytes of a header section that are read at most, which the client's SETTINGS say.
const MOST_HEADER_BYTES: u64 = 32 << 10;

/// Why a response is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Http3Error {
    /// A frame where it must not be.
    #[error("found a frame of type {0:#x} where a response has HEADERS (RFC 9114 section 4.1)")]
    UnexpectedFrame(u64),
    /// A header section that is larger than the client takes.
    #[error("found a header section of {0} bytes, expected at most {MOST_HEADER_BYTES}")]
    TooLarge(u64),
    /// Its header section.
    #[error(transparent)]
    Qpack(#[from] QpackError),
    /// A response without a valid status.
    #[error("a response without a status code of three digits (RFC 9114 section 4.3.2)")]
    Status,
    /// The stream ended before the final response.
    #[error("the stream ended before the response (RFC 9114 section 4.1)")]
    Truncated,
}

/// What the client's control stream begins with: its type, and SETTINGS without a dynamic table of QPACK.
pub fn control_stream() -> Vec<u8> {
    // QPACK_MAX_TABLE_CAPACITY, QPACK_BLOCKED_STREAMS, RFC 9204 section 5; SETTINGS_MAX_FIELD_SECTION_SIZE, RFC 9114 section 7.2.4.1.
    let mut settings = vec![0x01, 0x00, 0x07, 0x00, 0x06];
    push_integer(MOST_HEADER_BYTES, &mut settings);
    let mut stream = vec![0x00, 0x04, settings.len() as u8];
    stream.extend_from_slice(&settings);
    stream
}

/// What the request's stream carries. The name is `None` for a server that is known by its address alone.
pub fn request(settings: &HttpSettings, server_name: Option<&str>, address: SocketAddr) -> Vec<u8> {
    let authority = authority(server_name, address);
    let fields = [
        (":method", "HEAD"),
        (":scheme", "https"),
        (":authority", &authority),
        (":path", "/"),
        ("user-agent", &settings.user_agent),
        ("accept", "*/*"),
    ];
    let from = settings.from.as_deref().map(|from| ("from", from));
    let mut section = Vec::new();
    qpack::encode(fields.into_iter().chain(from), &mut section);
    let mut stream = vec![HEADERS as u8];
    push_integer(section.len() as u64, &mut stream);
    stream.extend_from_slice(&section);
    stream
}

/// RFC 3986 section 3.2.
fn authority(server_name: Option<&str>, address: SocketAddr) -> String {
    match (server_name, address.port()) {
        (Some(name), HTTPS_PORT) => name.into(),
        (Some(name), port) => format!("{name}:{port}"),
        (None, HTTPS_PORT) if address.is_ipv6() => format!("[{}]", address.ip()),
        (None, HTTPS_PORT) => address.ip().to_string(),
        (None, _) => address.to_string(),
    }
}

/// RFC 9000 section 16, for values below 2^30.
fn push_integer(value: u64, bytes: &mut Vec<u8>) {
    match value {
        0..0x40 => bytes.push(value as u8),
        0x40..0x4000 => bytes.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        _ => bytes.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
    }
}

/// Reads the stream of a request up to the header section of the final response.
#[derive(Debug, Default)]
pub struct ResponseReader {
    buffer: Vec<u8>,
    /// Bytes of a frame of no interest that are yet to come.
    to_skip: u64,
}

impl ResponseReader {
    /// Takes the next bytes of the stream. `None`: more of them are needed. Reports the fields that `settings` ask for.
    ///
    /// # Errors
    /// Why it is not a response.
    pub fn on_bytes(&mut self, bytes: &[u8], settings: &HttpSettings) -> Result<Option<HttpAnswer>, Http3Error> {
        self.buffer.extend_from_slice(bytes);
        loop {
            let skipped = self.to_skip.min(self.buffer.len() as u64);
            self.buffer.drain(..skipped as usize);
            self.to_skip -= skipped;
            let Some((kind, rest)) = variable_integer(&self.buffer) else { return Ok(None) };
            let Some((length, rest)) = variable_integer(rest) else { return Ok(None) };
            let header_bytes = (self.buffer.len() - rest.len()) as u64;
            match kind {
                HEADERS if length > MOST_HEADER_BYTES => return Err(Http3Error::TooLarge(length)),
                HEADERS => {
                    let Some(section) = rest.get(..length as usize) else { return Ok(None) };
                    let answer = response(section, settings)?;
                    // Informational responses come before the final one, RFC 9114 section 4.1.
                    if answer.status >= 200 {
                        return Ok(Some(answer));
                    }
                }
                DATA => return Err(Http3Error::UnexpectedFrame(kind)),
                _ if UNEXPECTED.contains(&kind) => return Err(Http3Error::UnexpectedFrame(kind)),
                // Unknown ones are reserved for this, RFC 9114 section 9.
                _ => {}
            }
            self.to_skip = header_bytes.saturating_add(length);
        }
    }
}

/// Reads the answer from the header section of a response.
fn response(section: &[u8], settings: &HttpSettings) -> Result<HttpAnswer, Http3Error> {
    let mut fields = Fields::default();
    let mut status = None;
    qpack::decode(section, |name, value| match name {
        b":status" => status = Some(status_code(value)),
        _ => fields.add(name, value, settings),
    })?;
    let status = status.flatten().ok_or(Http3Error::Status)?;
    Ok(HttpAnswer { status, ..fields.into_answer() })
}

fn status_code(value: &[u8]) -> Option<u16> {
    let is_code = value.len() == 3 && value.iter().all(u8::is_ascii_digit) && value[0] != b'0';
    is_code.then(|| value.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
