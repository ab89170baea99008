//! HTTP/0.9 or perf on a client's streams.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use neqo_common::{Datagram, event::Provider as _};
use neqo_crypto::{AuthenticationStatus, ResumptionToken};
use neqo_transport::{CloseReason, Connection, ConnectionEvent, Error, Output, State, StreamId, StreamType};
use quiclab_contract::{
    Downloads, Request, TestCase, hq,
    perf::{COUNTERS, Exchanges},
};

use crate::{
    certificates::Trust,
    client::{Client, end_of},
    settings::Settings,
};

/// Bytes read from a stream at once, as in neqo's own programs.
const CHUNK: usize = 32 * 1024;

/// Bytes of a file that are collected before they are written.
pub const STORE_BUFFER: usize = 64 * 1024;

/// The code of a connection that ends well: neither HTTP/0.9 nor perf names one.
const NO_ERROR: u64 = 0;

/// Files or exchanges of perf, which the streams carry.
enum Application {
    Files(Downloads),
    Perf(Exchanges),
}

impl Application {
    fn new(settings: &Settings, requests: &[Request]) -> Self {
        match settings.perf {
            Some(sizes) => {
                let exchanges = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
                Self::Perf(exchanges.with(settings.perf_load))
            }
            None => Self::Files(Downloads::new(requests, settings, STORE_BUFFER)),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Files(downloads) => downloads.are_complete(),
            Self::Perf(exchanges) => exchanges.are_complete(),
        }
    }
}

/// A connection whose streams are all there is.
pub struct Streams<'a> {
    quic: Connection,
    settings: &'a Settings,
    requests: &'a [Request],
    application: Application,
    trust: Trust,
    session: Option<ResumptionToken>,
    update_due: bool,
    buffer: Vec<u8>,
}

impl<'a> Streams<'a> {
    /// Nothing is asked for yet.
    ///
    /// # Errors
    /// Where the certificate authorities cannot be read.
    pub fn new(quic: Connection, settings: &'a Settings, requests: &'a [Request]) -> Result<Self> {
        Ok(Self {
            quic,
            settings,
            requests,
            application: Application::new(settings, requests),
            trust: Trust::new(settings)?,
            session: None,
            update_due: settings.test_case == TestCase::KeyUpdate,
            buffer: vec![0; CHUNK],
        })
    }

