//! The requests of one connection and what has come of them.

use std::{collections::BTreeMap, fs::File, io::Write, path::Path};

use anyhow::{Context, Result, bail, ensure};
use quiche::h3::{self, Header, NameValue};

use crate::{http::Http, request::Request, settings::Settings};

pub struct Downloads<'a> {
    /// Not sent yet, last one first.
    waiting: Vec<&'a Request>,
    /// By stream.
    running: BTreeMap<u64, Download<'a>>,
    /// Most requests at the same time, beside what the server allows.
    most: usize,
    /// The stream of the next HTTP/0.9 request.
    next_stream: u64,
    folder: &'a Path,
}

struct Download<'a> {
    request: &'a Request,
    /// Bytes of an HTTP/0.9 request that quiche has not taken yet.
    unsent: Vec<u8>,
    /// `None` until the response begins.
    file: Option<File>,
    /// Bytes announced by content-length; `None`: nothing announced.
    expected: Option<u64>,
    received: u64,
}

impl<'a> Downloads<'a> {
    pub fn new(requests: &'a [Request], settings: &'a Settings) -> Self {
        let waiting = requests.iter().rev().collect();
        let most = settings.streams.unwrap_or(usize::MAX);
        Self { waiting, running: BTreeMap::new(), most, next_stream: 0, folder: &settings.downloads }
    }

    pub fn are_complete(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Sends as many requests as the settings and the server allow.
    ///
    /// # Errors
    /// Where quiche refuses one for another reason than a limit.
    pub fn request(&mut self, quic: &mut quiche::Connection, http: &mut Http) -> Result<()> {
        for (&stream, download) in &mut self.running {
            download.send_rest(quic, stream)?;
        }
        while self.running.len() < self.most {
            let Some(&request) = self.waiting.last() else { break };
            let started = match http {
                Http::H3(http) => start_h3(quic, http, request),
                Http::Hq => self.start_hq(quic, request),
            };
            let Some((stream, unsent)) = started.with_context(|| format!("requesting {}", request.path))? else {
                break;
            };
            self.waiting.pop();
            let mut download = Download { request, unsent, file: None, expected: None, received: 0 };
            download.send_rest(quic, stream)?;
            self.running.insert(stream, download);
        }
        Ok(())
    }

    /// A stream for an HTTP/0.9 request, and its bytes. `None`: the server allows no more streams now.
    fn start_hq(&mut self, quic: &quiche::Connection, request: &Request) -> Result<Option<(u64, Vec<u8>)>> {
        // Streams that were begun by `send_rest` are counted by quiche.
        if quic.peer_streams_left_bidi() == 0 {
            return Ok(None);
        }
        let stream = self.next_stream;
        // Client-initiated and bidirectional: RFC 9000, section 2.1.
        self.next_stream += 4;
        Ok(Some((stream, format!("GET {}\r\n", request.path).into_bytes())))
    }

    /// Stores what has arrived.
    ///
    /// # Errors
    /// Where an answer is not the right one, or cannot be stored.
    pub fn take(&mut self, quic: &mut quiche::Connection, http: &mut Http, buffer: &mut [u8]) -> Result<()> {
        match http {
            Http::H3(http) => self.take_h3(quic, http, buffer),
            Http::Hq => self.take_hq(quic, buffer),
        }
    }

    fn take_h3(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection, buffer: &mut [u8]) -> Result<()> {
        loop {
            let (stream, event) = match http.poll(quic) {
                Ok(event) => event,
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("HTTP/3"),
            };
            let Some(download) = self.running.get_mut(&stream) else { continue };
            let path = &download.request.path;
            match event {
                h3::Event::Headers { list, .. } => download.on_headers(&list, self.folder)?,
                h3::Event::Data => {
                    ensure!(download.file.is_some(), "{path}: body before headers");
                    while let Ok(length) = http.recv_body(quic, stream, buffer) {
                        download.store(&buffer[..length])?;
                    }
                }
                h3::Event::Finished => {
                    if let Some(expected) = download.expected.filter(|&expected| expected != download.received) {
                        bail!("{path}: found {} bytes, expected {expected}", download.received);
                    }
                    ensure!(download.file.is_some(), "{path}: ended without a response");
                    self.running.remove(&stream);
                }
                h3::Event::Reset(code) => bail!("{path}: the server reset the stream with {code:#x}"),
                _ => {}
            }
        }
    }

    fn take_hq(&mut self, quic: &mut quiche::Connection, buffer: &mut [u8]) -> Result<()> {
        for stream in quic.readable() {
            let Some(download) = self.running.get_mut(&stream) else { continue };
            loop {
                let (length, finished) = match quic.stream_recv(stream, buffer) {
                    Ok(received) => received,
                    Err(quiche::Error::Done) => break,
                    Err(error) => return Err(error).with_context(|| format!("{}: receiving", download.request.path)),
                };
                download.create(self.folder)?;
                download.store(&buffer[..length])?;
                if finished {
                    self.running.remove(&stream);
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Sends an HTTP/3 request. `None`: a limit forbids it now.
fn start_h3(
    quic: &mut quiche::Connection,
    http: &mut h3::Connection,
    request: &Request,
) -> Result<Option<(u64, Vec<u8>)>> {
    let headers = [
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", request.authority().as_bytes()),
        Header::new(b":path", request.path.as_bytes()),
        Header::new(b"user-agent", b"quiche"),
    ];
    match http.send_request(quic, &headers, true) {
        Ok(stream) => Ok(Some((stream, Vec::new()))),
        Err(h3::Error::StreamBlocked | h3::Error::TransportError(quiche::Error::StreamLimit)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Download<'_> {
    /// Hands over what is left of an HTTP/0.9 request.
    fn send_rest(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        match quic.stream_send(stream, &self.unsent, true) {
            Ok(taken) => {
                self.unsent.drain(..taken);
                Ok(())
            }
            Err(quiche::Error::Done) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("requesting {}", self.request.path)),
        }
    }

    fn on_headers(&mut self, headers: &[Header], folder: &Path) -> Result<()> {
        let path = &self.request.path;
        let value = |name: &[u8]| {
            let header = headers.iter().find(|header| header.name() == name)?;
            std::str::from_utf8(header.value()).ok()
        };
        // Interim responses (RFC 9114, section 4.1) and trailers carry no status of interest.
        let Some(status) = value(b":status").filter(|status| !status.starts_with('1')) else {
            return Ok(());
        };
        ensure!(status == "200", "{path}: found status {status}, expected 200");
        self.expected = match value(b"content-length") {
            Some(text) => Some(text.parse().with_context(|| format!("{path}: content-length {text:?}"))?),
            None => None,
        };
        self.create(folder)
    }

    /// Creates the file, unless it is there.
    fn create(&mut self, folder: &Path) -> Result<()> {
        if self.file.is_none() {
            let stored = folder.join(&self.request.file_name);
            self.file = Some(File::create(&stored).with_context(|| format!("creating {}", stored.display()))?);
        }
        Ok(())
    }

    fn store(&mut self, bytes: &[u8]) -> Result<()> {
        let path = &self.request.path;
        let file = self.file.as_mut().with_context(|| format!("{path}: body before headers"))?;
        file.write_all(bytes).with_context(|| format!("{path}: storing"))?;
        self.received += bytes.len() as u64;
        Ok(())
    }
}
