//! One request of the client and its answer, over HTTP/0.9 or HTTP/3.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes};
use http::HeaderValue;
use quiclab_contract::{Download, Http, Request, TestCase, hq};
use quinn::Connection;

use crate::{library, release, settings::Settings};

/// Bytes that are collected before they are written to a file.
const STORE_BUFFER: usize = 16 * 1024;

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
        let mut download = Download::new(request.clone(), STORE_BUFFER);
        download.create(downloads)?;
        let outcome = match self.protocol {
            Protocol::Hq(connection) => get_hq(connection, download, self.key_update).await,
            Protocol::H3(requests) => get_h3(requests, download, downloads, self.key_update).await,
        };
        outcome.with_context(|| request.path.clone())
    }
}

async fn get_hq(connection: Connection, mut download: Download, update: Option<KeyUpdate>) -> Result<()> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&hq::line(&download.request)).await?;
    release::finish(&mut send)?;
    while let Some(bytes) = library::read(&mut receive).await? {
        download.store(&bytes)?;
        if let Some(update) = &update {
            update.when_confirmed();
        }
    }
    Ok(download.finish()?)
}

async fn get_h3(
    mut requests: h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>,
    mut download: Download,
    downloads: &Path,
    update: Option<KeyUpdate>,
) -> Result<()> {
    let mut stream = requests.send_request(http::Request::get(download.request.url()).body(())?).await?;
    stream.finish().await?;
    let response = stream.recv_response().await?;
    let status = response.status();
    ensure!(!status.is_informational(), "status {status}");
    let header = |name: &str| match name {
        ":status" => Some(status.as_str().as_bytes()),
        name => response.headers().get(name).map(HeaderValue::as_bytes),
    };
    download.on_headers(header, downloads)?;
    while let Some(mut bytes) = stream.recv_data().await? {
        while bytes.has_remaining() {
            let length = bytes.chunk().len();
            download.store(bytes.chunk())?;
            bytes.advance(length);
        }
        if let Some(update) = &update {
            update.when_confirmed();
        }
    }
    Ok(download.finish()?)
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
