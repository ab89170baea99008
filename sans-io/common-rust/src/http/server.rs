//! The server's side: a request, and a file in answer.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use super::{
    HttpError,
    frames::{self, Frames, Part},
    qpack,
};
use crate::contract::{Body, Http, hq};

/// Longest request of HTTP/0.9, in bytes.
const REQUEST_LIMIT: usize = 4096;

/// Collects what comes on the stream of a request.
#[derive(Debug)]
pub struct RequestReader(Kind);

#[derive(Debug)]
enum Kind {
    Hq(Vec<u8>),
    H3 { frames: Frames, fields: Option<qpack::Fields> },
}

impl RequestReader {
    /// A stream on which nothing has come.
    pub fn new(http: Http) -> Self {
        Self(match http {
            Http::Hq => Kind::Hq(Vec::new()),
            Http::H3 => Kind::H3 { frames: Frames::new(), fields: None },
        })
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// Where they are no request.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<(), HttpError> {
        match &mut self.0 {
            Kind::Hq(line) => {
                line.extend_from_slice(bytes);
                let (found, expected) = (line.len() as u64, REQUEST_LIMIT as u64);
                if found > expected {
                    return Err(HttpError::Long { what: "request", found, expected });
                }
            }
            Kind::H3 { frames, fields } => {
                while let Some(part) = frames.next(&mut bytes)? {
                    // Bodies and trailers of requests mean nothing here.
                    if let (Part::Headers(block), None) = (part, &fields) {
                        *fields = Some(qpack::read(&block)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// The stream is over: answers with the file that the request names below `www`. With HTTP/3 there is always an answer
    /// to a request.
    ///
    /// # Errors
    /// Where there is no request; with HTTP/0.9, where there is no such file: the stream is to be reset with
    /// [`super::NO_FILE`].
    pub fn answer(self, www: &Path) -> Result<Response, HttpError> {
        match self.0 {
            Kind::Hq(line) => {
                let path = hq::path(&line).ok_or(HttpError::Request)?;
                let body = Body::open(path, www);
                let path = String::from_utf8_lossy(path).into_owned();
                let body = body.map_err(|error| HttpError::File { path, error })?;
                Ok(Response { head: None, body: Some(body) })
            }
            Kind::H3 { frames, fields } => {
                frames.end()?;
                let fields = fields.ok_or(HttpError::Request)?;
                let field = |name| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_slice());
                let (method, path) = (field(":method"), field(":path"));
                let (status, body) = match (method, path.map(|path| Body::open(path, www))) {
                    (Some(b"GET"), Some(Ok(body))) => (200, Some(body)),
                    (Some(b"GET"), Some(Err(error))) if error.kind() == ErrorKind::NotFound => (404, None),
                    (Some(b"GET"), Some(Err(error))) => {
                        eprintln!("{}: {error}", String::from_utf8_lossy(path.unwrap_or_default()));
                        (500, None)
                    }
                    (Some(_), Some(_)) => (405, None),
                    _ => return Err(HttpError::Request),
                };
                Ok(Response { head: Some(head(status, body.as_ref())), body })
            }
        }
    }
}

/// The HEADERS frame, and the beginning of the one DATA frame where there is a file of at least one byte.
fn head(status: u16, body: Option<&Body>) -> Vec<u8> {
    let size = body.map_or(0, Body::size);
    let mut head = frames::headers(&qpack::response(status, size));
    if size > 0 {
        frames::write_data_header(&mut head, size);
    }
    head
}

/// What a server sends on the stream of a request.
pub struct Response {
    head: Option<Vec<u8>>,
    body: Option<Body>,
}

impl Response {
    /// The next bytes, at least one; `None`: the stream ends.
    ///
    /// # Errors
    /// Where the file cannot be read or became shorter.
    pub fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.head.take() {
            Some(head) => Ok(Some(head)),
            None => self.body.as_mut().map_or(Ok(None), Body::next_chunk),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
