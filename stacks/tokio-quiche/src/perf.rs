//! draft-banks-quic-performance: numbers of bytes in both directions, without files. An application of its own beside HTTP/3, which
//! the library calls when packets have come and before packets leave.

use std::{future::pending, time::Instant};

use anyhow::{Context, Error, Result, anyhow};
use quiclab_contract::perf::{Answers, COUNTERS, Exchanges, LATENCIES, Path, Piece};
use tokio::{sync::oneshot, time::sleep_until};
use tokio_quiche::{
    ApplicationOverQuic, QuicResult,
    metrics::Metrics,
    quic::{HandshakeInfo, QuicheConnection},
    quiche::{self, Shutdown},
};

/// Bytes read from a stream at once.
const RECEIVE_BUFFER: usize = 64 * 1024;

/// The draft names no codes: of a connection that ends well, and of a stream whose request has no answer.
const NO_ERROR: u64 = 0;
const NO_ANSWER: u64 = 1;

/// The streams of a client's connection.
pub struct Client {
    exchanges: Exchanges,
    /// When the connection began, if its handshake is what is measured.
    began: Option<Instant>,
    /// The stream to open next.
    next_stream: u64,
    buffer: Vec<u8>,
    /// What has come of them. The connection is closed then.
    outcome: Option<Result<()>>,
    /// Taken when the goodbye has left.
    sender: Option<oneshot::Sender<Result<()>>>,
}

impl Client {
    /// The second value is there when the connection is over. `began`: when the connection did, if it is to be known how long its handshake
    /// took.
    pub fn new(exchanges: Exchanges, began: Option<Instant>) -> (Self, oneshot::Receiver<Result<()>>) {
        let (sender, receiver) = oneshot::channel();
        let buffer = vec![0; RECEIVE_BUFFER];
        (Self { exchanges, began, next_stream: 0, buffer, outcome: None, sender: Some(sender) }, receiver)
    }

