//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use futures_util::{StreamExt, stream::FuturesUnordered};
use quiclab_contract::{
    Download, Request, hq,
    perf::{COUNTERS, LATENCIES, Load, Sizes},
};
use s2n_quic::{Client, Connection, application::Error, client::Connect, connection::Handle};
use tokio::{sync::Semaphore, time::timeout};

use crate::{endpoint, perf, settings::Settings};

/// Bytes that are collected before they are written to a file.
const STORE_BUFFER: usize = 16 * 1024;

/// How long the server may take to complete the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of the connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Fetches and stores.
///
/// # Errors
/// Where the handshake fails or takes too long, the server's certificate does not verify, a stream or the connection
/// ends early, or a file cannot be written.
pub async fn run(settings: Settings) -> Result<()> {
    let server = settings.resolve()?;
    let mut client = endpoint::client(&settings)?;
    let outcome = if settings.perf_load == Load::Handshakes {
        shake_hands(&client, server, &settings).await
    } else {
        let connection = connect(&client, server, &settings).await?;
        let outcome = fetch(&connection.handle(), &settings).await;
        // The server is told that this is the end, so that it need not wait for its idle timeout.
        connection.close(Error::from(0_u8));
        outcome
    };
    let _ = timeout(CLOSE_TIMEOUT, client.wait_idle()).await;
    outcome
}

/// Waits for the end of the handshake.
async fn connect(client: &Client, server: SocketAddr, settings: &Settings) -> Result<Connection> {
    let connecting = client.connect(Connect::new(server).with_server_name(settings.host()));
    let connection = timeout(HANDSHAKE_TIMEOUT, connecting).await;
    Ok(connection.with_context(|| format!("handshake: not done within {HANDSHAKE_TIMEOUT:?}"))??)
}

/// Opens connections until the time is over, one per URL at a time. Those that run then are finished.
async fn shake_hands(client: &Client, server: SocketAddr, settings: &Settings) -> Result<()> {
    let deadline = Instant::now() + settings.perf_duration.unwrap_or_default();
    let one = async || {
        while Instant::now() < deadline {
            let began = Instant::now();
            let connection = connect(client, server, settings).await?;
            LATENCIES.since(began);
            COUNTERS.connected();
            perf::exchange(&connection.handle(), Load::Handshakes, Sizes::SMALLEST, 1, None).await?;
            connection.close(Error::from(0_u8));
        }
        anyhow::Ok(())
    };
    let mut all: FuturesUnordered<_> = settings.requests.iter().map(|_| one()).collect();
    while let Some(outcome) = all.next().await {
        outcome?;
    }
    Ok(())
}

/// Fetches everything over one connection, as many requests at a time as the server and the settings allow.
async fn fetch(connection: &Handle, settings: &Settings) -> Result<()> {
    if let Some(sizes) = settings.perf {
        COUNTERS.connected();
        let streams = settings.requests.len();
        let exchange = async {
            match settings.perf_period {
                Some(period) => perf::exchange_every(connection, period, sizes, streams).await,
                None => perf::exchange(connection, settings.perf_load, sizes, streams, settings.streams).await,
            }
        };
        let Some(time) = settings.perf_duration else { return exchange.await };
        // The end of the time is a good end too.
        return timeout(time, exchange).await.unwrap_or(Ok(()));
    }
    let permits = Semaphore::new(settings.streams.unwrap_or(Semaphore::MAX_PERMITS));
    let mut fetches: FuturesUnordered<_> = settings
        .requests
        .iter()
        .map(async |request| {
            let _permit = permits.acquire().await?;
            get(connection.clone(), request, settings).await.with_context(|| request.path.clone())
        })
        .collect();
    while let Some(outcome) = fetches.next().await {
        outcome?;
    }
    Ok(())
}

async fn get(mut connection: Handle, request: &Request, settings: &Settings) -> Result<()> {
    let mut download = Download::new(request.clone(), STORE_BUFFER);
    download.create(&settings.downloads)?;
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    send.send(hq::line(request).into()).await?;
    send.finish()?;
    while let Some(bytes) = receive.receive().await? {
        download.store(&bytes)?;
    }
    Ok(download.finish()?)
}
