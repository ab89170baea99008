//! Fetches every URL over a socket, stores the bodies, and says whether all of it is right.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use neqo_crypto::ResumptionToken;
use neqo_transport::Output;
use quiclab_contract::{Http, Request, TestCase};

use crate::{
    client::{self, Client, HANDSHAKE_TIMEOUT},
    client_h3::H3,
    client_streams::Streams,
    settings::Settings,
    udp::Socket,
};

/// Longest wait before it looks whether the time of perf is over.
const PERF_STEP: Duration = Duration::from_millis(10);

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

/// Fetches `requests` over one connection, resuming `session`. Returns its own session, where `keep_session` says to wait for one.
async fn fetch(
    settings: &Settings,
    requests: &[Request],
    session: Option<ResumptionToken>,
    keep_session: bool,
) -> Result<Option<ResumptionToken>> {
    let mut socket = Socket::bind(settings.local())?;
    let resumes = session.is_some();
    let mut quic = client::connect(settings, socket.local(), settings.resolve()?)?;
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

/// Goes on until the client has what it wants.
async fn drive(
    mut client: impl Client,
    settings: &Settings,
    socket: &mut Socket,
    resumes: bool,
    keep_session: bool,
) -> Result<Option<ResumptionToken>> {
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    loop {
        client.handle()?;
        let is_complete = client.is_complete();
        let session = if is_complete && keep_session { client.session(Instant::now()) } else { None };
        let is_done = is_complete && (!keep_session || session.is_some());
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
            bail!("the connection ended early: {}", client::describe(&reason));
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

/// Sends what is due. Returns how long to wait then, if neqo says so.
async fn flush(client: &mut impl Client, socket: &Socket) -> Result<Option<Duration>> {
    loop {
        match client.output(Instant::now()) {
            Output::Datagram(datagram) => socket.send(&datagram).await?,
            Output::Callback(time) => return Ok(Some(time)),
            Output::None => return Ok(None),
        }
    }
}
