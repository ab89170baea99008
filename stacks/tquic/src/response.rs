//! One response on its way: headers where there are any, then the file, as flow control and congestion window let it.

use std::{io, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_contract::hq;
use tquic::{
    Connection, Error, Shutdown,
    h3::{Header, Http3Error, NameValue, connection::Http3Connection},
};

use crate::files::Body;

/// A response that is not yet wholly handed to tquic.
pub struct Response {
    /// HTTP/3 headers that were not sent yet.
    headers: Option<Vec<Header>>,
    /// `None`: no body.
    body: Option<Body>,
}

impl Response {
    /// Answers the HTTP/3 request in `headers` with a file below `www`.
    pub fn to_h3(headers: &[Header], www: &Path) -> Self {
        let value = |name: &[u8]| headers.iter().find(|header| header.name() == name).map(|header| header.value());
        let (status, body) = match (value(b":method"), value(b":path")) {
            (Some(b"GET"), Some(path)) => match Body::open(path, www) {
                Ok(body) => (200, Some(body)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => (404, None),
                Err(error) => {
                    eprintln!("{}: {error}", String::from_utf8_lossy(path));
                    (500, None)
                }
            },
            (Some(_), Some(_)) => (405, None),
            _ => (400, None),
        };
        let size = body.as_ref().map_or(0, Body::size);
        let headers = vec![
            Header::new(b":status", status.to_string().as_bytes()),
            Header::new(b"server", b"tquic"),
            Header::new(b"content-length", size.to_string().as_bytes()),
        ];
        Self { headers: Some(headers), body: body.filter(|body| body.size() > 0) }
    }

    /// Answers the HTTP/0.9 request `line`, or resets the stream where there is nothing to answer with.
    pub fn to_hq(line: &[u8], www: &Path, quic: &mut Connection, stream: u64) -> Option<Self> {
        let path = hq::path(line).unwrap_or_default();
        match Body::open(path, www) {
            Ok(body) => Some(Self { headers: None, body: Some(body) }),
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(path));
                let _ = quic.stream_shutdown(stream, Shutdown::Write, 1);
                None
            }
        }
    }

    /// Hands over as much as tquic takes now. True: that was all. `http`: `None` with HTTP/0.9.
    ///
    /// # Errors
    /// Where the stream is gone or the file cannot be read.
    pub fn advance(
        &mut self,
        quic: &mut Connection,
        mut http: Option<&mut Http3Connection>,
        stream: u64,
    ) -> Result<bool> {
        if let Some(headers) = &self.headers {
            let http = http.as_deref_mut().context("headers belong to HTTP/3")?;
            match http.send_headers(quic, stream, headers, self.body.is_none()) {
                Ok(()) => self.headers = None,
                Err(Http3Error::StreamBlocked) => return Ok(false),
                Err(error) => bail!("sending response headers: {error:?}"),
            }
        }
        let Some(body) = &mut self.body else { return Ok(true) };
        loop {
            let (bytes, last) = body.rest()?;
            let length = bytes.len();
            let taken = match http.as_deref_mut() {
                Some(http) => match http.send_body(quic, stream, bytes, last) {
                    Ok(taken) => taken,
                    // What NoError means: headers that had waited are sent now.
                    Err(Http3Error::NoError) => continue,
                    Err(Http3Error::Done) => return Ok(false),
                    Err(error) => bail!("sending response body: {error:?}"),
                },
                None => match quic.stream_write(stream, bytes, last) {
                    Ok(taken) => taken,
                    Err(Error::Done) => 0,
                    Err(error) => bail!("sending: {error:?}"),
                },
            };
            if body.take(taken) {
                let _ = quic.stream_want_write(stream, false);
                return Ok(true);
            }
            if taken < length {
                let _ = quic.stream_want_write(stream, true);
                return Ok(false);
            }
        }
    }
}
