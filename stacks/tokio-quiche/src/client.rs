//! The client: fetches every URL over one connection or two, and says whether all of it is right.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures_util::future::try_join_all;
use quiclab_contract::{
    Download, Request, TestCase,
    perf::{Exchanges, Load, Sizes},
};
use tokio::{
    net::UdpSocket,
    sync::oneshot,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_quiche::{
    ApplicationOverQuic, ClientH3Controller, ClientH3Driver, ConnectionParams, QuicConnection,
    http3::{
        driver::{ClientH3Event, H3Event, InboundFrame, IncomingH3Headers, NewClientRequest},
        settings::Http3Settings,
    },
    quic::{ConnectionShutdownBehaviour, QuicCommand, QuicheConnection, connect_with_config},
    quiche::h3::{Header, NameValue},
    socket::Socket,
};

use crate::{
    params::{self, HANDSHAKE_TIMEOUT, Tls},
    perf,
    settings::Settings,
};

/// RFC 9114, section 8.1.
const H3_NO_ERROR: u64 = 0x100;

/// How long to wait for the goodbye to have left.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(1);

/// Between two looks whether it has left.
const CLOSING_INTERVAL: Duration = Duration::from_millis(1);

/// Between two looks for a session ticket.
const TICKET_INTERVAL: Duration = Duration::from_millis(5);

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, the connection ends early, a session is not resumed where it should be, or a file cannot be
/// written.
pub async fn run(settings: &Settings) -> Result<()> {
    let peer = settings.resolve()?;
    if let Some(sizes) = settings.perf {
        return match settings.perf_load {
            Load::Handshakes => shake_hands(settings, peer, sizes).await,
            _ => exchange(settings, peer, sizes).await,
        };
    }
    let (first, others) = settings.connections();
    let session = fetch_over_one_connection(settings, peer, first, None).await?;
    if !others.is_empty() {
        fetch_over_one_connection(settings, peer, others, session).await?;
    }
    Ok(())
}

/// Fetches `requests` over a connection of their own, resuming `session` where there is one. Returns the session of the
/// first connection of a resumption.
async fn fetch_over_one_connection(
    settings: &Settings,
    peer: SocketAddr,
    requests: &[Request],
    session: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    let resumes = session.is_some();
    let (driver, mut controller) = ClientH3Driver::new(Http3Settings::default());
    let _connection = connect(settings, peer, session, driver).await?;

    let mut session = None;
    let outcome = async {
        fetch(&mut controller, requests, settings).await?;
        if resumes {
            ensure!(ask(&controller, |quic| quic.is_resumed()).await?, "the server did not resume the session");
        } else if settings.test_case == TestCase::Resumption {
            session = Some(session_of(&controller).await?);
        }
        Ok(session)
    };
    let outcome = outcome.await;
    // Tell the server, so that it need not wait for its idle timeout. An error here: it is closed already.
    let goodbye =
        ConnectionShutdownBehaviour { send_application_close: true, error_code: H3_NO_ERROR, reason: Vec::new() };
    let _ = controller.cmd_sender().send(QuicCommand::ConnectionClose(goodbye));
    let _ = timeout(CLOSING_TIMEOUT, goodbye_sent(&controller)).await;
    outcome
}

/// Opens a connection, which resumes `session` where there is one.
async fn connect(
    settings: &Settings,
    peer: SocketAddr,
    session: Option<Vec<u8>>,
    application: impl ApplicationOverQuic,
) -> Result<QuicConnection> {
    let socket = UdpSocket::bind(settings.local()).await?;
    let capabilities = params::capabilities(&socket, settings).context("UDP_SEGMENT")?;
    // Not connected, so that an ICMP message about an earlier packet is not an error (RFC 9000, section 14.2.1).
    let local_addr = socket.local_addr()?;
    let (send, recv) = {
        let socket = Arc::new(socket);
        (Arc::clone(&socket), socket)
    };
    let socket = Socket { send, recv, local_addr, peer_addr: peer, capabilities };

    let tls = Tls::new(settings)?;
    let quic = params::quic_settings(settings)?;
    let mut params = ConnectionParams::new_client(quic, Some(tls.paths()), tls.hooks());
    params.session = session;
    timeout(HANDSHAKE_TIMEOUT, connect_with_config(socket, Some(settings.host()), &params, application))
        .await
        .map_err(|_| anyhow!("handshake: not done within {HANDSHAKE_TIMEOUT:?}"))?
        .map_err(|error| anyhow!("handshake: {error}"))
}

/// `perf` over one connection.
async fn exchange(settings: &Settings, peer: SocketAddr, sizes: Sizes) -> Result<()> {
    let began = (settings.perf_load == Load::Handshakes).then(std::time::Instant::now);
    let exchanges = Exchanges::new(sizes, settings.requests.len(), settings.streams, settings.perf_duration);
    let exchanges = exchanges.with(settings.perf_load).every(settings.perf_period);
    let (application, outcome) = perf::Client::new(exchanges, began);
    let _connection = connect(settings, peer, None, application).await?;
    outcome.await.context("connection ended early")?
}

/// Opens connections until the time is over, one per URL at a time. Those that run then are finished.
async fn shake_hands(settings: &Settings, peer: SocketAddr, sizes: Sizes) -> Result<()> {
    let deadline = Instant::now() + settings.perf_duration.unwrap_or_default();
    let one = async || {
        while Instant::now() < deadline {
            exchange(settings, peer, sizes).await?;
        }
        anyhow::Ok(())
    };
    try_join_all(settings.requests.iter().map(|_| one())).await?;
    Ok(())
}

/// What `question` finds in the connection.
async fn ask<T: Send + 'static>(
    controller: &ClientH3Controller,
    question: impl FnOnce(&mut QuicheConnection) -> T + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = oneshot::channel();
    let question = move |quic: &mut QuicheConnection| drop(sender.send(question(quic)));
    let _ = controller.cmd_sender().send(QuicCommand::Custom(Box::new(question)));
    receiver.await.context("the connection ended early")
}

