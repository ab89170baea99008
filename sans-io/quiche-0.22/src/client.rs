//! The client: fetches every URL over one connection, and says whether all of it is right.

use std::{cell::RefCell, net::SocketAddr, rc::Rc, time::Duration};

use anyhow::{Result, bail, ensure};
use quiclab_contract::Role;
use quiclab_sans_io::{Answer, Endpoint, Received};

use crate::{
    addresses::address, http::Http, machine, outbox::Outbox, requests::Requests, settings::Settings, transport,
};

/// How long the server may take to complete the handshake, in nanoseconds.
const HANDSHAKE_TIMEOUT_NS: u64 = 10_000_000_000;

/// Largest part of a stream that is read at once.
const RECEIVE_BUFFER: usize = 65_535;

/// RFC 9114, section 8.1. As HTTP/0.9 has no codes, it serves there too.
const H3_NO_ERROR: u64 = 0x100;

/// The client of one connection.
pub struct Client<'a> {
    settings: &'a Settings,
    config: Rc<RefCell<quiche::Config>>,
    local: SocketAddr,
    peer: SocketAddr,
    outbox: Outbox,
    buffer: Vec<u8>,
    /// `None` before the first order.
    connection: Option<Connection>,
}

struct Connection {
    quic: quiche::Connection,
    /// `None` until requests can be sent.
    http: Option<Http>,
    requests: Requests,
    /// Until when the handshake must be done, since the start of the run.
    deadline_ns: u64,
}

/// The configuration of all connections.
///
/// # Errors
/// Where quiche refuses a setting.
pub fn config(settings: &Settings) -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    transport::configure(&mut config, settings)?;
    Ok(config)
}

impl<'a> Client<'a> {
    /// Not connected yet.
    ///
    /// # Errors
    /// Where the file of planned send times cannot be created.
    pub fn new(settings: &'a Settings, config: Rc<RefCell<quiche::Config>>) -> Result<Self> {
        let port = settings.requests.first().map_or(settings.port, |request| request.port);
        let [local, peer] = [Role::Client, Role::Server].map(|role| address(settings.ip, role, port));
        let (outbox, buffer) = (Outbox::new(settings)?, vec![0; RECEIVE_BUFFER]);
        Ok(Self { settings, config, local, peer, outbox, buffer, connection: None })
    }

    fn connect(&mut self, now_ns: u64) -> Result<Connection> {
        let settings = self.settings;
        let id = transport::random_connection_id()?;
        let mut quic =
            quiche::connect(Some(settings.host()), &id, self.local, self.peer, &mut self.config.borrow_mut())?;
        transport::log(&mut quic, settings)?;
        let requests = Requests::new(&settings.requests, settings);
        Ok(Connection { quic, http: None, requests, deadline_ns: now_ns.saturating_add(HANDSHAKE_TIMEOUT_NS) })
    }
}

impl Endpoint for Client<'_> {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        machine::set_now(now_ns);
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect(now_ns)?,
        };
        for mut datagram in datagrams {
            // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
            let info = quiche::RecvInfo { from: self.peer, to: self.local };
            let _ = connection.quic.recv(&mut datagram.payload, info);
        }
        let mut answer = Answer::default();
        self.outbox.begin();
        loop {
            connection.advance(self.settings, &mut self.buffer)?;
            let quic = &mut connection.quic;
            if connection.requests.are_complete() {
                // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
                let _ = quic.close(true, H3_NO_ERROR, b"");
                while self.outbox.send_from(quic, &mut answer)? {}
                answer.is_done = true;
                return Ok(answer);
            }
            let more_to_send = self.outbox.send_from(quic, &mut answer)?;
            if quic.is_draining() || quic.is_closed() {
                bail!("connection ended early: {}", end_of(quic));
            }
            if !more_to_send {
                break;
            }
        }
        answer.next = connection.next(now_ns)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

impl Connection {
    /// Starts HTTP once requests can be sent, sends them, stores what has come.
    fn advance(&mut self, settings: &Settings, buffer: &mut [u8]) -> Result<()> {
        let Self { quic, http, requests, .. } = self;
        // Does nothing but where a timer has run out.
        quic.on_timeout();
        if http.is_none() && quic.is_established() {
            *http = Some(Http::start(settings, quic)?);
        }
        if let Some(http) = http {
            requests.send(quic, http)?;
            requests.take(quic, http, buffer)?;
        }
        Ok(())
    }

    /// When something is to be done though nothing arrives.
    fn next(&self, now_ns: u64) -> Result<Option<u64>> {
        let timer = next(self.quic.timeout(), now_ns);
        if self.http.is_some() {
            return Ok(timer);
        }
        let timeout = Duration::from_nanos(HANDSHAKE_TIMEOUT_NS);
        ensure!(now_ns < self.deadline_ns, "handshake: not there within {timeout:?}");
        Ok(timer.into_iter().chain([self.deadline_ns]).min())
    }
}

/// The end of quiche's timer, since the start of the run. What cannot be written down does not happen.
pub fn next(timeout: Option<Duration>, now_ns: u64) -> Option<u64> {
    now_ns.checked_add(u64::try_from(timeout?.as_nanos()).ok()?)
}

/// Why a connection is over, in words.
fn end_of(quic: &quiche::Connection) -> String {
    let side = |name, error: &quiche::ConnectionError| {
        let kind = if error.is_app { "HTTP" } else { "QUIC" };
        format!("{kind} error {:#x} from {name}: {}", error.error_code, String::from_utf8_lossy(&error.reason))
    };
    match (quic.local_error(), quic.peer_error()) {
        _ if quic.is_timed_out() => "idle timeout".to_owned(),
        (Some(error), _) => side("this client", error),
        (None, Some(error)) => side("the server", error),
        (None, None) => "no reason given".to_owned(),
    }
}
