//! draft-banks-quic-performance: numbers of bytes in both directions, without files.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use futures_util::{StreamExt, stream::FuturesUnordered};
use quiclab_contract::perf::{COUNTERS, HEAD, Head, LATENCIES, Load, Schedule, Sizes, check, pieces};
use s2n_quic::{
    Connection,
    application::Error,
    connection::Handle,
    stream::{BidirectionalStream, PeerStream, ReceiveStream, SendStream},
};
use tokio::{sync::Semaphore, time::sleep_until};

/// Resets a stream whose request has no answer. The draft names no codes.
const NO_ANSWER: u8 = 1;

/// Answers every stream of a connection, until that ends. Streams of one direction are read and need no answer.
pub async fn serve(mut connection: Connection) {
    COUNTERS.connected();
    // An error is the end of the connection.
    while let Ok(Some(stream)) = connection.accept().await {
        match stream {
            PeerStream::Bidirectional(stream) => tokio::spawn(async move {
                if let Err(error) = answer(stream).await {
                    eprintln!("{error:#}");
                }
            }),
            PeerStream::Receive(mut stream) => {
                tokio::spawn(async move { while let Ok(Some(_)) = stream.receive().await {} })
            }
        };
    }
}

async fn answer(stream: BidirectionalStream) -> Result<()> {
    let (mut receive, mut send) = stream.split();
    match read(&mut receive).await {
        Ok(response) => {
            send_zeros(&mut send, response).await.context("sending a response")?;
            COUNTERS.exchanged();
            Ok(())
        }
        Err(error) => {
            send.reset(Error::from(NO_ANSWER))?;
            Err(error)
        }
    }
}

/// Reads a request to its end, as the draft's server does. Returns the bytes that it asks for.
async fn read(receive: &mut ReceiveStream) -> Result<u64> {
    let mut head = Head::default();
    while let Some(bytes) = receive.receive().await.context("reading a request")? {
        head.take(&bytes);
    }
    head.response().context("found a request of less than 8 bytes")
}

/// Sends so many bytes and the end of the stream.
async fn send_zeros(send: &mut SendStream, bytes: u64) -> Result<()> {
    for piece in pieces(bytes) {
        send.send(Bytes::from_static(piece)).await?;
    }
    Ok(send.finish()?)
}

/// What the client does on one connection. At most `most` of its `streams` exchanges run at a time, and no more than the server allows.
///
/// # Errors
/// Where a response is shorter or longer than asked for, or the connection ends early.
pub async fn exchange(
    connection: &Handle,
    load: Load,
    sizes: Sizes,
    streams: usize,
    most: Option<usize>,
) -> Result<()> {
    let permits = Semaphore::new(most.unwrap_or(Semaphore::MAX_PERMITS));
    let mut exchanges: FuturesUnordered<_> = load
        .streams(sizes, streams, most)
        .into_iter()
        .map(async |sizes| {
            let _permit = permits.acquire().await?;
            loop {
                let began = ask(connection.clone(), sizes).await?;
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
pub async fn exchange_every(connection: &Handle, period: Duration, sizes: Sizes, streams: usize) -> Result<()> {
    let schedule = Schedule::new(Instant::now(), period);
    let mut exchanges: FuturesUnordered<_> = (0..streams)
        .map(async |number| {
            let due = schedule.due(number);
            sleep_until(due.into()).await;
            ask(connection.clone(), sizes).await?;
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
async fn ask(mut connection: Handle, sizes: Sizes) -> Result<Instant> {
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    let began = Instant::now();
    send.send(Bytes::copy_from_slice(&sizes.head())).await?;
    COUNTERS.sent(HEAD);
    send_zeros(&mut send, sizes.behind_head()).await?;
    let mut received = 0;
    while let Some(bytes) = receive.receive().await? {
        received += bytes.len() as u64;
        COUNTERS.received(bytes.len() as u64);
    }
    check(received, sizes.response)?;
    COUNTERS.exchanged();
    Ok(began)
}
