//! HTTP/3 of a client.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use neqo_common::{Datagram, Header, event::Provider as _};
use neqo_crypto::{AuthenticationStatus, ResumptionToken};
use neqo_http3::{Error, Http3Client, Http3ClientEvent, Http3State, Priority};
use neqo_transport::{CloseReason, Connection, Error as TransportError, Output, StreamId};
use quiclab_contract::{Downloads, Request, TestCase};

use crate::{certificates::Trust, client::Client, client_streams::STORE_BUFFER, settings::Settings, transport};

/// Bytes read from a stream at once, as in neqo's own programs.
const CHUNK: usize = 32 * 1024;

/// RFC 9114, section 8.1.
const NO_ERROR: u64 = 0x100;

/// A connection with HTTP/3.
pub struct H3<'a> {
    http: Http3Client,
    settings: &'a Settings,
    requests: &'a [Request],
    downloads: Downloads,
    trust: Trust,
    session: Option<ResumptionToken>,
    update_due: bool,
    buffer: Vec<u8>,
}

impl<'a> H3<'a> {
    /// Nothing is asked for yet. A session that is resumed has settings of HTTP/3 too.
    ///
    /// # Errors
    /// Where the certificate authorities cannot be read, or the session cannot be resumed.
    pub fn new(
        quic: Connection,
        settings: &'a Settings,
        requests: &'a [Request],
        session: Option<ResumptionToken>,
    ) -> Result<Self> {
        let mut http = Http3Client::new_with_conn(quic, transport::http_parameters(settings));
        if let Some(session) = session {
            http.enable_resumption(Instant::now(), session).context("the session ticket")?;
        }
        Ok(Self {
            http,
            settings,
            requests,
            downloads: Downloads::new(requests, settings, STORE_BUFFER),
            trust: Trust::new(settings)?,
            session: None,
            update_due: settings.test_case == TestCase::KeyUpdate,
            buffer: vec![0; CHUNK],
        })
    }

    /// Sends as many requests as the settings and the server allow.
    fn open(&mut self) -> Result<()> {
        let early = self.settings.test_case == TestCase::ZeroRtt && self.http.state() == Http3State::ZeroRtt;
        if !(self.http.state() == Http3State::Connected || early) {
            return Ok(());
        }
        while let Some(request) = self.downloads.next() {
            let target = ("https".to_owned(), request.authority(), request.path.clone());
            let agent = [Header::new("user-agent", "neqo")];
            let stream = match self.http.fetch(Instant::now(), "GET", &target, &agent, Priority::default()) {
                Ok(stream) => stream,
                Err(
                    Error::TransportError(TransportError::StreamLimitError)
                    | Error::StreamLimitError
                    | Error::Unavailable,
                ) => return Ok(()),
                Err(error) => return Err(error).with_context(|| format!("requesting {}", request.path)),
            };
            self.http.stream_close_send(stream)?;
            self.downloads.sent(stream.as_u64());
        }
        Ok(())
    }

    /// Takes what has arrived on a stream.
    fn read(&mut self, stream: StreamId) -> Result<()> {
        let Some((download, _)) = self.downloads.running(stream.as_u64()) else { return Ok(()) };
        loop {
            let (length, fin) = self.http.read_data(Instant::now(), stream, &mut self.buffer)?;
            download.store(&self.buffer[..length])?;
            if fin {
                return Ok(self.downloads.finish(stream.as_u64())?);
            }
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn on_headers(&mut self, stream: StreamId, headers: &[Header], fin: bool) -> Result<()> {
        let Some((download, folder)) = self.downloads.running(stream.as_u64()) else { return Ok(()) };
        let value =
            |name: &str| headers.iter().find(|header| header.name() == name).map(|header| header.value().as_bytes());
        download.on_headers(value, folder)?;
        if fin {
            self.downloads.finish(stream.as_u64())?;
        }
        Ok(())
    }

    fn on_event(&mut self, event: Http3ClientEvent) -> Result<()> {
        match event {
            Http3ClientEvent::AuthenticationNeeded => {
                let sent = self.http.peer_certificate();
                let outcome = self.trust.check(sent.iter().flat_map(|sent| sent.iter()));
                let status =
                    if outcome.is_ok() { AuthenticationStatus::Ok } else { AuthenticationStatus::CertUntrusted };
                self.http.authenticated(status, Instant::now());
                outcome
            }
            Http3ClientEvent::HeaderReady { stream_id, headers, fin, .. } => self.on_headers(stream_id, &headers, fin),
            Http3ClientEvent::DataReadable { stream_id } => self.read(stream_id),
            Http3ClientEvent::Reset { stream_id, error, .. } => match self.downloads.running(stream_id.as_u64()) {
                Some((download, _)) => {
                    bail!("{}: the stream was reset with {error:#x}", download.request.path)
                }
                None => Ok(()),
            },
            Http3ClientEvent::ZeroRttRejected => {
                self.downloads = Downloads::new(self.requests, self.settings, STORE_BUFFER);
                Ok(())
            }
            Http3ClientEvent::ResumptionToken(session) => {
                self.session = Some(session);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Client for H3<'_> {
    fn take<'a>(&mut self, datagrams: impl IntoIterator<Item = Datagram<&'a mut [u8]>>, now: Instant) {
        self.http.process_multiple_input(datagrams, now);
    }

    fn output(&mut self, now: Instant) -> Output {
        self.http.process_output(now)
    }

    fn has_events(&self) -> bool {
        self.http.has_events()
    }

    fn handle(&mut self) -> Result<()> {
        while let Some(event) = self.http.next_event() {
            self.on_event(event)?;
        }
        if self.update_due && self.http.state() == Http3State::Connected {
            // Blocked until the handshake is confirmed.
            self.update_due = match self.http.initiate_key_update() {
                Ok(()) => false,
                Err(Error::TransportError(TransportError::KeyUpdateBlocked)) => true,
                Err(error) => return Err(error.into()),
            };
        }
        self.open()
    }

    fn is_complete(&self) -> bool {
        self.downloads.are_complete() && !self.update_due
    }

    fn is_connected(&self) -> bool {
        matches!(self.http.state(), Http3State::Connected | Http3State::GoingAway(_))
    }

    fn session(&mut self, now: Instant) -> Option<ResumptionToken> {
        self.session.take().or_else(|| self.http.take_resumption_token(now))
    }

    fn is_resumed(&self) -> bool {
        self.http.tls_info().is_some_and(|info| info.resumed())
    }

    fn end(&self) -> Option<CloseReason> {
        match self.http.state() {
            Http3State::Closing(reason) | Http3State::Closed(reason) => Some(reason),
            _ => None,
        }
    }

    fn close(&mut self, now: Instant) {
        self.http.close(now, NO_ERROR, "");
    }
}
