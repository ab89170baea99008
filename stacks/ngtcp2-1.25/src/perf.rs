//! draft-banks-quic-performance: numbers of bytes in both directions, without files.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use anyhow::{Result, bail};
use ngtcp2_sys::ngtcp2_vec;
use quiclab_contract::perf::{CHUNK, COUNTERS, Exchanges, HEAD, Head, LATENCIES, NoHead, ZEROS};

use crate::application::{Application, MAX_PARTS, Piece, Quic};

/// Error code of a stream that has no answer. The draft names none.
const NO_ANSWER: u64 = 1;

/// Streams with something to send, served in the order of their numbers.
#[derive(Default)]
struct Outbox {
    streams: BTreeMap<i64, Outgoing>,
    /// Streams that have something to send and may.
    ready: BTreeSet<i64>,
}

struct Outgoing {
    /// In a place of its own, as ngtcp2 reads its bytes until they are acknowledged. Empty in a response.
    head: Box<[u8]>,
    /// All bytes, with the head's.
    length: u64,
    written: u64,
    done: bool,
}

impl Outgoing {
    fn piece(&self, stream: i64) -> Piece {
        let empty = ngtcp2_vec { base: std::ptr::null_mut(), len: 0 };
        let mut piece = Piece { stream, parts: [empty; MAX_PARTS], count: 0, fin: false };
        let head = self.head.get(self.written.min(HEAD) as usize..).unwrap_or_default();
        let mut left = self.length - self.written;
        let mut add = |bytes: &[u8]| {
            piece.parts[piece.count] = ngtcp2_vec { base: bytes.as_ptr().cast_mut(), len: bytes.len() };
            piece.count += 1;
            left -= bytes.len() as u64;
            (piece.count < MAX_PARTS).then_some(left)
        };
        let mut rest = if head.is_empty() { Some(self.length - self.written) } else { add(head) };
        while let Some(zeros) = rest.filter(|zeros| *zeros > 0) {
            rest = add(&ZEROS[..zeros.min(CHUNK as u64) as usize]);
        }
        piece.fin = left == 0;
        piece
    }
}

impl Outbox {
    fn add(&mut self, stream: i64, head: &[u8], length: u64) {
        self.streams.insert(stream, Outgoing { head: head.into(), length, written: 0, done: false });
        self.ready.insert(stream);
    }

    fn remove(&mut self, stream: i64) {
        self.ready.remove(&stream);
        self.streams.remove(&stream);
    }

    fn poll_piece(&self) -> Option<Piece> {
        let stream = *self.ready.first()?;
        Some(self.streams.get(&stream)?.piece(stream))
    }

    fn on_written(&mut self, stream: i64, bytes: usize) {
        if let Some(outgoing) = self.streams.get_mut(&stream) {
            outgoing.written += bytes as u64;
            outgoing.done = outgoing.written == outgoing.length;
            if outgoing.done {
                self.ready.remove(&stream);
            }
        }
    }

    fn on_unblocked(&mut self, stream: i64) {
        if self.streams.get(&stream).is_some_and(|outgoing| !outgoing.done) {
            self.ready.insert(stream);
        }
    }
}

/// Answers with as many bytes as it is asked for.
#[derive(Default)]
pub struct Server {
    /// Requests that are not complete.
    heads: BTreeMap<i64, Head>,
    outbox: Outbox,
}

impl Application for Server {
    fn on_completed(&mut self) {
        COUNTERS.connected();
    }

    fn open(&mut self, _quic: Quic) -> Result<()> {
        Ok(())
    }

    fn on_data(&mut self, quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()> {
        self.heads.entry(stream).or_default().take(data);
        if !fin {
            return Ok(());
        }
        let head = self.heads.remove(&stream).unwrap_or_default();
        // A stream of one direction has no answer. The second bit of its number: RFC 9000, section 2.1.
        if stream & 2 != 0 {
            return Ok(());
        }
        match head.response() {
            Some(length) => self.outbox.add(stream, &[], length),
            None => {
                eprintln!("stream {stream}: {NoHead}");
                quic.reset(stream, NO_ANSWER);
            }
        }
        Ok(())
    }

    fn on_reset(&mut self, stream: i64, _code: u64) -> Result<()> {
        self.heads.remove(&stream);
        Ok(())
    }

    fn on_closed(&mut self, stream: i64) -> Result<()> {
        self.heads.remove(&stream);
        self.outbox.remove(stream);
        COUNTERS.exchanged();
        Ok(())
    }

    fn on_acked(&mut self, _stream: i64, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn poll_piece(&mut self) -> Result<Option<Piece>> {
        Ok(self.outbox.poll_piece())
    }

    fn on_written(&mut self, piece: &Piece, bytes: usize) -> Result<()> {
        self.outbox.on_written(piece.stream, bytes);
        COUNTERS.sent(bytes as u64);
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

/// Sends requests and counts what comes back.
pub struct Client {
    exchanges: Exchanges,
    /// When the connection began, if its handshake is what is measured.
    began: Option<Instant>,
    outbox: Outbox,
}

impl Client {
    /// `began`: when the connection did, if it is to be known how long its handshake took.
    pub fn new(exchanges: Exchanges, began: Option<Instant>) -> Self {
        Self { exchanges, began, outbox: Outbox::default() }
    }
}

impl Application for Client {
    fn on_completed(&mut self) {
        COUNTERS.connected();
        if let Some(began) = self.began {
            LATENCIES.since(began);
        }
    }

    fn open(&mut self, quic: Quic) -> Result<()> {
        while self.exchanges.wants_stream() && quic.streams_left() > 0 {
            let Some(stream) = quic.open_bidirectional()? else { break };
            let sizes = self.exchanges.next_sizes();
            self.outbox.add(stream, &sizes.head(), sizes.request);
            self.exchanges.opened(stream.cast_unsigned());
        }
        Ok(())
    }

    fn on_data(&mut self, _quic: Quic, stream: i64, data: &[u8], fin: bool) -> Result<()> {
        self.exchanges.on_data(stream.cast_unsigned(), data.len())?;
        if fin {
            self.exchanges.on_end(stream.cast_unsigned())?;
        }
        Ok(())
    }

    fn on_reset(&mut self, stream: i64, code: u64) -> Result<()> {
        bail!("the server reset stream {stream} with {code:#x}")
    }

    fn on_closed(&mut self, stream: i64) -> Result<()> {
        self.outbox.remove(stream);
        if self.exchanges.is_running(stream.cast_unsigned()) {
            bail!("stream {stream} was closed early");
        }
        Ok(())
    }

    fn on_acked(&mut self, _stream: i64, _bytes: u64) -> Result<()> {
        Ok(())
    }

    fn poll_piece(&mut self) -> Result<Option<Piece>> {
        Ok(self.outbox.poll_piece())
    }

    fn on_written(&mut self, piece: &Piece, bytes: usize) -> Result<()> {
        self.outbox.on_written(piece.stream, bytes);
        let (stream, mut left) = (piece.stream.cast_unsigned(), bytes);
        // Head and zeros are counted one after the other.
        while let Some((next, _)) = self.exchanges.rest(stream).filter(|_| left > 0) {
            let taken = next.bytes().len().min(left);
            self.exchanges.take(stream, taken);
            left -= taken;
        }
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
        self.exchanges.are_complete()
    }

    fn next_due(&self) -> Option<Instant> {
        self.exchanges.next_due()
    }
}
