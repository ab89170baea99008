//! The streams of one connection, for stacks that are asked what has happened: [`Exchanges`] of a client, [`Answers`] of a server.

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use super::{CHUNK, COUNTERS, HEAD, Head, LATENCIES, Load, Schedule, Sizes, WrongLength, ZEROS, check};

/// What one end sends on a stream: a head, which only a client has, then zeros. Nothing of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// What is not handed over yet.
    head: Vec<u8>,
    zeros: u64,
    /// True once the end of the stream is handed over too.
    done: bool,
}

impl Outgoing {
    /// A request.
    pub fn request(sizes: Sizes) -> Self {
        Self { head: sizes.head().to_vec(), zeros: sizes.behind_head(), done: false }
    }

    /// A response of so many bytes.
    pub fn response(bytes: u64) -> Self {
        Self { head: Vec::new(), zeros: bytes, done: false }
    }

    /// What to hand over next, and whether the end of the stream is behind it. Empty only where nothing but that is left.
    pub fn rest(&self) -> (Piece<'_>, bool) {
        if self.head.is_empty() {
            (Piece::Zeros(&ZEROS[..self.zeros.min(CHUNK as u64) as usize]), self.zeros <= CHUNK as u64)
        } else {
            (Piece::Head(&self.head), self.zeros == 0)
        }
    }

    /// Counts `bytes` of what [`Self::rest`] gave as handed over, with the end of the stream where that was all. True: that was all.
    pub fn take(&mut self, bytes: usize) -> bool {
        COUNTERS.sent(bytes as u64);
        if self.head.is_empty() {
            self.zeros = self.zeros.saturating_sub(bytes as u64);
        } else {
            self.head.drain(..bytes.min(self.head.len()));
        }
        self.done = self.head.is_empty() && self.zeros == 0;
        self.done
    }

    /// True once everything is handed over.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

/// The next bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Of the first 8 bytes of a request.
    Head(&'a [u8]),
    /// For a stack that takes bytes without a copy.
    Zeros(&'static [u8]),
}

impl<'a> Piece<'a> {
    /// For a stack that copies.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Head(bytes) | Self::Zeros(bytes) => bytes,
        }
    }
}

/// The streams of a client's connection. At most as many run as the settings say.
#[derive(Debug)]
pub struct Exchanges {
    /// What the streams carry, in turns.
    sizes: Vec<Sizes>,
    /// True: what is over is followed by another, until the time is over.
    repeats: bool,
    /// Streams opened so far.
    opened: usize,
    /// Streams that are not opened yet.
    waiting: usize,
    /// By number. A stream is over when both of its directions are.
    running: BTreeMap<u64, Exchange>,
    /// Most streams at the same time, beside what the server allows.
    most: usize,
    /// How long all of it may go on from the first stream on.
    time: Option<Duration>,
    /// When that is over.
    deadline: Option<Instant>,
    /// Time from the beginning of a stream to that of the next one; `None`: streams begin when others are over.
    period: Option<Duration>,
    /// When streams begin, from the first one on.
    schedule: Option<Schedule>,
    /// True once [`Self::wants_stream`] has asked for the next stream, which was not opened yet.
    asks: Cell<bool>,
}

#[derive(Debug)]
struct Exchange {
    sizes: Sizes,
    began: Instant,
    outgoing: Outgoing,
    received: u64,
    ended: bool,
}

impl Exchanges {
    /// None of `streams` is opened yet. `most`: how many may be open at once, `None`: all. `time`: when to stop, counted from
    /// the first stream, `None`: when all streams are over.
    pub fn new(sizes: Sizes, streams: usize, most: Option<usize>, time: Option<Duration>) -> Self {
        let most = most.unwrap_or(usize::MAX);
        Self {
            sizes: vec![sizes],
            repeats: false,
            opened: 0,
            waiting: streams,
            running: BTreeMap::new(),
            most,
            time,
            deadline: None,
            period: None,
            schedule: None,
            asks: Cell::new(false),
        }
    }

    /// The same streams under another load. One of [`Load::Handshakes`] is what each connection has: a single stream, as small as can be,
    /// without a time of its own.
    #[must_use]
    pub fn with(mut self, load: Load) -> Self {
        match load {
            Load::Bulk | Load::Periodic => {}
            Load::Bidirectional => {
                self.sizes = self.sizes[0].apart().to_vec();
                self.waiting *= 2;
            }
            Load::Requests => {
                self.repeats = true;
                self.most = self.most.min(self.waiting);
            }
            Load::Handshakes => return Self::new(Sizes::SMALLEST, 1, None, None),
        }
        self
    }

    /// The same streams, each this time after the one before began, whether that is over or not.
    #[must_use]
    pub fn every(mut self, period: Option<Duration>) -> Self {
        self.period = period;
        self
    }

    /// When the next stream is due, for the timer of the stack. `None`: it waits for something else, such as the server's permission.
    pub fn next_due(&self) -> Option<Instant> {
        let schedule = self.schedule.as_ref().filter(|_| self.waiting > 0 && !self.asks.get())?;
        Some(schedule.due(self.opened))
    }

    /// What the next stream carries.
    pub fn next_sizes(&self) -> Sizes {
        self.sizes[self.opened % self.sizes.len()]
    }

    /// True where another stream should be opened now.
    pub fn wants_stream(&self) -> bool {
        let is_due = self.schedule.is_none_or(|schedule| Instant::now() >= schedule.due(self.opened));
        let wants = self.waiting > 0 && self.running.len() < self.most && is_due;
        self.asks.set(wants);
        wants
    }