/// Waits until the goodbye has left, but not for the three probe timeouts that a connection is kept after it (RFC 9000,
/// section 10.2).
async fn goodbye_sent(controller: &ClientH3Controller) {
    while let Ok(false) = ask(controller, |quic| quic.is_draining() || quic.is_closed()).await {
        sleep(CLOSING_INTERVAL).await;
    }
}

/// Waits for a session ticket.
async fn session_of(controller: &ClientH3Controller) -> Result<Vec<u8>> {
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    loop {
        if let Some(session) = ask(controller, |quic| quic.session().map(<[u8]>::to_vec)).await? {
            return Ok(session);
        }
        ensure!(Instant::now() < deadline, "session ticket: not there within {HANDSHAKE_TIMEOUT:?}");
        sleep(TICKET_INTERVAL).await;
    }
}

/// Sends all requests, as many at a time as the settings allow; the library holds back what the server does not allow.
async fn fetch(controller: &mut ClientH3Controller, requests: &[Request], settings: &Settings) -> Result<()> {
    let sender = controller.request_sender();
    let mut waiting = requests.iter().enumerate();
    let mut left = requests.len();
    let mut running = 0;
    let mut by_stream = BTreeMap::new();
    let mut downloads = JoinSet::new();
    while left > 0 {
        while running < settings.streams.unwrap_or(usize::MAX) {
            let Some((number, request)) = waiting.next() else { break };
            let request =
                NewClientRequest { request_id: number as u64, headers: headers_of(request), body_writer: None };
            sender.send(request).map_err(|_| anyhow!("connection ended early"))?;
            running += 1;
        }
        tokio::select! {
            Some(done) = downloads.join_next() => {
                done.context("a download")??;
                running -= 1;
                left -= 1;
            }
            event = controller.event_receiver_mut().recv() => match event.context("connection ended early")? {
                ClientH3Event::NewOutboundRequest { stream_id, request_id } => {
                    let request = requests.get(usize::try_from(request_id)?).context("found an unknown request")?;
                    by_stream.insert(stream_id, request);
                }
                ClientH3Event::Core(H3Event::IncomingHeaders(response)) => {
                    let Some(request) = by_stream.get(&response.stream_id) else { continue };
                    downloads.spawn(store(response, (*request).clone(), settings.downloads.clone()));
                }
                ClientH3Event::Core(H3Event::ResetStream { stream_id }) => {
                    bail!("the server reset stream {stream_id}");
                }
                ClientH3Event::Core(H3Event::ConnectionError(error)) => bail!("HTTP/3: {error}"),
                ClientH3Event::Core(H3Event::ConnectionShutdown(error)) => {
                    bail!("connection ended early{}", error.map(|error| format!(": {error}")).unwrap_or_default());
                }
                ClientH3Event::Core(_) => {}
            },
        }
    }
    Ok(())
}

fn headers_of(request: &Request) -> Vec<Header> {
    vec![
        Header::new(b":method", b"GET"),
        Header::new(b":scheme", b"https"),
        Header::new(b":authority", request.authority().as_bytes()),
        Header::new(b":path", request.path.as_bytes()),
        Header::new(b"user-agent", b"tokio-quiche"),
    ]
}

/// Checks one response and stores its body, as it comes.
async fn store(mut response: IncomingH3Headers, request: Request, folder: PathBuf) -> Result<()> {
    let mut download = Download::new(request, 0);
    let value = |name: &str| {
        let header = response.headers.iter().find(|header| header.name() == name.as_bytes());
        header.map(|header| header.value())
    };
    download.on_headers(value, &folder)?;
    let mut is_finished = response.read_fin;
    while !is_finished {
        match response.recv.recv().await {
            Some(InboundFrame::Body(bytes, last)) => {
                download.store(&bytes)?;
                is_finished = last;
            }
            Some(InboundFrame::Datagram(_)) => {}
            None => bail!("{}: connection ended early", download.request.path),
        }
    }
    Ok(download.finish()?)
}
