//! The server: answers GET requests from a folder until it is killed.

use std::{io, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use quiclab_contract::{PartialBody, TestCase};
use tokio::{
    net::UdpSocket,
    signal::unix::{SignalKind, signal},
    sync::mpsc::Sender,
};
use tokio_quiche::{
    ConnectionParams, ServerH3Controller, ServerH3Driver,
    http3::{
        driver::{H3Event, IncomingH3Headers, OutboundFrame, ServerH3Event},
        settings::Http3Settings,
    },
    listen_with_capabilities,
    metrics::DefaultMetrics,
    quiche::h3::{Header, NameValue},
    socket::QuicListener,
};

use crate::{
    params::{self, Tls},
    perf,
    settings::Settings,
};

/// Serves until killed.
///
/// # Errors
/// Where the socket or the certificate cannot be used.
pub async fn run(settings: &Settings) -> Result<()> {
    let address = settings.local();
    let socket = UdpSocket::bind(address).await.with_context(|| format!("binding to UDP {address}"))?;
    let capabilities = params::capabilities(&socket, settings).context("UDP_SEGMENT")?;
    let mut listener = QuicListener::try_from(socket)?;
    listener.capabilities = capabilities;
    let tls = Tls::new(settings)?;
    let params = ConnectionParams::new_server(params::quic_settings(settings)?, tls.paths(), tls.hooks());
    let mut streams = listen_with_capabilities([listener], params, DefaultMetrics)?;
    let mut connections = streams.pop().context("found no listener")?.into_inner();
    let mut terminated = signal(SignalKind::terminate())?;
    let www: Arc<Path> = Arc::from(settings.www.as_path());
    loop {
        let connection = tokio::select! {
            _ = terminated.recv() => return Ok(()),
            connection = connections.recv() => connection,
        };
        match connection {
            Some(Ok(connection)) if settings.test_case == TestCase::Perf => {
                connection.start(perf::Server::new());
            }
            Some(Ok(connection)) => {
                let (driver, controller) = ServerH3Driver::new(Http3Settings::default());
                connection.start(driver);
                tokio::spawn(serve(controller, Arc::clone(&www)));
            }
            Some(Err(error)) => eprintln!("a connection could not begin: {error}"),
            None => return Err(anyhow!("the listener ended")),
        }
    }
}

/// Answers the requests of one connection until it ends.
async fn serve(mut controller: ServerH3Controller, www: Arc<Path>) {
    while let Some(event) = controller.event_receiver_mut().recv().await {
        match event {
            ServerH3Event::Headers { incoming_headers, .. } => {
                tokio::spawn(answer(incoming_headers, Arc::clone(&www)));
            }
            ServerH3Event::Core(H3Event::ConnectionError(error)) => eprintln!("a connection failed: {error}"),
            ServerH3Event::Core(_) => {}
        }
    }
}

async fn answer(request: IncomingH3Headers, www: Arc<Path>) {
    let Some(sender) = request.send.get_ref() else { return };
    if let Err(error) = send_answer(&request.headers, sender, &www).await {
        eprintln!("stream {}: {error:#}", request.stream_id);
    }
}

/// Sends headers and file; an error where the stream is gone or the file cannot be read.
async fn send_answer(headers: &[Header], sender: &Sender<OutboundFrame>, www: &Path) -> Result<()> {
    let (status, mut body) = response_to(headers, www);
    let size = body.as_ref().map_or(0, PartialBody::size);
    let headers = vec![
        Header::new(b":status", status.to_string().as_bytes()),
        Header::new(b"server", b"tokio-quiche"),
        Header::new(b"content-length", size.to_string().as_bytes()),
    ];
    sender.send(OutboundFrame::Headers(headers, None)).await?;
    let Some(body) = body.as_mut().filter(|_| size > 0) else {
        sender.send(OutboundFrame::Body(Bytes::new(), true)).await?;
        return Ok(());
    };
    loop {
        let (bytes, last) = body.rest()?;
        let (length, frame) = (bytes.len(), OutboundFrame::Body(Bytes::copy_from_slice(bytes), last));
        sender.send(frame).await?;
        if body.take(length) {
            return Ok(());
        }
    }
}

/// Status, and the file where it is 200.
fn response_to(headers: &[Header], www: &Path) -> (u16, Option<PartialBody>) {
    let value = |name: &[u8]| headers.iter().find(|header| header.name() == name).map(|header| header.value());
    match (value(b":method"), value(b":path")) {
        (Some(b"GET"), Some(path)) => match PartialBody::open(path, www) {
            Ok(body) => (200, Some(body)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (404, None),
            Err(error) => {
                eprintln!("{}: {error}", String::from_utf8_lossy(path));
                (500, None)
            }
        },
        (Some(_), Some(_)) => (405, None),
        _ => (400, None),
    }
}
