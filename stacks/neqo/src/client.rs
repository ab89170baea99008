//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use neqo_common::Datagram;
use neqo_crypto::{
    ResumptionToken,
    constants::{TLS_GRP_EC_X25519, TLS_GRP_KEM_MLKEM768X25519},
};
use neqo_transport::{CloseReason, Connection, EmptyConnectionIdGenerator, Error as TransportError, Output, State};
use quiclab_contract::{Http, Request, TestCase};

use crate::{
    client_h3::H3, client_streams::Streams, handshake::KeyExchange, settings::Settings, transport, udp::Socket,
};

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may go on without looking whether the time of perf is over.
const PERF_STEP: Duration = Duration::from_millis(10);

/// A connection and what it is to do.
pub trait Client {
    /// Takes what has arrived.
    fn take<'a>(&mut self, datagrams: impl IntoIterator<Item = Datagram<&'a mut [u8]>>, now: Instant);
    /// What to send or to wait for.
    fn output(&mut self, now: Instant) -> Output;
    /// True where [`Self::handle`] has something to do.
    fn has_events(&self) -> bool;
    /// Does what is due.
    ///
    /// # Errors
    /// Where an answer is wrong, the server is not trusted, or a file cannot be written.
    fn handle(&mut self) -> Result<()>;
    /// True where all has come that was to come.
    fn is_complete(&self) -> bool;
    /// True where the handshake is complete.
    fn is_connected(&self) -> bool;
    /// What is needed to resume the session, once.
    fn session(&mut self) -> Option<ResumptionToken>;
    /// True where the session of another connection was resumed.
    fn is_resumed(&self) -> bool;
    /// Why the connection ended; `None`: it did not.
    fn end(&self) -> Option<CloseReason>;
    /// Ends the connection well.
    fn close(&mut self, now: Instant);
}

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, or a file cannot be written.
pub async fn run(settings: &Settings) -> Result<()> {
    neqo_crypto::init()?;
    let (first, others) = settings.connections();
    if others.is_empty() {
        fetch(settings, first, None, false).await?;
        return Ok(());
    }
    let session = fetch(settings, first, None, true).await?.context("the server gave no session ticket")?;
    fetch(settings, others, Some(session), false).await?;
    Ok(())
}

/// Fetches `requests` over one connection, resuming `session`. Its own session, where `keep_session` says to wait for one.
async fn fetch(
    settings: &Settings,
    requests: &[Request],
    session: Option<ResumptionToken>,
    keep_session: bool,
) -> Result<Option<ResumptionToken>> {
    let mut socket = Socket::bind(settings.local())?;
    let resumes = session.is_some();
    let mut quic = connect(settings, &socket)?;
    match (settings.test_case, settings.http) {
        (TestCase::Perf, _) | (_, Http::Hq) => {
            if let Some(session) = session {
                quic.enable_resumption(Instant::now(), session).context("the session ticket")?;
            }
            let client = Streams::new(quic, settings, requests)?;
            drive(client, settings, &mut socket, resumes, keep_session).await
        }
        (_, Http::H3) => {
            let client = H3::new(quic, settings, requests, session)?;
            drive(client, settings, &mut socket, resumes, keep_session).await
        }
    }
}

/// A connection that has not begun.
fn connect(settings: &Settings, socket: &Socket) -> Result<Connection> {
    let mut quic = Connection::new_client(
        settings.host(),
        &[transport::alpn(settings)],
        Rc::new(RefCell::new(EmptyConnectionIdGenerator::default())),
        socket.local(),
        settings.resolve()?,
        transport::parameters(settings),
        Instant::now(),
    )?;
    let ciphers = transport::ciphers(settings);
    if !ciphers.is_empty() {
        quic.set_ciphers(ciphers)?;
    }
    if let Some(key_exchange) = settings.handshake.key_exchange {
        quic.set_groups(&[match key_exchange {
            KeyExchange::X25519 => TLS_GRP_EC_X25519,
            KeyExchange::X25519MlKem768 => TLS_GRP_KEM_MLKEM768X25519,
        }])?;
    }
    quic.set_qlog(transport::client_qlog(settings)?);
    Ok(quic)
}

/// Goes on until the client has what it wants.
async fn drive(
    mut client: impl Client,
    settings: &Settings,
    socket: &mut Socket,
    resumes: bool,
    keep_session: bool,
) -> Result<Option<ResumptionToken>> {
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    let mut session = None;
    loop {
        client.handle()?;
        session = session.or_else(|| client.session());
        let is_done = client.is_complete() && (!keep_session || session.is_some());
        if is_done {
            ensure!(!resumes || client.is_resumed(), "the server did not resume the session");
            // Tell the server, so that it need not wait for its idle timeout.
            client.close(Instant::now());
        }
        let timeout = flush(&mut client, socket).await?;
        if is_done {
            return Ok(session);
        }
        if client.has_events() {
            continue;
        }
        if let Some(reason) = client.end() {
            bail!("the connection ended early: {}", describe(&reason));
        }
        let now = Instant::now();
        ensure!(client.is_connected() || now < deadline, "no handshake within {HANDSHAKE_TIMEOUT:?}");
        let limit =
            if !client.is_connected() { Some(deadline - now) } else { settings.perf_duration.map(|_| PERF_STEP) };
        let wait = timeout.into_iter().chain(limit).min();
        socket.wait(wait).await?;
        while let Some(datagrams) = socket.receive()? {
            client.take(datagrams, Instant::now());
            flush(&mut client, socket).await?;
        }
    }
}

/// Sends what is due. How long to wait then, if neqo says so.
async fn flush(client: &mut impl Client, socket: &Socket) -> Result<Option<Duration>> {
    loop {
        match client.output(Instant::now()) {
            Output::Datagram(datagram) => socket.send(&datagram).await?,
            Output::Callback(time) => return Ok(Some(time)),
            Output::None => return Ok(None),
        }
    }
}

/// Why a connection in this state ended; `None`: it did not.
pub fn end_of(state: &State) -> Option<CloseReason> {
    match state {
        State::Closing { error, .. } | State::Draining { error, .. } | State::Closed(error) => Some(error.clone()),
        _ => None,
    }
}

fn describe(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Transport(TransportError::IdleTimeout) => "idle timeout".to_owned(),
        CloseReason::Transport(error) => format!("{error:?}"),
        CloseReason::Application(code) => format!("the server closed it with {code:#x}"),
    }
}
