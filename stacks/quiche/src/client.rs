//! The client: fetches every URL over one connection or two, and says whether all of it is right.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_contract::{
    Request, TestCase,
    perf::{Exchanges, Load},
};

use crate::{
    http::Http,
    ids, perf,
    requests::Requests,
    settings::Settings,
    transport,
    udp::{Sent, Socket},
};

/// How long the server may take to complete the handshake, and then to send a session ticket where one is needed.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest datagram that is read whole.
const RECEIVE_BUFFER: usize = 65_535;

/// RFC 9114, section 8.1. As HTTP/0.9 has no codes, it serves there too.
const H3_NO_ERROR: u64 = 0x100;

/// What the draft of `perf` leaves open.
const PERF_NO_ERROR: u64 = 0;

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, a session is not resumed where it should be, or a file cannot be
/// written.
pub fn run(settings: &Settings) -> Result<()> {
    if settings.perf_load == Load::Handshakes {
        return shake_hands(settings);
    }
    let mut client = Client { settings, peer: settings.resolve()?, config: config(settings)? };
    let (first, others) = settings.connections();
    let session = client.fetch_over_one_connection(first, None)?;
    if !others.is_empty() {
        client.fetch_over_one_connection(others, Some(&session))?;
    }
    Ok(())
}

/// Opens connections until the time is over: one per URL at a time, each in a thread of its own.
fn shake_hands(settings: &Settings) -> Result<()> {
    let peer = settings.resolve()?;
    let deadline = Instant::now() + settings.perf_duration.unwrap_or_default();
    let has_failed = AtomicBool::new(false);
    let one = || {
        let mut client = Client { settings, peer, config: config(settings)? };
        while Instant::now() < deadline && !has_failed.load(Ordering::Relaxed) {
            client.fetch_over_one_connection(&[], None).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let all: Vec<_> = settings.requests.iter().map(|_| scope.spawn(one)).collect();
        let outcomes = all.into_iter().map(|one| one.join().unwrap_or_else(|_| bail!("a thread panicked")));
        outcomes.collect()
    })
}

fn config(settings: &Settings) -> Result<quiche::Config> {
    let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
    transport::configure(&mut config, settings)?;
    Ok(config)
}

struct Client<'a> {
    settings: &'a Settings,
    peer: SocketAddr,
    config: quiche::Config,
}

impl Client<'_> {
    /// Fetches `requests` over a connection of their own, resuming `session` where there is one. Returns the session of
    /// this connection, for which it waits where the test case needs one; otherwise it can be empty.
    fn fetch_over_one_connection(&mut self, requests: &[Request], session: Option<&[u8]>) -> Result<Vec<u8>> {
        let settings = self.settings;
        let began = (settings.perf_load == Load::Handshakes).then(Instant::now);
        let mut socket = Socket::bind(settings)?;
        socket.connect(self.peer)?;
        let id = transport::random_connection_id()?;
        let mut quic = quiche::connect(Some(settings.host()), &id, socket.local(), self.peer, &mut self.config)?;
        transport::log(&mut quic, settings)?;
        #[cfg(feature = "boring")]
        if settings.test_case == TestCase::ChaCha20 {
            crate::tls::offer_chacha20_only(&mut quic)?;
        }
        #[cfg(feature = "boring")]
        if let Some(exchange) = settings.handshake.key_exchange {
            crate::tls::offer_key_exchange(&mut quic, exchange)?;
        }
        if let Some(session) = session {
            quic.set_session(session).context("resuming a session")?;
        }
        let wants_session = settings.test_case.takes_two_connections() && session.is_none();

        let (work, no_error) = match settings.perf {
            Some(sizes) => {
                let exchanges = Exchanges::new(sizes, requests.len(), settings.streams, settings.perf_duration);
                let exchanges = exchanges.with(settings.perf_load).every(settings.perf_period);
                (Work::Perf(perf::Client::new(exchanges, began)), PERF_NO_ERROR)
            }
            None => (Work::Files(Requests::new(requests, settings)), H3_NO_ERROR),
        };
        let outcome = fetch(&mut quic, &mut socket, work, settings, wants_session);
        // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
        let _ = quic.close(true, no_error, b"");
        while socket.send_from(&mut quic)? == Sent::Batch {}
        outcome?;
        ensure!(session.is_none() || quic.is_resumed(), "the server did not resume the session");
        Ok(quic.session().unwrap_or_default().to_vec())
    }
}

