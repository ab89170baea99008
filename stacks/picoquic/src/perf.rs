//! Numbers of bytes in both directions (draft-banks-quic-performance): the loads of `quiclab perf`.

use anyhow::{Result, bail};
use quiclab_contract::perf::{Answers, COUNTERS, Exchanges};

use crate::application::{Application, Quic};

/// Error code of a stream that has no answer.
const NO_ANSWER: u64 = 1;

/// Answers with as many bytes as it is asked for.
#[derive(Default)]
pub struct Server {
    answers: Answers,
}

impl Application for Server {
    fn on_completed(&mut self) {
        COUNTERS.connected();
    }

    fn open(&mut self, _quic: Quic) -> Result<()> {
        Ok(())
    }

    fn on_data(&mut self, quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        self.answers.on_data(stream, data);
        if !fin {
            return Ok(());
        }
        match self.answers.on_end(stream) {
            Ok(()) if self.answers.rest(stream).is_some() => quic.activate(stream),
            Ok(()) => Ok(()),
            Err(error) => {
                eprintln!("stream {stream}: {error}");
                quic.reset(stream, NO_ANSWER);
                Ok(())
            }
        }
    }

    fn on_reset(&mut self, _quic: Quic, stream: u64, _code: u64) -> Result<()> {
        self.answers.forget(stream);
        Ok(())
    }

    fn rest(&mut self, stream: u64) -> Option<(&[u8], bool)> {
        self.answers.rest(stream).map(|(piece, last)| (piece.bytes(), last))
    }

    fn take(&mut self, stream: u64, bytes: usize) {
        self.answers.take(stream, bytes);
    }

    fn is_complete(&self) -> bool {
        true
    }
}

/// Sends requests and counts what comes back.
pub struct Client {
    exchanges: Exchanges,
}

impl Client {
    /// Has these streams.
    pub fn new(exchanges: Exchanges) -> Self {
        Self { exchanges }
    }
}

impl Application for Client {
    fn on_completed(&mut self) {
        COUNTERS.connected();
    }

    fn open(&mut self, quic: Quic) -> Result<()> {
        while self.exchanges.wants_stream() {
            let stream = quic.next_stream();
            self.exchanges.opened(stream);
            quic.activate(stream)?;
        }
        Ok(())
    }

    fn on_data(&mut self, _quic: Quic, stream: u64, data: &[u8], fin: bool) -> Result<()> {
        self.exchanges.on_data(stream, data.len())?;
        if fin {
            self.exchanges.on_end(stream)?;
        }
        Ok(())
    }

    fn on_reset(&mut self, _quic: Quic, stream: u64, code: u64) -> Result<()> {
        bail!("the server reset stream {stream} with {code:#x}")
    }

    fn rest(&mut self, stream: u64) -> Option<(&[u8], bool)> {
        self.exchanges.rest(stream).map(|(piece, last)| (piece.bytes(), last))
    }

    fn take(&mut self, stream: u64, bytes: usize) {
        self.exchanges.take(stream, bytes);
    }

    fn is_complete(&self) -> bool {
        self.exchanges.are_complete()
    }
}
