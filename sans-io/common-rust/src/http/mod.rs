//! HTTP/0.9 over QUIC, and the least of HTTP/3 (RFC 9114) by which files are fetched.
//!
//! Streams are sequences of bytes here, whatever stack carries them. A client sends what [`Fetches`] has to ask for, each
//! request on a bidirectional stream of its own that ends with it, and hands back what comes. A server collects a stream
//! in a [`RequestReader`] until it ends, and sends what its [`Response`] gives in chunks, and the end of the stream.
//! With HTTP/3 both open one unidirectional stream first, for [`control_stream`], and never end it. What comes on the
//! peer's unidirectional streams is to be read and dropped: nothing there changes what is sent.

mod client;
mod frames;
mod qpack;
mod server;
mod varint;

use std::io;

pub use client::Fetches;
pub use server::{RequestReader, Response};

use crate::contract::{DownloadError, Http};

/// The application's error code by which a server resets a stream of HTTP/0.9 whose file is not there: that version of
/// HTTP has no status.
pub const NO_FILE: u64 = 1;

/// What both sides send on a unidirectional stream of their own as soon as they can: its type, control (RFC 9114, section
/// 6.2.1), and an empty SETTINGS frame (section 7.2.4), so without a dynamic table of QPACK. `None` with HTTP/0.9.
pub fn control_stream(http: Http) -> Option<&'static [u8]> {
    match http {
        Http::Hq => None,
        Http::H3 => Some(&[0x00, 0x04, 0x00]),
    }
}

/// The application's error code of a connection that is closed because all is done: H3_NO_ERROR (RFC 9114, section 8.1), or 0.
pub fn no_error(http: Http) -> u64 {
    match http {
        Http::Hq => 0,
        Http::H3 => 0x100,
    }
}

/// What is wrong with a request, or with the answer to one.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A frame that has no place on the stream of a request: RFC 9114, section 7.2.
    #[error("frame {0:#x} on the stream of a request")]
    Frame(u64),
    /// More bytes than a request or a field section may have here.
    #[error("{what}: found {found} bytes, expected at most {expected}")]
    Long {
        /// Of what.
        what: &'static str,
        /// Bytes.
        found: u64,
        /// The limit.
        expected: u64,
    },
    /// A stream that ends within a frame: RFC 9114, section 7.1.
    #[error("the stream ends within a frame")]
    Cut,
    /// A field section that cannot be read: RFC 9204.
    #[error("field section, byte {offset}: {problem}")]
    Fields {
        /// Bytes before the field.
        offset: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// Bytes on a stream that nothing was asked for on.
    #[error("stream {0}: nothing was asked for on it")]
    Stream(u64),
    /// Not the request of a file.
    #[error("found a request that is not GET and a path")]
    Request,
    /// A file that is not there, with HTTP/0.9.
    #[error("{path}: {error}")]
    File {
        /// Path of the request.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// An answer that is not the file, or a file that cannot be stored.
    #[error(transparent)]
    Download(#[from] DownloadError),
}
