//! The requests of one connection and what has come of them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use quiche::h3::{self, Header, NameValue};
use quiclab_contract::{Downloads, Request, hq};

use crate::{http::Http, settings::Settings};

/// The requests of one connection and what has come of them.
pub struct Requests {
    downloads: Downloads,
    /// Bytes of HTTP/0.9 requests that quiche has not taken yet, by stream.
    unsent: BTreeMap<u64, Vec<u8>>,
    /// The stream of the next HTTP/0.9 request.
    next_stream: u64,
}

impl Requests {
    pub fn new(requests: &[Request], settings: &Settings) -> Self {
        // Stored as it comes.
        Self { downloads: Downloads::new(requests, settings, 0), unsent: BTreeMap::new(), next_stream: 0 }
    }

    pub fn are_complete(&self) -> bool {
        self.downloads.are_complete()
    }

    /// Sends as many requests as the settings and the server allow.
    ///
    /// # Errors
    /// Where quiche refuses one for another reason than a limit.
    pub fn send(&mut self, quic: &mut quiche::Connection, http: &mut Http) -> Result<()> {
        self.send_rest(quic)?;
        while let Some(request) = self.downloads.next() {
            let stream = match http {
                Http::H3(http) => {
                    start_h3(quic, http, request).with_context(|| format!("requesting {}", request.path))?
                }
                // Streams that were begun by `send_rest` are counted by quiche.
                Http::Hq if quic.peer_streams_left_bidi() == 0 => None,
                Http::Hq => {
                    let stream = self.next_stream;
                    // Client-initiated and bidirectional: RFC 9000, section 2.1.
                    self.next_stream += 4;
                    self.unsent.insert(stream, hq::line(request));
                    Some(stream)
                }
            };
            let Some(stream) = stream else { break };
            self.downloads.sent(stream);
            self.send_rest(quic)?;
        }
        Ok(())
    }

    /// Hands over what is left of HTTP/0.9 requests.
    fn send_rest(&mut self, quic: &mut quiche::Connection) -> Result<()> {
        for (&stream, line) in &mut self.unsent {
            match quic.stream_send(stream, line, true) {
                Ok(taken) => drop(line.drain(..taken)),
                Err(quiche::Error::Done) => {}
                Err(error) => return Err(error).with_context(|| format!("requesting on stream {stream}")),
            }
        }
        self.unsent.retain(|_, line| !line.is_empty());
        Ok(())
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
            let Some((download, folder)) = self.downloads.running(stream) else { continue };
            match event {
                h3::Event::Headers { list, .. } => {
                    let value = |name: &str| {
                        let header = list.iter().find(|header| header.name() == name.as_bytes());
                        header.map(|header| header.value())
                    };
                    download.on_headers(value, folder)?;
                }
                h3::Event::Data => {
                    while let Ok(length) = http.recv_body(quic, stream, buffer) {
                        download.store(&buffer[..length])?;
                    }
                }
                h3::Event::Finished => self.downloads.finish(stream)?,
                h3::Event::Reset(code) => {
                    bail!("{}: the server reset the stream with {code:#x}", download.request.path)
                }
                _ => {}
            }
        }
    }

    fn take_hq(&mut self, quic: &mut quiche::Connection, buffer: &mut [u8]) -> Result<()> {
        for stream in quic.readable() {
            let Some((download, folder)) = self.downloads.running(stream) else { continue };
            loop {
                let (length, finished) = match quic.stream_recv(stream, buffer) {
                    Ok(received) => received,
                    Err(quiche::Error::Done) => break,
                    Err(error) => return Err(error).with_context(|| format!("{}: receiving", download.request.path)),
                };
                download.create(folder)?;
                download.store(&buffer[..length])?;
                if finished {
                    self.downloads.finish(stream)?;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Sends an HTTP/3 request. `None`: a limit forbids it now.
fn start_h3(quic: &mut quiche::Connection, http: &mut h3::Connection, request: &Request) -> Result<Option<u64>> {
    let headers = [
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", request.authority().as_bytes()),
        Header::new(b":path", request.path.as_bytes()),
        Header::new(b"user-agent", b"quiche"),
    ];
    match http.send_request(quic, &headers, true) {
        Ok(stream) => Ok(Some(stream)),
        Err(h3::Error::StreamBlocked | h3::Error::TransportError(quiche::Error::StreamLimit)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