    /// Opens as many streams as the settings and the server allow, and hands over what quiche takes now.
    fn send(&mut self, quic: &mut QuicheConnection) -> Result<()> {
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

    fn send_on(&mut self, quic: &mut QuicheConnection, stream: u64) -> Result<()> {
        while let Some((piece, last)) = self.exchanges.rest(stream) {
            let Some(taken) = hand_over(quic, stream, piece, last).context("sending a request")? else { break };
            self.exchanges.take(stream, taken);
        }
        Ok(())
    }

    /// Counts what has arrived.
    fn take(&mut self, quic: &mut QuicheConnection) -> Result<()> {
        for stream in quic.readable() {
            loop {
                let (length, finished) = match quic.stream_recv(stream, &mut self.buffer) {
                    Ok(received) => received,
                    Err(quiche::Error::Done) => break,
                    Err(error) => return Err(error).with_context(|| format!("receiving on stream {stream}")),
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

    /// Closes the connection where all is done, or something went wrong.
    fn settle(&mut self, quic: &mut QuicheConnection, outcome: Result<()>) {
        if self.outcome.is_none() && (outcome.is_err() || self.exchanges.are_complete()) {
            self.outcome = Some(outcome);
            // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
            let _ = quic.close(true, NO_ERROR, b"");
        }
    }

    fn tell(&mut self, otherwise: impl FnOnce() -> Error) {
        if let Some(sender) = self.sender.take() {
            // An error: nobody waits for it any more.
            let _ = sender.send(self.outcome.take().unwrap_or_else(|| Err(otherwise())));
        }
    }
}

impl ApplicationOverQuic for Client {
    fn on_conn_established(&mut self, _quic: &mut QuicheConnection, _info: &HandshakeInfo) -> QuicResult<()> {
        COUNTERS.connected();
        if let Some(began) = self.began {
            LATENCIES.since(began);
        }
        Ok(())
    }

    fn should_act(&self) -> bool {
        true
    }

    async fn wait_for_data(&mut self, quic: &mut QuicheConnection) -> QuicResult<()> {
        // The goodbye has left: nobody need wait for the three probe timeouts that a connection is kept after it (RFC 9000, section 10.2).
        if self.outcome.is_some() && (quic.is_draining() || quic.is_closed()) {
            self.tell(|| anyhow!("connection ended early"));
        }
        // What is due is opened when packets may leave, which comes next.
        match self.exchanges.next_due().filter(|_| self.outcome.is_none()) {
            Some(due) => {
                sleep_until(due.into()).await;
                Ok(())
            }
            None => pending().await,
        }
    }

    fn process_reads(&mut self, quic: &mut QuicheConnection) -> QuicResult<()> {
        if self.outcome.is_none() {
            let outcome = self.take(quic);
            self.settle(quic, outcome);
        }
        Ok(())
    }

    fn process_writes(&mut self, quic: &mut QuicheConnection) -> QuicResult<()> {
        COUNTERS.path(|| path(quic));
        if self.outcome.is_none() {
            let outcome = self.send(quic);
            self.settle(quic, outcome);
        }
        Ok(())
    }

    fn on_conn_close<M: Metrics>(&mut self, quic: &mut QuicheConnection, _metrics: &M, result: &QuicResult<()>) {
        let reason = match (quic.peer_error(), result) {
            (Some(error), _) => format!("error {:#x} from the server", error.error_code),
            (None, Err(error)) => error.to_string(),
            (None, Ok(())) if quic.is_timed_out() => "idle timeout".to_owned(),
            (None, Ok(())) => "no reason given".to_owned(),
        };
        self.tell(|| anyhow!("connection ended early: {reason}"));
    }
}

/// The streams of a server's connection.
pub struct Server {
    answers: Answers,
    buffer: Vec<u8>,
}

impl Server {
    pub fn new() -> Self {
        Self { answers: Answers::default(), buffer: vec![0; RECEIVE_BUFFER] }
    }

    fn read(&mut self, quic: &mut QuicheConnection, stream: u64) -> Result<()> {
        loop {
            let (length, finished) = match quic.stream_recv(stream, &mut self.buffer) {
                Ok(received) => received,
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("receiving a request"),
            };
            self.answers.on_data(stream, &self.buffer[..length]);
            if finished {
                return Ok(self.answers.on_end(stream)?);
            }
        }
    }

    fn send_on(&mut self, quic: &mut QuicheConnection, stream: u64) -> Result<()> {
        while let Some((piece, last)) = self.answers.rest(stream) {
            let Some(taken) = hand_over(quic, stream, piece, last).context("sending a response")? else { break };
            self.answers.take(stream, taken);
        }
        Ok(())
    }

    /// What goes wrong on a stream is on stderr.
    fn note(&mut self, quic: &mut QuicheConnection, stream: u64, outcome: Result<()>) {
        if let Err(error) = outcome {
            eprintln!("stream {stream}: {error:#}");
            self.answers.forget(stream);
            // An error: the stream is gone already, or has no such direction.
            let _ = quic.stream_shutdown(stream, Shutdown::Write, NO_ANSWER);
        }
    }
}

impl ApplicationOverQuic for Server {
    fn on_conn_established(&mut self, _quic: &mut QuicheConnection, _info: &HandshakeInfo) -> QuicResult<()> {
        COUNTERS.connected();
        Ok(())
    }

    fn should_act(&self) -> bool {
        true
    }

    async fn wait_for_data(&mut self, _quic: &mut QuicheConnection) -> QuicResult<()> {
        pending().await
    }

    fn process_reads(&mut self, quic: &mut QuicheConnection) -> QuicResult<()> {
        for stream in quic.readable() {
            let outcome = self.read(quic, stream);
            self.note(quic, stream, outcome);
        }
        Ok(())
    }

    fn process_writes(&mut self, quic: &mut QuicheConnection) -> QuicResult<()> {
        COUNTERS.path(|| path(quic));
        for stream in self.answers.unsent() {
            let outcome = self.send_on(quic, stream);
            self.note(quic, stream, outcome);
        }
        Ok(())
    }
}

/// Bytes of `piece` that quiche took. `None`: it takes nothing now.
fn hand_over(quic: &mut QuicheConnection, stream: u64, piece: Piece, last: bool) -> Result<Option<usize>> {
    match quic.stream_send(stream, piece.bytes(), last) {
        Ok(0) if !piece.bytes().is_empty() => Ok(None),
        Ok(taken) => Ok(Some(taken)),
        Err(quiche::Error::Done | quiche::Error::StreamLimit) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What quiche knows of the path in use.
fn path(quic: &QuicheConnection) -> Option<Path> {
    let path = quic.path_stats().find(|path| path.active)?;
    Some(Path { rtt: path.rtt, window: path.cwnd as u64, lost: path.lost as u64 })
}
