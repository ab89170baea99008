//! draft-banks-quic-performance: numbers of bytes in both directions, without files.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use quiclab_contract::perf::{Answers, COUNTERS, Exchanges, LATENCIES, Path, Piece};

/// Resets a stream whose request has no answer. The draft names no codes.
const NO_ANSWER: u64 = 1;

/// The streams of a client's connection.
pub struct Client {
    exchanges: Exchanges,
    /// The stream to open next.
    next_stream: u64,
    /// When the connection began, if its handshake is what is measured.
    began: Option<Instant>,
    is_connected: bool,
}

impl Client {
    /// `began`: when the connection did, if it is to be known how long its handshake took.
    pub fn new(exchanges: Exchanges, began: Option<Instant>) -> Self {
        Self { exchanges, next_stream: 0, began, is_connected: false }
    }

    pub fn are_complete(&self) -> bool {
        self.exchanges.are_complete()
    }

    /// When the next stream is due; `None`: it waits for something else.
    pub fn next_due(&self) -> Option<Instant> {
        self.exchanges.next_due()
    }

    /// Counts what has arrived, then hands over what can be sent: a response that is complete can make room for a request. The handshake is
    /// complete.
    ///
    /// # Errors
    /// Those of both.
    pub fn advance(&mut self, quic: &mut quiche::Connection, buffer: &mut [u8]) -> Result<()> {
        if !self.is_connected {
            self.is_connected = true;
            COUNTERS.connected();
            if let Some(began) = self.began {
                LATENCIES.since(began);
            }
        }
        self.take(quic, buffer)?;
        if self.are_complete() { Ok(()) } else { self.send(quic) }
    }

    /// Opens as many streams as the settings and the server allow, and hands over what quiche takes now.
    ///
    /// # Errors
    /// Where the server wants no more of a request.
    fn send(&mut self, quic: &mut quiche::Connection) -> Result<()> {
        COUNTERS.path(|| path(quic));
        for stream in self.exchanges.unsent() {
            self.send_on(quic, stream)?;
        }
        while self.exchanges.wants_stream() && quic.peer_streams_left_bidi() > 0 {
            let stream = self.next_stream;
            // Client-initiated and bidirectional: RFC 9000, section 2.1.
            self.next_stream += 4;
            self.exchanges.opened(stream);
            self.send_on(quic, stream)?;
        }
        Ok(())
    }

    fn send_on(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<()> {
        while let Some((piece, last)) = self.exchanges.rest(stream) {
            let Some(taken) = hand_over(quic, stream, piece, last).context("sending a request")? else { break };
            self.exchanges.take(stream, taken);
        }
        Ok(())
    }

    /// Counts what has arrived.
    ///
    /// # Errors
    /// Where a response has not the length that was asked for, or its stream is reset.
    fn take(&mut self, quic: &mut quiche::Connection, buffer: &mut [u8]) -> Result<()> {
        for stream in quic.readable() {
            loop {
                let (length, finished) = match quic.stream_recv(stream, buffer) {
                    Ok(received) => received,
                    Err(quiche::Error::Done) => break,
                    Err(error) => bail!("receiving on stream {stream}: {error}"),
                };
                self.exchanges.on_data(stream, length)?;
                if finished {
                    self.exchanges.on_end(stream)?;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The streams of a server's connection.
#[derive(Default)]
pub struct Server {
    answers: Answers,
    is_connected: bool,
}

impl Server {
    /// Reads what has arrived, and hands over what quiche takes now. What goes wrong on a stream is on stderr. The handshake is complete.
    pub fn advance(&mut self, quic: &mut quiche::Connection, buffer: &mut [u8]) {
        if !self.is_connected {
            self.is_connected = true;
            COUNTERS.connected();
        }
        COUNTERS.path(|| path(quic));
        for stream in quic.readable() {
            let outcome = self.read(quic, stream, buffer);
            self.note(quic, stream, outcome);
        }
        for stream in self.answers.unsent() {
            let outcome = self.send_on(quic, stream);
            self.note(quic, stream, outcome);
        }
    }

    fn read(&mut self, quic: &mut quiche::Connection, stream: u64, buffer: &mut [u8]) -> Result<()> {
        loop {
            let (length, finished) = match quic.stream_recv(stream, buffer) {
                Ok(received) => received,
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("receiving a request"),
            };
            self.answers.on_data(stream, &buffer[..length]);
            if finished {
                return Ok(self.answers.on_end(stream)?);
            }
        }
    }

    fn send_on(&mut self, quic: &mut quiche::Connection, stream: u64) -> Result<()> {
        while let Some((piece, last)) = self.answers.rest(stream) {
            let Some(taken) = hand_over(quic, stream, piece, last).context("sending a response")? else { break };
            self.answers.take(stream, taken);
        }
        Ok(())
    }

    fn note(&mut self, quic: &mut quiche::Connection, stream: u64, outcome: Result<()>) {
        if let Err(error) = outcome {
            eprintln!("connection {}, stream {stream}: {error:#}", quic.trace_id());
            self.answers.forget(stream);
            // An error: the stream is gone already, or has no such direction.
            let _ = quic.stream_shutdown(stream, quiche::Shutdown::Write, NO_ANSWER);
        }
    }
}

/// Bytes of `piece` that quiche took. `None`: it takes nothing now.
fn hand_over(quic: &mut quiche::Connection, stream: u64, piece: Piece, last: bool) -> Result<Option<usize>> {
    match quic.stream_send(stream, piece.bytes(), last) {
        Ok(0) if !piece.bytes().is_empty() => Ok(None),
        Ok(taken) => Ok(Some(taken)),
        Err(quiche::Error::Done | quiche::Error::StreamLimit) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What quiche knows of the path in use.
fn path(quic: &quiche::Connection) -> Option<Path> {
    let path = quic.path_stats().find(|path| path.active)?;
    Some(Path { rtt: path.rtt, window: path.cwnd as u64, lost: path.lost as u64 })
}
