//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    cell::RefCell,
    net::SocketAddr,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use anyhow::{Context, Error, Result, bail};
use bytes::Bytes;
use quiclab_contract::{
    Downloads, Http, Request, hq,
    perf::{COUNTERS, Exchanges, LATENCIES, Load},
};
use tquic::{
    Connection, TransportHandler,
    h3::{Header, Http3Config, Http3Error, Http3Event, NameValue, connection::Http3Connection},
};

use crate::{driver::Driver, perf, settings::Settings, transport};

/// Bytes read from a stream at once.
const CHUNK: usize = 64 * 1024;

/// RFC 9114, section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// What the draft of `perf` leaves open.
const PERF_NO_ERROR: u64 = 0;

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, or a file cannot be written.
pub fn run(settings: &Settings) -> Result<()> {
    let peer = settings.resolve()?;
    if settings.perf_load == Load::Handshakes {
        return shake_hands(settings, peer);
    }
    let (first, others) = settings.connections();
    if others.is_empty() {
        fetch(settings, peer, first, None, false)?;
        return Ok(());
    }
    let session = fetch(settings, peer, first, None, true)?.context("the server gave no session ticket")?;
    fetch(settings, peer, others, Some(&session), false)?;
    Ok(())
}

/// Opens connections until the time is over: one per URL at a time, each in a thread of its own.
fn shake_hands(settings: &Settings, peer: SocketAddr) -> Result<()> {
    let deadline = Instant::now() + settings.perf_duration.unwrap_or_default();
    let has_failed = AtomicBool::new(false);
    let one = || {
        while Instant::now() < deadline && !has_failed.load(Ordering::Relaxed) {
            fetch(settings, peer, &[], None, false).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = settings.requests.iter().map(|_| scope.spawn(one)).collect();
        let outcomes = all.into_iter().map(|one| one.join().unwrap_or_else(|_| bail!("a thread panicked")));
        outcomes.collect()
    })
}

/// Fetches `requests` over one connection. Its session, where `keep_session` says to wait for one.
fn fetch(
    settings: &Settings,
    peer: SocketAddr,
    requests: &[Request],
    session: Option<&[u8]>,
    keep_session: bool,
) -> Result<Option<Vec<u8>>> {
    let transfer = Rc::new(RefCell::new(Transfer::new(requests, settings)));
    let handler = Client { settings: settings.clone(), transfer: transfer.clone() };
    let mut driver = Driver::new(settings, Box::new(handler))?;
    transfer.borrow_mut().began = (settings.perf_load == Load::Handshakes).then(Instant::now);
    let index = driver.endpoint.connect(driver.socket.local(), peer, Some(settings.host()), session, None, None)?;
    let (outcome, kept) = loop {
        if let Some(quic) = driver.endpoint.conn_get_mut(index) {
            transfer.borrow_mut().request(quic);
        }
        driver.process()?;
        let mut transfer = transfer.borrow_mut();
        if let Some(error) = transfer.failure.take() {
            break (Err(error), None);
        }
        if transfer.is_complete() {
            let kept = driver.endpoint.conn_get_mut(index).and_then(|quic| quic.session().map(<[u8]>::to_vec));
            if !keep_session || kept.is_some() {
                break (Ok(()), kept);
            }
        }
        drop(transfer);
        driver.wait()?;
    };
    // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
    if let Some(quic) = driver.endpoint.conn_get_mut(index) {
        if session.is_some() && !quic.is_resumed() {
            bail!("the server did not resume the session");
        }
        let no_error = if settings.perf.is_some() { PERF_NO_ERROR } else { H3_NO_ERROR };
        let _ = quic.close(true, no_error, b"");
        driver.process()?;
    }
    outcome.map(|()| kept)
}

struct Client {
    settings: Settings,
    transfer: Rc<RefCell<Transfer>>,
}

/// The requests of one connection and what has come of them.
struct Transfer {
    version: Http,
    /// `None` with HTTP/0.9, and until it can begin.
    http: Option<Http3Connection>,
    downloads: Downloads,
    /// What there is instead in the test case `perf`.
    exchanges: Option<Exchanges>,
    /// When the connection began, if its handshake is what is measured.
    began: Option<Instant>,
    buffer: Vec<u8>,
    /// The first thing that went wrong.
    failure: Option<Error>,
}

impl Transfer {
    fn new(requests: &[Request], settings: &Settings) -> Self {
        Self {
            version: settings.http,
            http: None,
            // Stored as it comes.
            downloads: Downloads::new(requests, settings, 0),
            exchanges: settings.perf.map(|sizes| {
                let all = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
                all.with(settings.perf_load)
            }),
            began: None,
            buffer: vec![0; CHUNK],
            failure: None,
        }
    }

    fn is_complete(&self) -> bool {
        self.exchanges.as_ref().map_or_else(|| self.downloads.are_complete(), Exchanges::are_complete)
    }

    fn note<T>(&mut self, outcome: Result<T>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }

    /// Sends as many requests as the settings and the server allow.
    fn request(&mut self, quic: &mut Connection) {
        if !(quic.is_established() || quic.is_in_early_data()) || quic.is_closed() || quic.is_draining() {
            return;
        }
        if let Some(exchanges) = &mut self.exchanges {
            let outcome = perf::open(quic, exchanges);
            return self.note(outcome);
        }
        while let Some(request) = self.downloads.next().cloned() {
            let started = match self.version {
                Http::H3 => self.start_h3(quic, &request),
                Http::Hq => start_hq(quic, &request),
            };
            match started.with_context(|| format!("requesting {}", request.path)) {
                Ok(Some(stream)) => self.downloads.sent(stream),
                Ok(None) => break,
                Err(error) => return self.note::<()>(Err(error)),
            }
        }
    }

