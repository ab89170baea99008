//! HTTP/0.9 or perf on the streams of a server's connections.

use std::{
    collections::{BTreeMap, HashMap},
    time::Instant,
};

use anyhow::{Result, bail, ensure};
use neqo_common::{Datagram, event::Provider as _};
use neqo_crypto::{AllowZeroRtt, AntiReplay};
use neqo_transport::{
    Connection, ConnectionEvent, Output, State, StreamId,
    server::{ConnectionRef, Server as Transport, ValidateAddress},
};
use quiclab_contract::{
    PartialBody, TestCase, hq,
    perf::{Answers, COUNTERS},
};

use crate::{nss, server::Server, settings::Settings, transport};

/// Bytes read from a stream at once, as in neqo's own programs.
const CHUNK: usize = 32 * 1024;

/// Longest HTTP/0.9 request, in bytes.
const MAX_REQUEST: usize = 4096;

/// Error code of a stream that has no answer. Neither HTTP/0.9 nor perf names one.
const NO_ANSWER: u64 = 1;

/// Connections whose streams are all there is.
pub struct Streams<'a> {
    transport: Transport,
    settings: &'a Settings,
    connections: HashMap<ConnectionRef, Exchanges>,
    buffer: Vec<u8>,
}

/// Requests of one connection, and their answers.
#[derive(Default)]
struct Exchanges {
    /// HTTP/0.9 requests that are not whole yet, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    /// Files that are being sent, by stream.
    bodies: BTreeMap<u64, PartialBody>,
    /// Exchanges of the test case `perf`, which has no requests and files.
    answers: Answers,
}

impl<'a> Streams<'a> {
    /// Nobody has connected yet.
    ///
    /// # Errors
    /// Where neqo cannot make its keys.
    pub fn new(settings: &'a Settings, anti_replay: AntiReplay) -> Result<Self> {
        let mut transport = Transport::new(
            transport::clock(settings),
            &[nss::NAME],
            &[transport::alpn(settings)],
            anti_replay,
            Box::new(AllowZeroRtt {}),
            transport::connection_ids(),
            transport::parameters(settings),
        )?;
        transport.set_ciphers(transport::ciphers(settings));
        transport.set_qlog_dir(settings.qlog.clone());
        if settings.test_case == TestCase::Retry {
            transport.set_validation(ValidateAddress::Always);
        }
        Ok(Self { transport, settings, connections: HashMap::new(), buffer: vec![0; CHUNK] })
    }
}

impl Server for Streams<'_> {
    fn process(&mut self, datagram: Option<Datagram<&mut [u8]>>, now: Instant) -> Output {
        self.transport.process(datagram, now)
    }

    fn has_events(&self) -> bool {
        self.transport.has_active_connections()
    }

    fn handle(&mut self, now: Instant) {
        #[expect(clippy::mutable_key_type, reason = "compared by its address")]
        let active = self.transport.active_connections();
        for connection in active {
            let exchanges = self.connections.entry(connection.clone()).or_default();
            let mut quic = connection.borrow_mut();
            while let Some(event) = quic.next_event() {
                if let Err(error) = exchanges.on_event(&mut quic, event, self.settings, &mut self.buffer, now) {
                    eprintln!("{error:#}");
                }
            }
            let is_over = matches!(quic.state(), State::Closed(_));
            drop(quic);
            if is_over {
                self.connections.remove(&connection);
            }
        }
    }
}

impl Exchanges {
    fn on_event(
        &mut self,
        quic: &mut Connection,
        event: ConnectionEvent,
        settings: &Settings,
        buffer: &mut [u8],
        now: Instant,
    ) -> Result<()> {
        match event {
            ConnectionEvent::RecvStreamReadable { stream_id } => self.read(quic, stream_id, settings, buffer),
            ConnectionEvent::SendStreamWritable { stream_id } => self.send(quic, stream_id),
            ConnectionEvent::RecvStreamReset { stream_id, .. }
            | ConnectionEvent::SendStreamStopSending { stream_id, .. } => {
                self.requests.remove(&stream_id.as_u64());
                self.bodies.remove(&stream_id.as_u64());
                self.answers.forget(stream_id.as_u64());
                Ok(())
            }
            ConnectionEvent::StateChange(State::Connected) => {
                COUNTERS.connected();
                Ok(quic.send_ticket(now, &[])?)
            }
            _ => Ok(()),
        }
    }

    /// Takes what has arrived on a stream.
    fn read(&mut self, quic: &mut Connection, stream: StreamId, settings: &Settings, buffer: &mut [u8]) -> Result<()> {
        let number = stream.as_u64();
        loop {
            let (length, fin) = quic.stream_recv(stream, buffer)?;
            if settings.test_case == TestCase::Perf {
                self.answers.on_data(number, &buffer[..length]);
            } else {
                let request = self.requests.entry(number).or_default();
                request.extend_from_slice(&buffer[..length]);
                ensure!(request.len() <= MAX_REQUEST, "a request of more than {MAX_REQUEST} bytes");
            }
            if fin {
                return self.answer(quic, stream, settings);
            }
            if length == 0 {
                return Ok(());
            }
        }
    }

    /// Begins to answer a request that is whole.
    fn answer(&mut self, quic: &mut Connection, stream: StreamId, settings: &Settings) -> Result<()> {
        let number = stream.as_u64();
        let outcome = if settings.test_case == TestCase::Perf {
            self.answers.on_end(number).map_err(|error| error.to_string())
        } else {
            let line = self.requests.remove(&number).unwrap_or_default();
            let path = hq::path(&line).unwrap_or_default();
            let body = PartialBody::open(path, &settings.www);
            body.map(|body| drop(self.bodies.insert(number, body)))
                .map_err(|error| format!("{}: {error}", String::from_utf8_lossy(path)))
        };
        if let Err(error) = outcome {
            quic.stream_reset_send(stream, NO_ANSWER)?;
            bail!("stream {number}: {error}");
        }
        self.send(quic, stream)
    }

    /// Hands over as much of an answer as neqo takes.
    fn send(&mut self, quic: &mut Connection, stream: StreamId) -> Result<()> {
        let number = stream.as_u64();
        loop {
            let bytes = match self.bodies.get_mut(&number) {
                Some(body) => body.rest()?.0,
                None => match self.answers.rest(number) {
                    Some((piece, _)) => piece.bytes(),
                    None => return Ok(()),
                },
            };
            // neqo refuses to send nothing.
            let taken = if bytes.is_empty() { 0 } else { quic.stream_send(stream, bytes)? };
            let is_blocked = taken == 0 && !bytes.is_empty();
            if is_blocked {
                return Ok(());
            }
            let is_all = match self.bodies.get_mut(&number) {
                Some(body) => body.take(taken),
                None => self.answers.take(number, taken),
            };
            if is_all {
                self.bodies.remove(&number);
                return Ok(quic.stream_close_send(stream)?);
            }
        }
    }
}
