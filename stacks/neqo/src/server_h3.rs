//! HTTP/3 of a server.

use std::{collections::HashMap, time::Instant};

use anyhow::{Result, bail};
use neqo_common::{Datagram, Header};
use neqo_crypto::AntiReplay;
use neqo_http3::{Http3OrWebTransportStream, Http3Server, Http3ServerEvent, Http3State};
use neqo_transport::{Output, server::ValidateAddress};
use quiclab_contract::{PartialBody, TestCase};

use crate::{nss, server::Server, settings::Settings, transport};

/// Connections with HTTP/3.
pub struct H3<'a> {
    http: Http3Server,
    settings: &'a Settings,
    /// Files that are being sent.
    bodies: HashMap<Http3OrWebTransportStream, PartialBody>,
}

impl<'a> H3<'a> {
    /// Nobody has connected yet.
    ///
    /// # Errors
    /// Where neqo cannot make its keys.
    pub fn new(settings: &'a Settings, anti_replay: AntiReplay) -> Result<Self> {
        let mut http = Http3Server::new(
            transport::clock(settings),
            &[nss::NAME],
            &[transport::alpn(settings)],
            anti_replay,
            transport::connection_ids(),
            transport::http_parameters(settings),
            None,
        )?;
        http.set_ciphers(transport::ciphers(settings));
        http.set_qlog_dir(settings.qlog.clone());
        if settings.test_case == TestCase::Retry {
            http.set_validation(ValidateAddress::Always);
        }
        Ok(Self { http, settings, bodies: HashMap::new() })
    }

    fn on_event(&mut self, event: Http3ServerEvent) -> Result<()> {
        match event {
            Http3ServerEvent::Headers { stream, headers, .. } => self.answer(&stream, &headers),
            Http3ServerEvent::DataWritable { stream } => self.send(&stream),
            Http3ServerEvent::StreamReset { stream, .. } | Http3ServerEvent::StreamStopSending { stream, .. } => {
                self.bodies.remove(&stream);
                Ok(())
            }
            Http3ServerEvent::StateChange { conn, state: Http3State::Closed(_) } => {
                self.bodies.retain(|stream, _| stream.conn != conn);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, stream: &Http3OrWebTransportStream, headers: &[Header]) -> Result<()> {
        let value = |name: &str| headers.iter().find(|header| header.name() == name).map_or("", Header::value);
        let status = |status: &str| stream.send_headers(&[Header::new(":status", status)]);
        if value(":method") != "GET" {
            status("405")?;
            return Ok(stream.stream_close_send()?);
        }
        let path = value(":path");
        match PartialBody::open(path.as_bytes(), &self.settings.www) {
            Ok(body) => {
                let length = Header::new("content-length", body.size().to_string());
                stream.send_headers(&[Header::new(":status", "200"), length])?;
                self.bodies.insert(stream.clone(), body);
                self.send(stream)
            }
            Err(error) => {
                status("404")?;
                stream.stream_close_send()?;
                bail!("{path}: {error}")
            }
        }
    }

    /// Hands over as much of a file as neqo takes.
    fn send(&mut self, stream: &Http3OrWebTransportStream) -> Result<()> {
        let Some(body) = self.bodies.get_mut(stream) else { return Ok(()) };
        loop {
            let (bytes, _) = body.rest()?;
            // neqo puts every piece into a DATA frame of its own, and has none that is empty.
            let taken = if bytes.is_empty() { 0 } else { stream.send_data(bytes)? };
            let is_blocked = taken == 0 && !bytes.is_empty();
            if is_blocked {
                return Ok(());
            }
            if body.take(taken) {
                self.bodies.remove(stream);
                return Ok(stream.stream_close_send()?);
            }
        }
    }
}

impl Server for H3<'_> {
    fn process(&mut self, datagram: Option<Datagram<&mut [u8]>>, now: Instant) -> Output {
        self.http.process(datagram, now)
    }

    fn has_events(&self) -> bool {
        self.http.has_events()
    }

    fn handle(&mut self, _now: Instant) {
        while let Some(event) = self.http.next_event() {
            if let Err(error) = self.on_event(event) {
                eprintln!("{error:#}");
            }
        }
    }
}
