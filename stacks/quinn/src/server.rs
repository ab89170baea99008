//! The server: answers every request on every connection, until it is told to stop.

use std::{
    io,
    sync::{Arc, Once},
};

use anyhow::{Context, Result};
use http::{Method, Response, StatusCode};
use quiclab_contract::{Body, Http, IpVersion, TestCase, hq, perf::COUNTERS};
use quinn::{Connection, Endpoint, EndpointConfig, RecvStream, SendStream, ServerConfig, TokioRuntime, VarInt};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    library, perf,
    release::{self, Incoming},
    settings::Settings,
    tls,
};

/// Longest request of HTTP/0.9, in bytes.
const REQUEST_LIMIT: usize = 4096;

/// Resets a stream of HTTP/0.9 whose file is not there; that version of HTTP has no status.
const NO_FILE: VarInt = VarInt::from_u32(1);

/// Serves until SIGTERM.
///
/// # Errors
/// Where the certificate cannot be used or the port not be had.
pub async fn run(settings: Settings) -> Result<()> {
    let mut config = ServerConfig::with_crypto(Arc::new(tls::server(&settings)?));
    release::prepare(&mut config, &settings)?;
    let socket = bind(&settings).with_context(|| format!("binding UDP port {}", settings.port))?;
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config.clone()), socket, Arc::new(TokioRuntime))?;
    let settings = Arc::new(settings);
    let mut stop = signal(SignalKind::terminate())?;
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = stop.recv() => None,
        };
        let Some(incoming) = incoming else {
            return Ok(());
        };
        let Some(incoming) = release::validate(incoming, &settings)? else {
            continue;
        };
        let (config, settings) = (config.clone(), Arc::clone(&settings));
        tokio::spawn(async move {
            if let Err(error) = serve(incoming, config, settings).await {
                eprintln!("{error:#}");
            }
        });
    }
}

/// A socket on all addresses of one IP version.
fn bind(settings: &Settings) -> io::Result<std::net::UdpSocket> {
    let address = settings.local();
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if settings.ip == IpVersion::V6 {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

async fn serve(incoming: Incoming, config: ServerConfig, settings: Arc<Settings>) -> Result<()> {
    let mut connecting = release::accept(incoming, config, &settings).await?;
    let connection = if settings.test_case == TestCase::ZeroRtt {
        // Early data is answered at once; a server never fails here.
        match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(refused) => {
                connecting = refused;
                connecting.await?
            }
        }
    } else {
        connecting.await?
    };
    static SAID: Once = Once::new();
    let say = || eprintln!("congestion control: {}", library::congestion_control(&connection));
    if settings.test_case == TestCase::Perf {
        COUNTERS.connected();
        // There can be thousands in a second.
        SAID.call_once(say);
    } else {
        say();
    }
    match (settings.test_case, settings.http) {
        (TestCase::Perf, _) => perf::serve(connection).await,
        (_, Http::Hq) => serve_hq(connection, settings).await,
        (_, Http::H3) => serve_h3(connection, settings).await,
    }
}

async fn serve_hq(connection: Connection, settings: Arc<Settings>) -> Result<()> {
    // An error is the end of the connection.
    while let Ok((send, receive)) = connection.accept_bi().await {
        let settings = Arc::clone(&settings);
        tokio::spawn(async move {
            if let Err(error) = answer_hq(send, receive, &settings).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

async fn answer_hq(mut send: SendStream, mut receive: RecvStream, settings: &Settings) -> Result<()> {
    let request = receive.read_to_end(REQUEST_LIMIT).await.context("reading a request")?;
    let body = hq::path(&request)
        .context("found a request that is not GET")
        .and_then(|path| Body::open(path, &settings.www).with_context(|| String::from_utf8_lossy(path).into_owned()));
    let mut body = match body {
        Ok(body) => body,
        Err(error) => {
            send.reset(NO_FILE)?;
            return Err(error);
        }
    };
    while let Some(chunk) = body.next_chunk()? {
        send.write_chunk(chunk.into()).await.context("sending a file")?;
    }
    release::finish(&mut send)
}

async fn serve_h3(connection: Connection, settings: Arc<Settings>) -> Result<()> {
    let mut http = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
    // An error is the end of the connection.
    while let Ok(Some(request)) = http.accept().await {
        let settings = Arc::clone(&settings);
        tokio::spawn(async move {
            if let Err(error) = answer_h3(request, &settings).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

async fn answer_h3(request: release::Request, settings: &Settings) -> Result<()> {
    let (request, mut stream) = release::resolve(request).await?;
    let (status, body) = match (request.method(), Body::open(request.uri().path().as_bytes(), &settings.www)) {
        (&Method::GET, Ok(body)) => (StatusCode::OK, Some(body)),
        (&Method::GET, Err(error)) if error.kind() == io::ErrorKind::NotFound => (StatusCode::NOT_FOUND, None),
        (&Method::GET, Err(error)) => {
            eprintln!("{}: {error}", request.uri().path());
            (StatusCode::INTERNAL_SERVER_ERROR, None)
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, None),
    };
    let size = body.as_ref().map_or(0, Body::size);
    let response = Response::builder()
        .status(status)
        .header(http::header::SERVER, library::NAME)
        .header(http::header::CONTENT_LENGTH, size)
        .body(())?;
    stream.send_response(response).await?;
    if let Some(mut body) = body {
        while let Some(chunk) = body.next_chunk()? {
            stream.send_data(chunk.into()).await?;
        }
    }
    Ok(stream.finish().await?)
}
