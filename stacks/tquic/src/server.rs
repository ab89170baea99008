//! The server: answers GET requests from a folder until it is killed.

use std::{collections::BTreeMap, rc::Rc};

use anyhow::{Context, Result};
use quiclab_contract::{Http, TestCase, perf::COUNTERS};
use tquic::{
    Connection, TransportHandler,
    h3::{Http3Config, Http3Error, Http3Event, connection::Http3Connection},
};

use crate::{driver::Driver, perf, response::Response, settings::Settings, termination, transport};

/// Longest HTTP/0.9 request, in bytes.
const MAX_REQUEST: usize = 4096;

/// Serves until SIGTERM.
///
/// # Errors
/// Where the socket or the certificate cannot be used. What a client does wrong is its own connection's matter.
pub fn run(settings: Settings) -> Result<()> {
    termination::watch()?;
    let settings = Rc::new(settings);
    let handler = Server { settings: settings.clone(), exchanges: BTreeMap::new() };
    let mut driver = Driver::new(&settings, Box::new(handler))?;
    while !termination::is_asked() {
        driver.wait()?;
        driver.process()?;
    }
    Ok(())
}

struct Server {
    settings: Rc<Settings>,
    /// By the index of the connection.
    exchanges: BTreeMap<u64, Exchanges>,
}

/// What happens on one connection.
#[derive(Default)]
struct Exchanges {
    /// `None` with HTTP/0.9, and until it is needed.
    http: Option<Http3Connection>,
    /// HTTP/0.9 requests that are not whole yet, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    /// By stream.
    responses: BTreeMap<u64, Response>,
    /// What there is instead in the test case `perf`.
    perf: perf::Server,
}

impl Server {
    /// Does something on the connection, and says on stderr where that went wrong.
    fn with(
        &mut self,
        quic: &mut Connection,
        action: impl FnOnce(&mut Exchanges, &mut Connection, &Settings) -> Result<()>,
    ) {
        let Some(exchanges) = quic.index().and_then(|index| self.exchanges.get_mut(&index)) else { return };
        if let Err(error) = action(exchanges, quic, &self.settings) {
            eprintln!("connection {}: {error:#}", quic.trace_id());
        }
    }
}

impl Exchanges {
    /// Reads what has arrived on `stream`.
    fn read(&mut self, quic: &mut Connection, settings: &Settings, stream: u64) -> Result<()> {
        match (settings.test_case, settings.http) {
            (TestCase::Perf, _) => self.perf.read(quic, stream),
            (_, Http::H3) => self.read_h3(quic, settings),
            (_, Http::Hq) => self.read_hq(quic, settings, stream),
        }
    }

    fn read_h3(&mut self, quic: &mut Connection, settings: &Settings) -> Result<()> {
        if self.http.is_none() {
            self.http = Some(Http3Connection::new_with_quic_conn(quic, &Http3Config::new()?)?);
        }
        loop {
            let http = self.http.as_mut().context("HTTP/3 has begun")?;
            match http.poll(quic) {
                Ok((stream, Http3Event::Headers { headers, .. })) => {
                    self.responses.insert(stream, Response::to_h3(&headers, &settings.www));
                    self.write(quic, stream)?;
                }
                Ok((stream, Http3Event::Data)) => {
                    // A GET has no use for a body, but its flow control must not stall.
                    let mut unused = [0; 4096];
                    while http.recv_body(quic, stream, &mut unused).is_ok() {}
                }
                Ok((stream, Http3Event::Reset(_))) => {
                    self.responses.remove(&stream);
                }
                Ok(_) => {}
                Err(Http3Error::Done) => return Ok(()),
                // HTTP/3 has closed the connection with the right code.
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn read_hq(&mut self, quic: &mut Connection, settings: &Settings, stream: u64) -> Result<()> {
        let mut buffer = [0; MAX_REQUEST];
        loop {
            let (length, finished) = match quic.stream_read(stream, &mut buffer) {
                Ok(read) => read,
                Err(tquic::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("receiving a request"),
            };
            let request = self.requests.entry(stream).or_default();
            request.extend_from_slice(&buffer[..length]);
            anyhow::ensure!(request.len() <= MAX_REQUEST, "a request of more than {MAX_REQUEST} bytes");
            if finished {
                let line = self.requests.remove(&stream).unwrap_or_default();
                if let Some(response) = Response::to_hq(&line, &settings.www, quic, stream) {
                    self.responses.insert(stream, response);
                    self.write(quic, stream)?;
                }
                return Ok(());
            }
        }
    }

    /// Hands over more of the response on `stream`.
    fn write(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        let Some(response) = self.responses.get_mut(&stream) else {
            let _ = quic.stream_want_write(stream, false);
            return Ok(());
        };
        let outcome = response.advance(quic, self.http.as_mut(), stream);
        if !matches!(outcome, Ok(false)) {
            self.responses.remove(&stream);
        }
        outcome.map(|_| ())
    }
}

impl TransportHandler for Server {
    fn on_conn_created(&mut self, quic: &mut Connection) {
        if let Some(index) = quic.index() {
            self.exchanges.insert(index, Exchanges::default());
        }
        self.with(quic, |_, quic, settings| transport::start_logs(quic, settings));
    }

    fn on_conn_established(&mut self, quic: &mut Connection) {
        COUNTERS.connected();
        self.with(quic, |exchanges, quic, settings| match (settings.test_case, settings.http) {
            (TestCase::Perf, _) | (_, Http::Hq) => Ok(()),
            (_, Http::H3) => exchanges.read_h3(quic, settings),
        });
    }

    fn on_conn_closed(&mut self, quic: &mut Connection) {
        if let Some(index) = quic.index() {
            self.exchanges.remove(&index);
        }
    }

    fn on_stream_created(&mut self, _quic: &mut Connection, _stream: u64) {}

    fn on_stream_readable(&mut self, quic: &mut Connection, stream: u64) {
        self.with(quic, |exchanges, quic, settings| exchanges.read(quic, settings, stream));
    }

    fn on_stream_writable(&mut self, quic: &mut Connection, stream: u64) {
        self.with(quic, |exchanges, quic, settings| match settings.test_case {
            TestCase::Perf => exchanges.perf.write(quic, stream),
            _ => exchanges.write(quic, stream),
        });
    }

    fn on_stream_closed(&mut self, quic: &mut Connection, stream: u64) {
        self.with(quic, |exchanges, _, _| {
            exchanges.responses.remove(&stream);
            exchanges.requests.remove(&stream);
            exchanges.perf.forget(stream);
            if let Some(http) = &mut exchanges.http {
                http.stream_destroy(stream);
            }
            Ok(())
        });
    }

    fn on_new_token(&mut self, _quic: &mut Connection, _token: Vec<u8>) {}
}
