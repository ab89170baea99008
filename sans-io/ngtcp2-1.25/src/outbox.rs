//! What is to be sent on streams.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
};

use quiclab_sans_io::http::Response;

/// Bytes that are read ahead, so that a packet is full where there is enough to fill it.
const READ_AHEAD: usize = 2048;

/// Most slices in one [`Piece`]: a short one may be between two others.
pub const MAX_SLICES: usize = 8;

/// Stream data to be sent. The bytes stay where they are until the peer has acknowledged them or the stream is closed.
pub struct Piece {
    pub stream: i64,
    /// Start and length of each.
    pub slices: Vec<(*const u8, usize)>,
    /// True: nothing comes after these bytes.
    pub fin: bool,
}

/// Streams with something to send.
#[derive(Default)]
pub struct Outbox {
    streams: BTreeMap<i64, Outgoing>,
    /// Streams that have something to send and may, in the order they are served in.
    ready: BTreeSet<Turn>,
}

/// Streams of one side come before requests, which come in the order of their numbers: as ngtcp2's own programs have it.
type Turn = (bool, i64);

fn turn(stream: i64) -> Turn {
    (is_request(stream), stream)
}

/// True for a bidirectional stream (RFC 9000, section 2.1).
pub fn is_request(stream: i64) -> bool {
    stream & 2 == 0
}

struct Outgoing {
    /// Where more comes from; `None`: from nowhere.
    source: Option<Response>,
    /// Whether the stream ends behind what there is.
    ends: bool,
    /// What is not acknowledged, with the rest of acknowledged chunks.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of `chunks` that are acknowledged, and that are sent.
    acked: usize,
    sent: usize,
    is_done: bool,
}

impl Outgoing {
    fn bytes(&self) -> usize {
        self.chunks.iter().map(Vec::len).sum()
    }

    /// Reads until there is enough, or no more.
    fn fill(&mut self) -> io::Result<()> {
        while self.bytes() - self.sent < READ_AHEAD {
            let Some(source) = &mut self.source else { break };
            match source.next_chunk()? {
                Some(chunk) => self.chunks.push_back(chunk),
                None => self.source = None,
            }
        }
        Ok(())
    }

    fn slices(&self) -> Vec<(*const u8, usize)> {
        let mut skip = self.sent;
        let mut slices = Vec::new();
        for chunk in &self.chunks {
            let from = skip.min(chunk.len());
            skip -= from;
            if from < chunk.len() && slices.len() < MAX_SLICES {
                slices.push((chunk[from..].as_ptr(), chunk.len() - from));
            }
        }
        slices
    }

    fn on_acked(&mut self, bytes: usize) {
        self.acked += bytes;
        while let Some(first) = self.chunks.front().map(Vec::len).filter(|&first| first <= self.acked) {
            self.chunks.pop_front();
            self.acked -= first;
            self.sent -= first;
        }
    }
}

impl Outbox {
    /// Sends `bytes`, and the end of the stream where `ends`.
    pub fn send(&mut self, stream: i64, bytes: Vec<u8>, ends: bool) {
        self.add(stream, VecDeque::from([bytes]), None, ends);
    }

    /// Sends what the answer gives, and the end of the stream.
    pub fn answer(&mut self, stream: i64, response: Response) {
        self.add(stream, VecDeque::new(), Some(response), true);
    }

    fn add(&mut self, stream: i64, chunks: VecDeque<Vec<u8>>, source: Option<Response>, ends: bool) {
        let outgoing = Outgoing { source, ends, chunks, acked: 0, sent: 0, is_done: false };
        self.streams.insert(stream, outgoing);
        self.ready.insert(turn(stream));
    }

    /// Forgets a stream: it is closed.
    pub fn remove(&mut self, stream: i64) {
        self.ready.remove(&turn(stream));
        self.streams.remove(&stream);
    }

    /// What to send next. `None`: nothing now.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn poll_piece(&mut self) -> io::Result<Option<Piece>> {
        let Some(&(_, stream)) = self.ready.first() else { return Ok(None) };
        let Some(outgoing) = self.streams.get_mut(&stream) else { return Ok(None) };
        outgoing.fill()?;
        let slices = outgoing.slices();
        let offered: usize = slices.iter().map(|(_, length)| length).sum();
        let is_rest = outgoing.source.is_none() && outgoing.sent + offered == outgoing.bytes();
        Ok(Some(Piece { stream, slices, fin: outgoing.ends && is_rest }))
    }

    /// `bytes` of the piece went into a packet, and its end if all of them did.
    pub fn on_written(&mut self, piece: &Piece, bytes: usize) {
        let Some(outgoing) = self.streams.get_mut(&piece.stream) else { return };
        outgoing.sent += bytes;
        outgoing.is_done = outgoing.source.is_none() && outgoing.sent == outgoing.bytes();
        if outgoing.is_done {
            self.ready.remove(&turn(piece.stream));
        }
    }

    /// The peer has the next `bytes` of the stream.
    pub fn on_acked(&mut self, stream: i64, bytes: usize) {
        if let Some(outgoing) = self.streams.get_mut(&stream) {
            outgoing.on_acked(bytes);
        }
    }

    /// The stream takes no data, for now or for ever.
    pub fn on_blocked(&mut self, stream: i64) {
        self.ready.remove(&turn(stream));
    }

    /// The peer's flow control lets the stream go on.
    pub fn on_unblocked(&mut self, stream: i64) {
        if self.streams.get(&stream).is_some_and(|outgoing| !outgoing.is_done) {
            self.ready.insert(turn(stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(outbox: &mut Outbox) -> Option<(i64, usize, bool)> {
        let piece = outbox.poll_piece().unwrap()?;
        Some((piece.stream, piece.slices.iter().map(|(_, length)| length).sum(), piece.fin))
    }

    #[test]
    fn streams_are_served_in_order_and_the_control_stream_first() {
        let mut outbox = Outbox::default();
        outbox.send(4, vec![1; 10], true);
        outbox.send(0, vec![2; 20], true);
        outbox.send(2, vec![3; 3], false);
        for expected in [(2, 3, false), (0, 20, true), (4, 10, true)] {
            assert_eq!(next(&mut outbox), Some(expected));
            let piece = outbox.poll_piece().unwrap().unwrap();
            outbox.on_written(&piece, expected.1);
        }
        assert_eq!(next(&mut outbox), None);
    }

    #[test]
    fn a_stream_goes_on_behind_what_is_sent_and_acknowledged() {
        let mut outbox = Outbox::default();
        outbox.send(0, vec![2; 20], true);
        let piece = outbox.poll_piece().unwrap().unwrap();
        let start = piece.slices[0].0;
        outbox.on_written(&piece, 15);
        outbox.on_acked(0, 10);
        let piece = outbox.poll_piece().unwrap().unwrap();
        assert_eq!((piece.slices, piece.fin), (vec![(start.wrapping_add(15), 5)], true));
        outbox.on_blocked(0);
        assert_eq!(next(&mut outbox), None);
        outbox.on_unblocked(0);
        assert_eq!(next(&mut outbox), Some((0, 5, true)));
    }
}
