//! One response on its way: headers where there are any, then the file, as flow control and congestion window let it.

use std::{io, path::Path};

use anyhow::{Context, Result};
use quiche::h3::{self, Header, NameValue};
use quiclab_contract::{PartialBody, hq};

use crate::http::Http;

/// H3_REQUEST_CANCELLED, RFC 9114, section 8.1: HTTP/0.9 has no status, so a file that is not there resets its stream.
const NO_ANSWER: u64 = 0x10c;

/// A response that is not yet wholly handed to quiche.
pub struct Response {
    status: u16,
    headers_sent: bool,
    /// `None`: no body.
    body: Option<PartialBody>,
}

impl Response {
    /// Answers the HTTP/3 request in `headers` with a file below `www`.
    pub fn to_headers(headers: &[Header], www: &Path) -> Self {
        let value = |name: &[u8]| headers.iter().find(|header| header.name() == name).map(|header| header.value());
        match (value(b":method"), value(b":path")) {
            (Some(b"GET"), Some(path)) => Self::file(path, www),
            (Some(_), Some(_)) => Self::without_body(405),
            _ => Self::without_body(400),
        }
    }

    /// Answers the HTTP/0.9 request `line` with a file below `www`.
    pub fn to_line(line: &[u8], www: &Path) -> Self {
        match hq::path(line) {
            Some(path) => Self::file(path, www),
            None => Self::without_body(400),
        }
    }

    fn file(path: &[u8], www: &Path) -> Self {
        match PartialBody::open(path, www) {
            Ok(body) => Self { status: 200, headers_sent: false, body: Some(body) },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::without_body(404),
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(path));
                Self::without_body(500)
            }
        }
    }

    fn without_body(status: u16) -> Self {
        Self { status, headers_sent: false, body: None }
    }

    /// Hands over as much as quiche takes now. True: that was all.
    ///
    /// # Errors
    /// Where the stream is gone or the file cannot be read.
    pub fn advance(&mut self, quic: &mut quiche::Connection, http: &mut Http, stream: u64) -> Result<bool> {
        match http {
            Http::H3(http) => self.advance_h3(quic, http, stream),
            Http::Hq => self.advance_hq(quic, stream),
        }
    }

    fn advance_h3(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection, stream: u64) -> Result<bool> {
        let size = self.body.as_ref().map_or(0, PartialBody::size);
        if !self.headers_sent {
            let headers = [
                Header::new(b":status", self.status.to_string().as_bytes()),
                Header::new(b"server", b"quiche"),
                Header::new(b"content-length", size.to_string().as_bytes()),
            ];
            match http.send_response(quic, stream, &headers, size == 0) {
                Ok(()) => self.headers_sent = true,
                Err(h3::Error::StreamBlocked) => return Ok(false),
                Err(error) => return Err(error).context("sending response headers"),
            }
        }
        let Some(body) = self.body.as_mut().filter(|_| size > 0) else {
            return Ok(true);
        };
        loop {
            let (bytes, last) = body.rest()?;
            match http.send_body(quic, stream, bytes, last) {
                Ok(taken) if body.take(taken) => return Ok(true),
                Ok(_) => {}
                Err(h3::Error::Done) => return Ok(false),
                Err(error) => return Err(error).context("sending response body"),
            }
        }
    }

    fn advance_hq(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<bool> {
        let Some(body) = &mut self.body else {
            quic.stream_shutdown(stream, quiche::Shutdown::Write, NO_ANSWER).context("resetting a stream")?;
            return Ok(true);
        };
        loop {
            let (bytes, last) = body.rest()?;
            let length = bytes.len();
            match quic.stream_send(stream, bytes, last) {
                Ok(taken) if body.take(taken) => return Ok(true),
                Ok(taken) if taken < length => return Ok(false),
                Ok(_) => {}
                Err(quiche::Error::Done) => return Ok(false),
                Err(error) => return Err(error).context("sending a file"),
            }
        }
    }
}