    /// Sends an HTTP/3 request. `None`: a limit forbids it now.
    fn start_h3(&mut self, quic: &mut Connection, request: &Request) -> Result<Option<u64>> {
        if self.http.is_none() {
            self.http = Some(Http3Connection::new_with_quic_conn(quic, &Http3Config::new()?)?);
        }
        let http = self.http.as_mut().context("HTTP/3 has begun")?;
        let stream = match http.stream_new(quic) {
            Ok(stream) => stream,
            Err(Http3Error::TransportError(tquic::Error::StreamLimitError)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let headers = [
            Header::new(b":method", b"GET"),
            Header::new(b":scheme", b"https"),
            Header::new(b":authority", request.authority().as_bytes()),
            Header::new(b":path", request.path.as_bytes()),
            Header::new(b"user-agent", b"tquic"),
        ];
        http.send_headers(quic, stream, &headers, true)?;
        Ok(Some(stream))
    }

    /// Stores what has arrived.
    fn take(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        if let Some(exchanges) = &mut self.exchanges {
            return perf::take(quic, exchanges, stream, &mut self.buffer);
        }
        match self.version {
            Http::H3 => self.take_h3(quic),
            Http::Hq => self.take_hq(quic, stream),
        }
    }

    fn take_h3(&mut self, quic: &mut Connection) -> Result<()> {
        let Some(http) = &mut self.http else { return Ok(()) };
        loop {
            let (stream, event) = match http.poll(quic) {
                Ok(event) => event,
                Err(Http3Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let Some((download, folder)) = self.downloads.running(stream) else { continue };
            match event {
                Http3Event::Headers { headers, .. } => {
                    let value = |name: &str| {
                        let header = headers.iter().find(|header| header.name() == name.as_bytes());
                        header.map(|header| header.value())
                    };
                    download.on_headers(value, folder)?;
                }
                Http3Event::Data => {
                    while let Ok(length) = http.recv_body(quic, stream, &mut self.buffer) {
                        download.store(&self.buffer[..length])?;
                    }
                }
                Http3Event::Finished => self.downloads.finish(stream)?,
                Http3Event::Reset(code) => {
                    bail!("{}: the server reset the stream with {code:#x}", download.request.path)
                }
                _ => {}
            }
        }
    }

    fn take_hq(&mut self, quic: &mut Connection, stream: u64) -> Result<()> {
        let Some((download, folder)) = self.downloads.running(stream) else { return Ok(()) };
        loop {
            let (length, finished) = match quic.stream_read(stream, &mut self.buffer) {
                Ok(read) => read,
                Err(tquic::Error::Done) => return Ok(()),
                Err(error) => return Err(error).with_context(|| format!("{}: receiving", download.request.path)),
            };
            download.create(folder)?;
            download.store(&self.buffer[..length])?;
            if finished {
                return Ok(self.downloads.finish(stream)?);
            }
        }
    }
}

/// Sends an HTTP/0.9 request. `None`: the server allows no more streams now.
fn start_hq(quic: &mut Connection, request: &Request) -> Result<Option<u64>> {
    let stream = match quic.stream_bidi_new(0, false) {
        Ok(stream) => stream,
        Err(tquic::Error::StreamLimitError) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let line = Bytes::from(hq::line(request));
    let length = line.len();
    anyhow::ensure!(quic.stream_write(stream, line, true)? == length, "the server's window is smaller than a request");
    Ok(Some(stream))
}

impl TransportHandler for Client {
    fn on_conn_created(&mut self, quic: &mut Connection) {
        let outcome = transport::start_logs(quic, &self.settings);
        self.transfer.borrow_mut().note(outcome);
    }

    fn on_conn_established(&mut self, quic: &mut Connection) {
        COUNTERS.connected();
        if let Some(began) = self.transfer.borrow().began {
            LATENCIES.since(began);
        }
        self.transfer.borrow_mut().request(quic);
    }

    fn on_conn_closed(&mut self, quic: &mut Connection) {
        let mut transfer = self.transfer.borrow_mut();
        let end = Error::msg(format!("connection ended early: {}", transport::end_of(quic)));
        transfer.note::<()>(Err(end));
    }

    fn on_stream_created(&mut self, _quic: &mut Connection, _stream: u64) {}

    fn on_stream_readable(&mut self, quic: &mut Connection, stream: u64) {
        let mut transfer = self.transfer.borrow_mut();
        let outcome = transfer.take(quic, stream);
        transfer.note(outcome);
        transfer.request(quic);
    }

    fn on_stream_writable(&mut self, quic: &mut Connection, stream: u64) {
        let mut transfer = self.transfer.borrow_mut();
        match &mut transfer.exchanges {
            Some(exchanges) => {
                let outcome = perf::send(quic, exchanges, stream);
                transfer.note(outcome);
            }
            None => drop(quic.stream_want_write(stream, false)),
        }
    }

    fn on_stream_closed(&mut self, _quic: &mut Connection, stream: u64) {
        if let Some(http) = &mut self.transfer.borrow_mut().http {
            http.stream_destroy(stream);
        }
    }

    fn on_new_token(&mut self, _quic: &mut Connection, _token: Vec<u8>) {}
}
