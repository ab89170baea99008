//! The client: fetches every URL over one connection, stores the bodies, and says whether all of it is right.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use quiche::h3::{self, Header, NameValue};

use crate::{
    settings::{Request, Settings},
    transport,
    udp::{Sent, Socket},
};

/// How long the server may take to complete the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest datagram that is read whole.
const RECEIVE_BUFFER: usize = 65_535;

/// RFC 9114, section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, or a file cannot be written.
pub fn run(settings: &Settings) -> Result<()> {
    let target = settings.requests.first().context("REQUESTS: found no URL")?;
    let peer = resolve(target)?;
    let mut socket = Socket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), settings)?;
    socket.connect(peer)?;
    let id = transport::random_connection_id()?;
    let mut config = transport::config(settings)?;
    let mut quic = quiche::connect(Some(&target.host), &id, socket.local(), peer, &mut config)?;
    transport::log_keys(&mut quic, settings)?;

    let outcome = fetch(&mut quic, &mut socket, settings);
    // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
    let _ = quic.close(true, H3_NO_ERROR, b"");
    while socket.send_from(&mut quic)? == Sent::Batch {}
    outcome
}

/// The first IPv4 address of the host; the laboratory's network has no other kind.
fn resolve(request: &Request) -> Result<SocketAddr> {
    let addresses = (request.host.as_str(), request.port).to_socket_addrs();
    let mut addresses = addresses.with_context(|| format!("resolving {}", request.host))?;
    addresses.find(SocketAddr::is_ipv4).with_context(|| format!("{}: found no IPv4 address", request.host))
}

fn fetch(quic: &mut quiche::Connection, socket: &mut Socket, settings: &Settings) -> Result<()> {
    let mut buffer = vec![0; RECEIVE_BUFFER];
    let mut downloads = Downloads::new(settings);
    let mut http: Option<h3::Connection> = None;
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    let mut more_to_send = true;
    loop {
        let mut timeout = quic.timeout();
        if http.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "handshake: not done within {HANDSHAKE_TIMEOUT:?}");
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        if !more_to_send && timeout != Some(Duration::ZERO) {
            socket.wait(timeout)?;
        }
        while let Some((length, from)) = socket.receive(&mut buffer)? {
            // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
            let _ = quic.recv(&mut buffer[..length], quiche::RecvInfo { from, to: socket.local() });
        }
        // Does nothing but where a timer has run out.
        quic.on_timeout();
        if http.is_none() && quic.is_established() {
            http = Some(h3::Connection::with_transport(quic, &h3::Config::new()?)?);
        }
        if let Some(http) = &mut http {
            downloads.request(quic, http)?;
            downloads.take(quic, http, &mut buffer)?;
        }
        if downloads.are_complete() {
            return Ok(());
        }
        more_to_send = socket.send_from(quic)? == Sent::Batch;
        if quic.is_draining() || quic.is_closed() {
            bail!("connection ended early: {}", end_of(quic));
        }
    }
}

/// Why a connection is over, in words.
fn end_of(quic: &quiche::Connection) -> String {
    let side = |name, error: &quiche::ConnectionError| {
        let kind = if error.is_app { "HTTP/3" } else { "QUIC" };
        format!("{kind} error {:#x} from this {name}: {}", error.error_code, String::from_utf8_lossy(&error.reason))
    };
    match (quic.local_error(), quic.peer_error()) {
        _ if quic.is_timed_out() => "idle timeout".to_owned(),
        (Some(error), _) => side("client", error),
        (None, Some(error)) => side("server", error).replace("this ", "the "),
        (None, None) => "no reason given".to_owned(),
    }
}

/// The requests and what has come of them.
struct Downloads<'a> {
    /// Not sent yet, last one first.
    waiting: Vec<&'a Request>,
    /// By stream.
    running: BTreeMap<u64, Download<'a>>,
    folder: &'a Path,
}

struct Download<'a> {
    request: &'a Request,
    /// `None` until the response headers are there.
    file: Option<File>,
    /// Bytes announced by content-length; `None`: nothing announced.
    expected: Option<u64>,
    received: u64,
}

impl<'a> Downloads<'a> {
    fn new(settings: &'a Settings) -> Self {
        let waiting = settings.requests.iter().rev().collect();
        Self { waiting, running: BTreeMap::new(), folder: &settings.downloads }
    }

    fn are_complete(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Sends as many requests as the server allows streams.
    fn request(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection) -> Result<()> {
        while let Some(&request) = self.waiting.last() {
            let headers = [
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", request.authority().as_bytes()),
                Header::new(b":path", request.path.as_bytes()),
                Header::new(b"user-agent", b"quiche"),
            ];
            match http.send_request(quic, &headers, true) {
                Ok(stream) => {
                    self.waiting.pop();
                    self.running.insert(stream, Download { request, file: None, expected: None, received: 0 });
                }
                Err(h3::Error::StreamBlocked | h3::Error::TransportError(quiche::Error::StreamLimit)) => break,
                Err(error) => return Err(error).with_context(|| format!("requesting {}", request.path)),
            }
        }
        Ok(())
    }

    /// Stores what has arrived.
    fn take(&mut self, quic: &mut quiche::Connection, http: &mut h3::Connection, buffer: &mut [u8]) -> Result<()> {
        loop {
            let (stream, event) = match http.poll(quic) {
                Ok(event) => event,
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error).context("HTTP/3"),
            };
            let Some(download) = self.running.get_mut(&stream) else { continue };
            let path = &download.request.path;
            match event {
                h3::Event::Headers { list, .. } => download.on_headers(&list, self.folder)?,
                h3::Event::Data => {
                    let file = download.file.as_mut().with_context(|| format!("{path}: body before headers"))?;
                    while let Ok(length) = http.recv_body(quic, stream, buffer) {
                        file.write_all(&buffer[..length]).with_context(|| format!("{path}: storing"))?;
                        download.received += length as u64;
                    }
                }
                h3::Event::Finished => {
                    if let Some(expected) = download.expected.filter(|&expected| expected != download.received) {
                        bail!("{path}: found {} bytes, expected {expected}", download.received);
                    }
                    ensure!(download.file.is_some(), "{path}: ended without a response");
                    self.running.remove(&stream);
                }
                h3::Event::Reset(code) => bail!("{path}: the server reset the stream with {code:#x}"),
                _ => {}
            }
        }
    }
}

impl Download<'_> {
    fn on_headers(&mut self, headers: &[Header], folder: &Path) -> Result<()> {
        let path = &self.request.path;
        let value = |name: &[u8]| {
            let header = headers.iter().find(|header| header.name() == name)?;
            std::str::from_utf8(header.value()).ok()
        };
        // Interim responses (RFC 9114, section 4.1) and trailers carry no status of interest.
        let Some(status) = value(b":status").filter(|status| !status.starts_with('1')) else {
            return Ok(());
        };
        ensure!(status == "200", "{path}: found status {status}, expected 200");
        self.expected = match value(b"content-length") {
            Some(text) => Some(text.parse().with_context(|| format!("{path}: content-length {text:?}"))?),
            None => None,
        };
        let stored = folder.join(&self.request.file_name);
        self.file = Some(File::create(&stored).with_context(|| format!("creating {}", stored.display()))?);
        Ok(())
    }
}