/// What a connection is there for.
enum Work {
    Files(Requests),
    Perf(perf::Client),
}

impl Work {
    fn is_complete(&self) -> bool {
        match self {
            Self::Files(requests) => requests.are_complete(),
            Self::Perf(streams) => streams.are_complete(),
        }
    }

    /// When something is to be sent although nothing arrives.
    fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Files(_) => None,
            Self::Perf(streams) => streams.next_due(),
        }
    }

    /// Sends what may be sent, and takes what has arrived.
    fn advance(&mut self, quic: &mut quiche::Connection, http: &mut Http, buffer: &mut [u8]) -> Result<()> {
        match self {
            Self::Files(requests) => {
                requests.send(quic, http)?;
                requests.take(quic, http, buffer)
            }
            Self::Perf(streams) => streams.advance(quic, buffer),
        }
    }
}

fn fetch(
    quic: &mut quiche::Connection,
    socket: &mut Socket,
    mut work: Work,
    settings: &Settings,
    wants_session: bool,
) -> Result<()> {
    let mut buffer = vec![0; RECEIVE_BUFFER];
    let mut http: Option<Http> = None;
    let mut deadline = Some(Instant::now() + HANDSHAKE_TIMEOUT);
    let mut more_to_send = true;
    let mut retired = Vec::new();
    loop {
        let mut timeout = quic.timeout();
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let what = if http.is_none() { "handshake" } else { "session ticket" };
            ensure!(!left.is_zero(), "{what}: not there within {HANDSHAKE_TIMEOUT:?}");
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        if let Some(due) = work.next_due() {
            let left = due.saturating_duration_since(Instant::now());
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        if !more_to_send && timeout != Some(Duration::ZERO) {
            socket.wait(timeout)?;
        }
        while let Some(received) = socket.receive(&mut buffer)? {
            let (from, to) = (received.from, socket.local());
            for datagram in buffer[..received.length].chunks_mut(received.segment) {
                if retired.iter().any(|id| ids::is_to(datagram, id)) {
                    continue;
                }
                // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
                let _ = quic.recv(datagram, quiche::RecvInfo { from, to });
            }
        }
        // Does nothing but where a timer has run out.
        quic.on_timeout();
        ids::give(quic)?;
        retired.extend(ids::retired(quic));
        if quic.is_established() && !work.is_complete() {
            deadline = None;
        }
        if http.is_none() && (quic.is_established() || quic.is_in_early_data()) {
            http = Some(Http::start(settings, quic)?);
        }
        if let Some(http) = &mut http {
            work.advance(quic, http, &mut buffer)?;
        }
        if work.is_complete() {
            if !wants_session || quic.session().is_some() {
                return Ok(());
            }
            deadline.get_or_insert_with(|| Instant::now() + HANDSHAKE_TIMEOUT);
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
        let kind = if error.is_app { "HTTP" } else { "QUIC" };
        format!("{kind} error {:#x} from this {name}: {}", error.error_code, String::from_utf8_lossy(&error.reason))
    };
    match (quic.local_error(), quic.peer_error()) {
        _ if quic.is_timed_out() => "idle timeout".to_owned(),
        (Some(error), _) => side("client", error),
        (None, Some(error)) => side("server", error).replace("this ", "the "),
        (None, None) => "no reason given".to_owned(),
    }
}
