//! The server: answers every request on every connection, until it is told to stop.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use quiclab_contract::{Body, TestCase, hq};
use s2n_quic::{
    Connection,
    application::Error,
    stream::{BidirectionalStream, ReceiveStream},
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{endpoint, perf, settings::Settings};

/// Longest request, in bytes.
const REQUEST_LIMIT: usize = 4096;

/// Resets a stream whose file is not there; HTTP/0.9 has no status.
const NO_FILE: u8 = 1;

/// Serves until SIGTERM.
///
/// # Errors
/// Where the certificate cannot be used or the port not be had.
pub async fn run(settings: Settings) -> Result<()> {
    let mut server = endpoint::server(&settings)?;
    let settings = Arc::new(settings);
    let mut stop = signal(SignalKind::terminate())?;
    loop {
        let connection = tokio::select! {
            connection = server.accept() => connection,
            _ = stop.recv() => None,
        };
        let Some(connection) = connection else {
            return Ok(());
        };
        tokio::spawn(serve(connection, Arc::clone(&settings)));
    }
}

async fn serve(mut connection: Connection, settings: Arc<Settings>) {
    if settings.test_case == TestCase::Perf {
        return perf::serve(connection).await;
    }
    // An error is the end of the connection.
    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        let settings = Arc::clone(&settings);
        tokio::spawn(async move {
            if let Err(error) = answer(stream, &settings).await {
                eprintln!("{error:#}");
            }
        });
    }
}

async fn answer(stream: BidirectionalStream, settings: &Settings) -> Result<()> {
    let (mut receive, mut send) = stream.split();
    let request = read(&mut receive).await.context("reading a request")?;
    let body = hq::path(&request)
        .context("found a request that is not GET")
        .and_then(|path| Body::open(path, &settings.www).with_context(|| String::from_utf8_lossy(path).into_owned()));
    let mut body = match body {
        Ok(body) => body,
        Err(error) => {
            send.reset(Error::from(NO_FILE))?;
            return Err(error);
        }
    };
    while let Some(chunk) = body.next_chunk()? {
        send.send(chunk.into()).await.context("sending a file")?;
    }
    Ok(send.finish()?)
}

/// The whole request.
async fn read(stream: &mut ReceiveStream) -> Result<Vec<u8>> {
    let mut request = Vec::new();
    while let Some(bytes) = stream.receive().await? {
        request.extend_from_slice(&bytes);
        ensure!(request.len() <= REQUEST_LIMIT, "found more than {REQUEST_LIMIT} bytes");
    }
    Ok(request)
}