    /// Opens as many streams as are wanted and allowed.
    fn open(&mut self) -> Result<()> {
        let early = self.settings.test_case == TestCase::ZeroRtt && *self.quic.state() == State::WaitInitial;
        if !(self.quic.state().connected() || early) {
            return Ok(());
        }
        loop {
            let line = match &self.application {
                Application::Files(downloads) => downloads.next().map(hq::line),
                Application::Perf(exchanges) => exchanges.wants_stream().then(Vec::new),
            };
            let Some(line) = line else { return Ok(()) };
            let stream = match self.quic.stream_create(StreamType::BiDi) {
                Ok(stream) => stream,
                // The server allows no more, or there is no early data.
                Err(Error::StreamLimitError | Error::ConnectionState) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            match &mut self.application {
                Application::Files(downloads) => {
                    let taken = self.quic.stream_send(stream, &line)?;
                    ensure!(taken == line.len(), "the server's window is smaller than a request");
                    self.quic.stream_close_send(stream)?;
                    downloads.sent(stream.as_u64());
                }
                Application::Perf(exchanges) => {
                    exchanges.opened(stream.as_u64());
                    self.send(stream)?;
                }
            }
        }
    }

    /// Hands over as much of a request of perf as neqo takes.
    fn send(&mut self, stream: StreamId) -> Result<()> {
        let Application::Perf(exchanges) = &mut self.application else { return Ok(()) };
        while let Some((piece, _)) = exchanges.rest(stream.as_u64()) {
            let bytes = piece.bytes();
            let taken = self.quic.stream_send(stream, bytes)?;
            if taken == 0 && !bytes.is_empty() {
                return Ok(());
            }
            if exchanges.take(stream.as_u64(), taken) {
                self.quic.stream_close_send(stream)?;
            }
        }
        Ok(())
    }

    /// Takes what has arrived on a stream.
    fn read(&mut self, stream: StreamId) -> Result<()> {
        loop {
            let (length, fin) = self.quic.stream_recv(stream, &mut self.buffer)?;
            let number = stream.as_u64();
            match &mut self.application {
                Application::Files(downloads) => {
                    let Some((download, folder)) = downloads.running(number) else { return Ok(()) };
                    if length > 0 || fin {
                        download.create(folder)?;
                        download.store(&self.buffer[..length])?;
                    }
                    if fin {
                        downloads.finish(number)?;
                    }
                }
                Application::Perf(exchanges) => {
                    exchanges.on_data(number, length)?;
                    if fin {
                        exchanges.on_end(number)?;
                    }
                }
            }
            if fin || length == 0 {
                return Ok(());
            }
        }
    }

    fn on_event(&mut self, event: ConnectionEvent) -> Result<()> {
        match event {
            ConnectionEvent::AuthenticationNeeded => {
                let sent = self.quic.peer_certificate();
                let outcome = self.trust.check(sent.iter().flat_map(|sent| sent.iter()));
                let status =
                    if outcome.is_ok() { AuthenticationStatus::Ok } else { AuthenticationStatus::CertUntrusted };
                self.quic.authenticated(status, Instant::now());
                outcome
            }
            ConnectionEvent::RecvStreamReadable { stream_id } => self.read(stream_id),
            ConnectionEvent::SendStreamWritable { stream_id } => self.send(stream_id),
            ConnectionEvent::RecvStreamReset { stream_id, app_error } => {
                bail!("the server reset stream {stream_id} with {app_error:#x}")
            }
            ConnectionEvent::SendStreamStopSending { stream_id, app_error } => {
                bail!("the server stopped stream {stream_id} with {app_error:#x}")
            }
            ConnectionEvent::ZeroRttRejected => {
                self.application = Application::new(self.settings, self.requests);
                Ok(())
            }
            ConnectionEvent::ResumptionToken(session) => {
                self.session = Some(session);
                Ok(())
            }
            ConnectionEvent::StateChange(State::Connected) => {
                COUNTERS.connected();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Client for Streams<'_> {
    fn take<'a>(&mut self, datagrams: impl IntoIterator<Item = Datagram<&'a mut [u8]>>, now: Instant) {
        self.quic.process_multiple_input(datagrams, now);
    }

    fn output(&mut self, now: Instant) -> Output {
        self.quic.process_output(now)
    }

    fn has_events(&self) -> bool {
        self.quic.has_events()
    }

    fn handle(&mut self) -> Result<()> {
        while let Some(event) = self.quic.next_event() {
            self.on_event(event)?;
        }
        if self.update_due && *self.quic.state() == State::Confirmed {
            self.update_due = match self.quic.initiate_key_update() {
                Ok(()) => false,
                Err(Error::KeyUpdateBlocked) => true,
                Err(error) => return Err(error.into()),
            };
        }
        self.open()
    }

    fn is_complete(&self) -> bool {
        self.application.is_complete() && !self.update_due
    }

    fn is_connected(&self) -> bool {
        self.quic.state().connected()
    }

    fn session(&mut self, now: Instant) -> Option<ResumptionToken> {
        self.session.take().or_else(|| self.quic.take_resumption_token(now))
    }

    fn is_resumed(&self) -> bool {
        self.quic.tls_info().is_some_and(|info| info.resumed())
    }

    fn end(&self) -> Option<CloseReason> {
        end_of(self.quic.state())
    }

    fn close(&mut self, now: Instant) {
        self.quic.close(now, NO_ERROR, "");
    }
}
