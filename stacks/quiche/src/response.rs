//! One HTTP/3 response on its way: headers, then the file, as flow control and congestion window let it.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use anyhow::{Context, Result, bail};
use quiche::h3::{self, Header, NameValue};

/// Bytes read from the file at once.
const CHUNK: usize = 64 * 1024;

/// A response that is not yet wholly handed to quiche.
pub struct Response {
    status: u16,
    headers_sent: bool,
    /// `None`: no body.
    body: Option<Body>,
}

struct Body {
    file: File,
    /// Bytes of the file.
    size: u64,
    /// Bytes of the file that were read into `chunk` so far.
    read: u64,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that quiche has taken.
    taken: usize,
}

impl Response {
    /// Answers the request in `headers` with a file below `www`.
    pub fn to(headers: &[Header], www: &Path) -> Self {
        let value = |name: &[u8]| headers.iter().find(|header| header.name() == name).map(|header| header.value());
        let (status, body) = match (value(b":method"), value(b":path")) {
            (Some(b"GET"), Some(path)) => match open(path, www) {
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
        Self { status, headers_sent: false, body }
    }

    /// Hands over as much as quiche takes now. True: that was all.
    ///
    /// # Errors
    /// Where the stream is gone or the file cannot be read.
    pub fn advance(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection, stream: u64) -> Result<bool> {
        if !self.headers_sent {
            let size = self.body.as_ref().map_or(0, |body| body.size);
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
        match &mut self.body {
            Some(body) if body.size > 0 => body.advance(quic, http, stream),
            _ => Ok(true),
        }
    }
}

impl Body {
    fn advance(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection, stream: u64) -> Result<bool> {
        loop {
            if self.taken == self.chunk.len() {
                if self.read == self.size {
                    return Ok(true);
                }
                self.read_chunk()?;
            }
            let last = self.read == self.size;
            match http.send_body(quic, stream, &self.chunk[self.taken..], last) {
                Ok(taken) => self.taken += taken,
                Err(h3::Error::Done) => return Ok(false),
                Err(error) => return Err(error).context("sending response body"),
            }
        }
    }

    fn read_chunk(&mut self) -> Result<()> {
        self.chunk.resize((self.size - self.read).min(CHUNK as u64) as usize, 0);
        self.taken = 0;
        let read = self.file.read_at(&mut self.chunk, self.read)?;
        if read == 0 {
            bail!("the file became shorter: found {} bytes, expected {}", self.read, self.size);
        }
        self.chunk.truncate(read);
        self.read += read as u64;
        Ok(())
    }
}

/// Opens the file that `path` names below `www`; what would lead out of `www` is not found.
fn open(path: &[u8], www: &Path) -> io::Result<Body> {
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let path = std::str::from_utf8(path).ok().and_then(|path| path.strip_prefix('/')).ok_or_else(not_found)?;
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(not_found());
    }
    let file = File::open(www.join(path))?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(not_found());
    }
    Ok(Body { file, size: facts.len(), read: 0, chunk: Vec::new(), taken: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_the_served_folder() {
        let www = std::env::temp_dir();
        for path in ["/../etc/passwd", "//etc/passwd", "/./etc", "etc/passwd", "/", "/no-such-file-here"] {
            assert_eq!(
                open(path.as_bytes(), &www).err().map(|error| error.kind()),
                Some(io::ErrorKind::NotFound),
                "{path}"
            );
        }
    }
}
