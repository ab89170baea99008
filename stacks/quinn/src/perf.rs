//! draft-banks-quic-performance: numbers of bytes in both directions, without files.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use futures_util::{StreamExt, stream::FuturesUnordered};
use quiclab_contract::perf::{COUNTERS, HEAD, Head, LATENCIES, Load, Schedule, Sizes, check, pieces};
use quinn::{Connection, RecvStream, SendStream};
use tokio::{sync::Semaphore, time::sleep_until};

use crate::{library, release};

/// Answers every stream of a connection, until that ends. Streams of one direction are read and need no answer.
///
/// # Errors
/// None: what goes wrong on a stream is on stderr.
pub async fn serve(connection: Connection) -> Result<()> {
    let unidirectional = connection.clone();
    tokio::spawn(async move {
        while let Ok(mut receive) = unidirectional.accept_uni().await {
            tokio::spawn(async move { while let Ok(Some(_)) = library::read(&mut receive).await {} });
        }
    });
    // An error is the end of the connection.
    while let Ok((send, receive)) = connection.accept_bi().await {
        let connection = connection.clone();
        tokio::spawn(async move {
            if let Err(error) = answer(&connection, send, receive).await {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

/// Reads a request to its end, as the draft's server does, and sends as many bytes as it asks for.
async fn answer(connection: &Connection, mut send: SendStream, mut receive: RecvStream) -> Result<()> {
    let mut head = Head::default();
    while let Some(bytes) = library::read(&mut receive).await.context("reading a request")? {
        head.take(&bytes);
        COUNTERS.path(|| library::path(connection));
    }
    let response = head.response().context("found a request of less than 8 bytes")?;
    for piece in pieces(response) {
        send.write_chunk(Bytes::from_static(piece)).await.context("sending a response")?;
        COUNTERS.path(|| library::path(connection));
    }
    COUNTERS.exchanged();
    release::finish(&mut send)
}

/// What the client does on one connection. At most `most` of its `streams` exchanges run at a time, and no more than the server allows.
///
/// # Errors
/// Where a response is shorter or longer than asked for, or the connection ends early.
pub async fn exchange(
    connection: &Connection,
    load: Load,
    sizes: Sizes,
    streams: usize,
    most: Option<usize>,
) -> Result<()> {
    let permits = Semaphore::new(most.unwrap_or(Semaphore::MAX_PERMITS));
    // Not tasks of their own: so the first requests are there before the connection's task sends its first packet.
    let mut exchanges: FuturesUnordered<_> = load
        .streams(sizes, streams, most)
        .into_iter()
        .map(async |sizes| {
            let _permit = permits.acquire().await?;
            loop {
                let began = ask(connection, sizes).await?;
                if load != Load::Requests {
                    return anyhow::Ok(());
                }
                LATENCIES.since(began);
            }
        })
        .collect();
    while let Some(outcome) = exchanges.next().await {
        outcome?;
    }
    Ok(())
}

/// What the client does on one connection with [`Load::Periodic`]: each exchange begins a `period` after the one before, whether that is
/// complete or not.
///
/// # Errors
/// Those of [`exchange`].
pub async fn exchange_every(connection: &Connection, period: Duration, sizes: Sizes, streams: usize) -> Result<()> {
    let schedule = Schedule::new(Instant::now(), period);
    let mut exchanges: FuturesUnordered<_> = (0..streams)
        .map(async |number| {
            let due = schedule.due(number);
            sleep_until(due.into()).await;
            ask(connection, sizes).await?;
            LATENCIES.since(due);
            anyhow::Ok(())
        })
        .collect();
    while let Some(outcome) = exchanges.next().await {
        outcome?;
    }
    Ok(())
}

/// Returns when the stream was there.
async fn ask(connection: &Connection, sizes: Sizes) -> Result<Instant> {
    let (mut send, mut receive) = connection.open_bi().await?;
    let began = Instant::now();
    send.write_all(&sizes.head()).await?;
    COUNTERS.sent(HEAD);
    for piece in pieces(sizes.behind_head()) {
        send.write_chunk(Bytes::from_static(piece)).await?;
        COUNTERS.path(|| library::path(connection));
    }
    release::finish(&mut send)?;
    let mut received = 0;
    while let Some(bytes) = library::read(&mut receive).await? {
        received += bytes.len() as u64;
        COUNTERS.received(bytes.len() as u64);
        COUNTERS.path(|| library::path(connection));
    }
    COUNTERS.path(|| library::path(connection));
    check(received, sizes.response)?;
    COUNTERS.exchanged();
    Ok(began)
}
