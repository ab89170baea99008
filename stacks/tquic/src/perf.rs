//! draft-banks-quic-performance: numbers of bytes in both directions, without files.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use quiclab_contract::perf::{Answers, COUNTERS, Exchanges, Path, Piece};
use tquic::{Connection, Error, Shutdown};

/// Resets a stream whose request has no answer. The draft names no codes.
const NO_ANSWER: u64 = 1;

/// Bytes read from a stream at once.
const CHUNK: usize = 64 * 1024;

/// Opens as many streams as the settings and the server allow, and begins to send on them.
///
/// # Errors
/// Where tquic refuses a stream for another reason than a limit.
pub fn open(quic: &mut Connection, exchanges: &mut Exchanges) -> Result<()> {
    while exchanges.wants_stream() {
        let stream = match quic.stream_bidi_new(0, false) {
            Ok(stream) => stream,
            Err(Error::StreamLimitError) => return Ok(()),
            Err(error) => return Err(error).context("opening a stream"),
        };
        exchanges.opened(stream);
        send(quic, exchanges, stream)?;
    }
    Ok(())
}

/// Hands over as much of a request as tquic takes now.
///
/// # Errors
/// Where the server wants no more of it.
pub fn send(quic: &mut Connection, exchanges: &mut Exchanges, stream: u64) -> Result<()> {
    COUNTERS.path(|| path(quic));
    while let Some((piece, last)) = exchanges.rest(stream) {
        let Some(taken) = hand_over(quic, stream, piece, last).context("sending a request")? else { return Ok(()) };
        exchanges.take(stream, taken);
    }
    let _ = quic.stream_want_write(stream, false);
    Ok(())
}

/// Counts what has arrived of a response.
///
/// # Errors
/// Where it has not the length that was asked for, or its stream is reset.
pub fn take(quic: &mut Connection, exchanges: &mut Exchanges, stream: u64, buffer: &mut [u8]) -> Result<()> {
    COUNTERS.path(|| path(quic));
    while exchanges.is_running(stream) {
        let (length, finished) = match quic.stream_read(stream, buffer) {
            Ok(read) => read,
            Err(Error::Done) => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("receiving on stream {stream}")),
        };
        exchanges.on_data(stream, length)?;
        if finished {
            return Ok(exchanges.on_end(stream)?);
        }
    }
    Ok(())
}

/// The streams of a server's connection.
#[derive(Default)]
pub struct Server {
    answers: Answers,
    buffer: Vec<u8>,
}

impl Server {
    /// Reads what has arrived on `stream`.
    ///
    /// # Errors
    /// Where there can be no answer. The stream is reset.
    pub fn read(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        let outcome = self.take(quic, stream);
        self.settle(quic, stream, outcome)
    }

    /// Hands over more of the response on `stream`.
    ///
    /// # Errors
    /// Where the client wants no more of it.
    pub fn write(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        let outcome = self.send(quic, stream);
        self.settle(quic, stream, outcome)
    }

    pub fn forget(&mut self, stream: u64) {
        self.answers.forget(stream);
    }

    fn take(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        self.buffer.resize(CHUNK, 0);
        loop {
            let (length, finished) = match quic.stream_read(stream, &mut self.buffer) {
                Ok(read) => read,
                Err(Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("receiving a request"),
            };
            self.answers.on_data(stream, &self.buffer[..length]);
            if finished {
                self.answers.on_end(stream)?;
                return self.send(quic, stream);
            }
        }
    }

    fn send(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        while let Some((piece, last)) = self.answers.rest(stream) {
            let Some(taken) = hand_over(quic, stream, piece, last).context("sending a response")? else {
                return Ok(());
            };
            self.answers.take(stream, taken);
        }
        let _ = quic.stream_want_write(stream, false);
        Ok(())
    }

    fn settle(&mut self, quic: &mut Connection, stream: u64, outcome: Result<()>) -> Result<()> {
        COUNTERS.path(|| path(quic));
        if outcome.is_err() {
            self.answers.forget(stream);
            // An error: the stream is gone already, or has no such direction.
            let _ = quic.stream_shutdown(stream, Shutdown::Write, NO_ANSWER);
        }
        outcome.with_context(|| format!("stream {stream}"))
    }
}

/// Bytes of `piece` that tquic took. `None`: it takes nothing now, and says when it does.
fn hand_over(quic: &mut Connection, stream: u64, piece: Piece, last: bool) -> Result<Option<usize>> {
    let bytes = match piece {
        Piece::Head(head) => Bytes::copy_from_slice(head),
        Piece::Zeros(zeros) => Bytes::from_static(zeros),
    };
    let length = bytes.len();
    match quic.stream_write(stream, bytes, last) {
        Ok(0) if length > 0 => {}
        Ok(taken) => return Ok(Some(taken)),
        Err(Error::Done) => {}
        Err(error) => return Err(error.into()),
    }
    let _ = quic.stream_want_write(stream, true);
    Ok(None)
}

/// What tquic knows of the connection's path.
fn path(quic: &mut Connection) -> Option<Path> {
    let addresses = quic.paths_iter().next()?;
    let path = quic.get_path_stats(addresses.local, addresses.remote).ok()?;
    Some(Path { rtt: Duration::from_micros(path.srtt), window: path.final_cwnd, lost: path.lost_count })
}
