//! One request of the client and its answer, over HTTP/0.9 or HTTP/3.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes};
use http::{StatusCode, header::CONTENT_LENGTH};
use quinn::Connection;

use crate::{
    files::Store,
    library,
    settings::{Http, Request, Settings, TestCase},
};

/// A connection that requests can be made on.
#[derive(Clone)]
pub struct Client {
    protocol: Protocol,
    key_update: Option<KeyUpdate>,
}

#[derive(Clone)]
enum Protocol {
    Hq(Connection),
    H3(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>),
}

impl Client {
    /// Makes the connection ready for requests.
    ///
    /// # Errors
    /// Where HTTP/3 cannot open its own streams.
    pub async fn new(connection: Connection, settings: &Settings) -> Result<Self> {
        let key_update = (settings.test_case == TestCase::KeyUpdate).then(|| KeyUpdate::new(connection.clone()));
        let protocol = match settings.http {
            Http::Hq => Protocol::Hq(connection),
            Http::H3 => {
                let (mut driver, requests) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
                // Reads the server's control streams, until the connection ends.
                tokio::spawn(async move { driver.wait_idle().await });
                Protocol::H3(requests)
            }
        };
        Ok(Self { protocol, key_update })
    }

    /// Fetches one file and stores it below `downloads`.
    ///
    /// # Errors
    /// Any status but 200, a body that is shorter or longer than announced or does not end, a file that cannot be
    /// written.
    pub async fn get(self, request: &Request, downloads: &Path) -> Result<()> {
        let path = downloads.join(&request.file_name);
        let store = Store::create(&path).with_context(|| path.display().to_string())?;
        let outcome = match self.protocol {
            Protocol::Hq(connection) => get_hq(connection, request, store, self.key_update).await,
            Protocol::H3(requests) => get_h3(requests, request, store, self.key_update).await,
        };
        outcome.with_context(|| request.path.clone())
    }
}

async fn get_hq(connection: Connection, request: &Request, mut store: Store, update: Option<KeyUpdate>) -> Result<()> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(format!("GET {}\r\n", request.path).as_bytes()).await?;
    send.finish()?;
    while let Some(bytes) = library::read(&mut receive).await? {
        store.write(&bytes)?;
        if let Some(update) = &update {
            update.when_confirmed();
        }
    }
    Ok(store.finish()?)
}

async fn get_h3(
    mut requests: h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>,
    request: &Request,
    mut store: Store,
    update: Option<KeyUpdate>,
) -> Result<()> {
    let mut stream = requests.send_request(http::Request::get(request.url()).body(())?).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    if response.status() != StatusCode::OK {
        bail!("status {}", response.status());
    }
    while let Some(mut bytes) = stream.recv_data().await? {
        while bytes.has_remaining() {
            let length = bytes.chunk().len();
            store.write(bytes.chunk())?;
            bytes.advance(length);
        }
        if let Some(update) = &update {
            update.when_confirmed();
        }
    }
    if let Some(announced) = response.headers().get(CONTENT_LENGTH) {
        let announced: u64 = announced.to_str()?.parse().context("content-length")?;
        ensure!(store.size == announced, "found a body of {} bytes, expected {announced}", store.size);
    }
    Ok(store.finish()?)
}

/// The one key update of a connection.
#[derive(Clone)]
struct KeyUpdate {
    connection: Connection,
    done: Arc<AtomicBool>,
}

impl KeyUpdate {
    fn new(connection: Connection) -> Self {
        Self { connection, done: Arc::default() }
    }

    /// Updates the keys if the handshake is confirmed and that was not done before. A client takes the handshake as
    /// confirmed when HANDSHAKE_DONE has come (RFC 9001, section 4.1.2).
    fn when_confirmed(&self) {
        if !self.done.load(Ordering::Relaxed) && self.connection.stats().frame_rx.handshake_done > 0 {
            self.done.store(true, Ordering::Relaxed);
            self.connection.force_key_update();
        }
    }
}
