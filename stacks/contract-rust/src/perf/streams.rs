//! The streams of one connection, for stacks that are asked what has happened: [`Exchanges`] of a client, [`Answers`] of a server.

use std::{
    collections::BTreeMap,
    fmt,
    time::{Duration, Instant},
};

use super::{CHUNK, COUNTERS, HEAD, Head, LATENCIES, Load, Sizes, WrongLength, ZEROS, check};

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
        }
    }

    /// The same streams under another load. One of [`Load::Handshakes`] is what each connection has: a single stream, as small as can be,
    /// without a time of its own.
    #[must_use]
    pub fn with(mut self, load: Load) -> Self {
        match load {
            Load::Bulk => {}
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

    /// What the next stream carries.
    pub fn next_sizes(&self) -> Sizes {
        self.sizes[self.opened % self.sizes.len()]
    }

    /// True where another stream should be opened now.
    pub fn wants_stream(&self) -> bool {
        self.waiting > 0 && self.running.len() < self.most
    }

    /// This stream was opened.
    pub fn opened(&mut self, stream: u64) {
        if self.deadline.is_none() {
            self.deadline = self.time.map(|time| Instant::now() + time);
        }
        let sizes = self.next_sizes();
        self.waiting -= 1;
        self.opened += 1;
        let outgoing = Outgoing::request(sizes);
        self.running.insert(stream, Exchange { sizes, began: Instant::now(), outgoing, received: 0, ended: false });
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
        if self.repeats {
            LATENCIES.since(exchange.began);
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
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { request: 3 * CHUNK as u64, response: 70_000 };

    /// All that is to be sent, handed over in pieces of at most `most` bytes.
    fn drain(mut outgoing: Outgoing, most: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        loop {
            let (piece, last) = outgoing.rest();
            let taken = piece.bytes().len().min(most);
            sent.extend_from_slice(&piece.bytes()[..taken]);
            let whole = taken == piece.bytes().len();
            assert_eq!(outgoing.take(taken), last && whole, "{} bytes in", sent.len());
            if outgoing.is_done() {
                return sent;
            }
        }
    }

    #[test]
    fn a_request_is_a_head_and_zeros_whatever_the_stack_takes() {
        for request in [8, 9, CHUNK as u64 + 8, SIZES.request] {
            let sizes = Sizes { request, ..SIZES };
            for most in [1000, CHUNK] {
                let sent = drain(Outgoing::request(sizes), most);
                assert_eq!((sent.len() as u64, &sent[..8]), (request, &70_000_u64.to_be_bytes()[..]));
                assert!(sent[8..].iter().all(|byte| *byte == 0));
            }
        }
        assert_eq!(drain(Outgoing::request(Sizes { request: 20, response: 1 }), 3).len(), 20);
    }

    #[test]
    fn an_empty_response_is_the_end_of_a_stream() {
        let mut outgoing = Outgoing::response(0);
        assert!(!outgoing.is_done());
        assert_eq!(outgoing.rest(), (Piece::Zeros(&[]), true));
        assert!(outgoing.take(0));
    }

    #[test]
    fn no_more_streams_run_than_the_settings_say() {
        let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 3, Some(2), None);
        for stream in [0, 4] {
            assert!(exchanges.wants_stream());
            exchanges.opened(stream);
        }
        assert!(!exchanges.wants_stream());
        assert_eq!(exchanges.unsent(), [0, 4]);
        exchanges.on_data(4, 5).unwrap();
        exchanges.on_end(4).unwrap();
        assert!(!exchanges.wants_stream(), "the request is not sent");
        assert!(exchanges.take(4, 8));
        assert!(exchanges.wants_stream() && !exchanges.is_running(4) && exchanges.rest(4).is_none());
        exchanges.opened(8);
        for stream in [0, 8] {
            assert!(exchanges.take(stream, 8));
            exchanges.on_data(stream, 5).unwrap();
            assert!(!exchanges.are_complete());
            exchanges.on_end(stream).unwrap();
        }
        assert!(exchanges.are_complete());
    }

    #[test]
    fn a_response_of_another_length_is_an_error() {
        let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 2, None, None);
        exchanges.opened(0);
        exchanges.opened(4);
        exchanges.on_data(0, 4).unwrap();
        assert_eq!(exchanges.on_end(0), Err(WrongLength { found: 4, expected: 5 }));
        assert_eq!(exchanges.on_data(4, 6), Err(WrongLength { found: 6, expected: 5 }));
    }

    #[test]
    fn a_time_ends_what_is_not_complete() {
        let mut exchanges = Exchanges::new(Sizes { request: 8, response: 5 }, 1, None, Some(Duration::ZERO));
        assert!(!exchanges.are_complete(), "it counts from the first stream");
        exchanges.opened(0);
        assert!(exchanges.are_complete() && exchanges.is_running(0));
        let mut long = Exchanges::new(Sizes { request: 8, response: 5 }, 1, None, Some(Duration::from_secs(3600)));
        long.opened(0);
        assert!(!long.are_complete());
    }

    #[test]
    fn requests_follow_each_other_until_the_time_is_over() {
        let (sizes, hour) = (Sizes { request: 8, response: 5 }, Some(Duration::from_secs(3600)));
        let mut exchanges = Exchanges::new(sizes, 2, None, hour).with(Load::Requests);
        for number in 0..10_u64 {
            let stream = 4 * number;
            assert!(exchanges.wants_stream(), "{number}");
            exchanges.opened(stream);
            assert_eq!(exchanges.wants_stream(), number == 0, "two at a time");
            if let Some(before) = stream.checked_sub(4) {
                exchanges.take(before, 8);
                exchanges.on_data(before, 5).unwrap();
                exchanges.on_end(before).unwrap();
            }
            assert!(!exchanges.are_complete());
        }
        let mut late = Exchanges::new(sizes, 1, None, Some(Duration::ZERO)).with(Load::Requests);
        late.opened(0);
        assert!(late.are_complete());
    }

    #[test]
    fn both_directions_have_streams_of_their_own() {
        let mut exchanges = Exchanges::new(SIZES, 2, None, None).with(Load::Bidirectional);
        let mut opened = Vec::new();
        for stream in [0, 4, 8, 12] {
            assert!(exchanges.wants_stream());
            opened.push(exchanges.next_sizes());
            exchanges.opened(stream);
        }
        assert!(!exchanges.wants_stream());
        let (up, down) = (Sizes { response: 0, ..SIZES }, Sizes { request: 8, ..SIZES });
        assert_eq!(opened, [up, down, up, down]);
        assert_eq!(exchanges.on_data(0, 1), Err(WrongLength { found: 1, expected: 0 }));
        exchanges.on_data(4, 70_000).unwrap();
        assert!(exchanges.take(4, 8));
        exchanges.on_end(4).unwrap();
        assert!(!exchanges.is_running(4) && !exchanges.are_complete());
    }

    #[test]
    fn a_handshake_is_followed_by_one_small_stream() {
        let time = Some(Duration::ZERO);
        let mut exchanges = Exchanges::new(SIZES, 7, None, time).with(Load::Handshakes);
        assert_eq!(exchanges.next_sizes(), Sizes { request: 8, response: 0 });
        exchanges.opened(0);
        assert!(!exchanges.wants_stream() && !exchanges.are_complete());
        exchanges.take(0, 8);
        exchanges.on_end(0).unwrap();
        assert!(exchanges.are_complete());
    }

    #[test]
    fn a_server_answers_complete_requests_and_no_streams_of_one_direction() {
        let mut answers = Answers::default();
        let request = [&SIZES.head()[..], &[1; 100]].concat();
        for piece in request.chunks(7) {
            answers.on_data(0, piece);
            answers.on_data(2, piece);
            assert!(answers.unsent().is_empty());
        }
        answers.on_end(2).unwrap();
        assert!(answers.unsent().is_empty());
        answers.on_end(0).unwrap();
        assert_eq!(answers.unsent(), [0]);
        assert_eq!(answers.rest(0), Some((Piece::Zeros(&ZEROS), false)));
        assert!(!answers.take(0, CHUNK));
        assert_eq!(answers.rest(0), Some((Piece::Zeros(&ZEROS[..70_000 - CHUNK]), true)));
        assert!(answers.take(0, 70_000 - CHUNK));
        assert_eq!(answers.rest(0), None);
    }

    #[test]
    fn a_request_without_a_head_has_no_answer() {
        let mut answers = Answers::default();
        answers.on_data(0, &[0; 7]);
        assert_eq!(answers.on_end(0), Err(NoHead));
        assert_eq!(answers.on_end(4), Err(NoHead), "nothing came at all");
        answers.on_data(8, &[0; 8]);
        answers.forget(8);
        assert!(answers.unsent().is_empty() && answers.heads.is_empty());
    }
}
