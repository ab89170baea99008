//! HTTP/0.9 over QUIC, as the QUIC Interop Runner uses it: a line of request, a file for an answer.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Result, bail, ensure};
use ngtcp2_sys::ngtcp2_vec;
use quiclab_contract::{Downloads, Request, hq};

use crate::{
    application::{Application, MAX_PARTS, Piece, Quic},
    files::Body,
    settings::Settings,
};

/// Bytes of a file that are collected before they are written.
const STORE_BUFFER: usize = 64 * 1024;

/// Longest request, in bytes.
const MAX_REQUEST: usize = 4096;

/// Error code of a stream that has no answer. HTTP/0.9 names none.
const NO_ANSWER: u64 = 1;

/// Streams with something to send, served in the order of their numbers.
#[derive(Default)]
struct Outbox {
    streams: BTreeMap<i64, Outgoing>,
    /// Streams that have something to send and may.
    ready: BTreeSet<i64>,
}

struct Outgoing {
    data: Data,
    written: usize,
    done: bool,
}

enum Data {
    Line(Vec<u8>),
    File(Body),
}

impl Data {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Line(line) => line,
            Self::File(body) => body.bytes(),
        }
    }
}

impl Outbox {
    fn add(&mut self, stream: i64, data: Data) {
        self.streams.insert(stream, Outgoing { data, written: 0, done: false });
        self.ready.insert(stream);
    }

    fn remove(&mut self, stream: i64) {
        self.ready.remove(&stream);
        self.streams.remove(&stream);
    }

    fn poll_piece(&self) -> Option<Piece> {
        let stream = *self.ready.first()?;
        let outgoing = self.streams.get(&stream)?;
        let rest = &outgoing.data.bytes()[outgoing.written..];
        let part = ngtcp2_vec { base: rest.as_ptr().cast_mut(), len: rest.len() };
        Some(Piece { stream, parts: [part; MAX_PARTS], count: 1, fin: true })
    }

    fn on_written(&mut self, piece: &Piece, bytes: usize) {
        if let Some(outgoing) = self.streams.get_mut(&piece.stream) {
            outgoing.written += bytes;
            outgoing.done = outgoing.written == outgoing.data.bytes().len();
            if outgoing.done {
                self.ready.remove(&piece.stream);
            }
        }
    }

    fn on_unblocked(&mut self, stream: i64) {
        if self.streams.get(&stream).is_some_and(|outgoing| !outgoing.done) {
            self.ready.insert(stream);
        }
    }
}

/// Answers from a folder.
pub struct Server {
    www: PathBuf,
    /// Requests that are not whole yet.
    requests: BTreeMap<i64, Vec<u8>>,
    outbox: Outbox,
}

impl Server {
    /// Answers from the settings' folder.
    pub fn new(settings: &Settings) -> Self {
        Self { www: settings.www.clone(), requests: BTreeMap::new(), outbox: Outbox::default() }
    }
}

impl Application for Server {
    fn open(&mut self, _quic: Quic) -> Result<()> {
        Ok(())
    }

    fn on_data(&mut self, quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()> {
        let request = self.requests.entry(stream).or_default();
        request.extend_from_slice(data);
        ensure!(request.len() <= MAX_REQUEST, "a request of more than {MAX_REQUEST} bytes");
        if !fin {
            return Ok(());
        }
        let line = self.requests.remove(&stream).unwrap_or_default();
        let path = hq::path(&line).unwrap_or_default();
        match Body::open(path, &self.www) {
            Ok(body) => self.outbox.add(stream, Data::File(body)),
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(path));
                quic.reset(stream, NO_ANSWER);
            }
        }
        Ok(())
    }

    fn on_reset(&mut self, stream: i64, _code: u64) -> Result<()> {
        self.requests.remove(&stream);
        Ok(())
    }

    fn on_closed(&mut self, stream: i64) -> Result<()> {
        self.requests.remove(&stream);
        self.outbox.remove(stream);
        Ok(())
    }

    fn on_acked(&mut self, _stream: i64, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn poll_piece(&mut self) -> Result<Option<Piece>> {
        Ok(self.outbox.poll_piece())
    }

    fn on_written(&mut self, piece: &Piece, bytes: usize) -> Result<()> {
        self.outbox.on_written(piece, bytes);
        Ok(())
    }

    fn on_blocked(&mut self, stream: i64) {
        self.outbox.ready.remove(&stream);
    }

    fn on_unblocked(&mut self, stream: i64) {
        self.outbox.on_unblocked(stream);
    }

    fn on_shut(&mut self, stream: i64) {
        self.outbox.ready.remove(&stream);
    }

    fn is_complete(&self) -> bool {
        false
    }
}

/// Fetches files.
pub struct Client {
    downloads: Downloads,
    outbox: Outbox,
}

impl Client {
    /// Fetches `requests` into the settings' folder.
    pub fn new(requests: &[Request], settings: &Settings) -> Self {
        Self { downloads: Downloads::new(requests, settings, STORE_BUFFER), outbox: Outbox::default() }
    }
}

impl Application for Client {
    fn open(&mut self, quic: Quic) -> Result<()> {
        while let Some(request) = self.downloads.next().filter(|_| quic.streams_left() > 0) {
            let Some(stream) = quic.open_bidirectional()? else { break };
            self.outbox.add(stream, Data::Line(hq::line(request)));
            self.downloads.sent(stream.cast_unsigned());
        }
        Ok(())
    }

    fn on_data(&mut self, _quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()> {
        let stream = stream.cast_unsigned();
        let Some((download, folder)) = self.downloads.running(stream) else { return Ok(()) };
        download.create(folder)?;
        download.store(data)?;
        if fin {
            self.downloads.finish(stream)?;
        }
        Ok(())
    }

    fn on_reset(&mut self, stream: i64, code: u64) -> Result<()> {
        match self.downloads.running(stream.cast_unsigned()) {
            Some((download, _)) => bail!("{}: the server reset the stream with {code:#x}", download.request.path),
            None => Ok(()),
        }
    }

    fn on_closed(&mut self, stream: i64) -> Result<()> {
        self.outbox.remove(stream);
        match self.downloads.running(stream.cast_unsigned()) {
            Some((download, _)) => bail!("{}: the stream was closed early", download.request.path),
            None => Ok(()),
        }
    }

    fn on_acked(&mut self, _stream: i64, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn poll_piece(&mut self) -> Result<Option<Piece>> {
        Ok(self.outbox.poll_piece())
    }

    fn on_written(&mut self, piece: &Piece, bytes: usize) -> Result<()> {
        self.outbox.on_written(piece, bytes);
        Ok(())
    }

    fn on_blocked(&mut self, stream: i64) {
        self.outbox.ready.remove(&stream);
    }

    fn on_unblocked(&mut self, stream: i64) {
        self.outbox.on_unblocked(stream);
    }

    fn on_shut(&mut self, stream: i64) {
        self.outbox.ready.remove(&stream);
    }

    fn is_complete(&self) -> bool {
        self.downloads.are_complete()
    }
}