    /// This stream was opened.
    pub fn opened(&mut self, stream: u64) {
        let now = Instant::now();
        if self.deadline.is_none() {
            self.deadline = self.time.map(|time| now + time);
        }
        if self.schedule.is_none() {
            self.schedule = self.period.map(|period| Schedule::new(now, period));
        }
        let began = self.schedule.map_or(now, |schedule| schedule.due(self.opened));
        self.asks.set(false);
        let sizes = self.next_sizes();
        self.waiting -= 1;
        self.opened += 1;
        let outgoing = Outgoing::request(sizes);
        self.running.insert(stream, Exchange { sizes, began, outgoing, received: 0, ended: false });
    }

    /// Streams whose request is not handed over wholly.
    pub fn unsent(&self) -> Vec<u64> {
        let unsent = self.running.iter().filter(|(_, exchange)| !exchange.outgoing.is_done());
        unsent.map(|(&stream, _)| stream).collect()
    }

    /// See [`Outgoing::rest`]. `None`: nothing is left to be sent on this stream.
    pub fn rest(&self, stream: u64) -> Option<(Piece<'_>, bool)> {
        let exchange = self.running.get(&stream).filter(|exchange| !exchange.outgoing.is_done());
        exchange.map(|exchange| exchange.outgoing.rest())
    }

    /// See [`Outgoing::take`].
    pub fn take(&mut self, stream: u64, bytes: usize) -> bool {
        let done = self.running.get_mut(&stream).is_none_or(|exchange| exchange.outgoing.take(bytes));
        self.settle(stream);
        done
    }

    /// So many bytes of a response arrived.
    ///
    /// # Errors
    /// Where they are more than were asked for.
    pub fn on_data(&mut self, stream: u64, bytes: usize) -> Result<(), WrongLength> {
        let Some(exchange) = self.running.get_mut(&stream) else { return Ok(()) };
        exchange.received += bytes as u64;
        COUNTERS.received(bytes as u64);
        let expected = exchange.sizes.response;
        if exchange.received > expected { check(exchange.received, expected) } else { Ok(()) }
    }

    /// The response ended.
    ///
    /// # Errors
    /// Where it has not the length that was asked for.
    pub fn on_end(&mut self, stream: u64) -> Result<(), WrongLength> {
        let Some(exchange) = self.running.get_mut(&stream) else { return Ok(()) };
        check(exchange.received, exchange.sizes.response)?;
        exchange.ended = true;
        self.settle(stream);
        Ok(())
    }

    /// True where the stream is open and not over.
    pub fn is_running(&self, stream: u64) -> bool {
        self.running.contains_key(&stream)
    }

    /// True where every stream is over, or the time.
    pub fn are_complete(&self) -> bool {
        self.waiting == 0 && self.running.is_empty() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn settle(&mut self, stream: u64) {
        let is_over = |exchange: &Exchange| exchange.ended && exchange.outgoing.is_done();
        let Some(exchange) = self.running.get(&stream).filter(|exchange| is_over(exchange)) else { return };
        COUNTERS.exchanged();
        if self.repeats || self.period.is_some() {
            LATENCIES.since(exchange.began);
        }
        if self.repeats {
            self.waiting += 1;
        }
        self.running.remove(&stream);
    }
}

/// The streams of a server's connection.
#[derive(Debug, Default)]
pub struct Answers {
    /// Requests that are not complete, by stream.
    heads: BTreeMap<u64, Head>,
    /// Responses that are not wholly handed over, by stream.
    outgoing: BTreeMap<u64, Outgoing>,
}

impl Answers {
    /// Bytes of a request arrived.
    pub fn on_data(&mut self, stream: u64, data: &[u8]) {
        self.heads.entry(stream).or_default().take(data);
    }

    /// The request is complete: from now on there is a response, if the stream has two directions.
    ///
    /// # Errors
    /// Where the request has no head. The stack resets the stream.
    pub fn on_end(&mut self, stream: u64) -> Result<(), NoHead> {
        let head = self.heads.remove(&stream).unwrap_or_default();
        // The second bit of the number: RFC 9000, section 2.1.
        if stream & 2 == 0 {
            self.outgoing.insert(stream, Outgoing::response(head.response().ok_or(NoHead)?));
        }
        Ok(())
    }

    /// The client abandoned the stream, or it is closed.
    pub fn forget(&mut self, stream: u64) {
        self.heads.remove(&stream);
        self.outgoing.remove(&stream);
    }

    /// Streams whose response is not handed over wholly.
    pub fn unsent(&self) -> Vec<u64> {
        self.outgoing.keys().copied().collect()
    }

    /// See [`Outgoing::rest`]. `None`: nothing is left to be sent on this stream.
    pub fn rest(&self, stream: u64) -> Option<(Piece<'static>, bool)> {
        let (piece, last) = self.outgoing.get(&stream)?.rest();
        match piece {
            Piece::Zeros(zeros) => Some((Piece::Zeros(zeros), last)),
            // Only a request has one.
            Piece::Head(_) => None,
        }
    }

    /// See [`Outgoing::take`].
    pub fn take(&mut self, stream: u64, bytes: usize) -> bool {
        let done = self.outgoing.get_mut(&stream).is_none_or(|outgoing| outgoing.take(bytes));
        if done {
            self.outgoing.remove(&stream);
            COUNTERS.exchanged();
        }
        done
    }
}

/// A request that is shorter than its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHead;

impl fmt::Display for NoHead {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "found a request of less than {HEAD} bytes")
    }
}

impl std::error::Error for NoHead {}

#[cfg(test)]
#[path = "streams_tests.rs"]
mod tests;
