//! The client: fetches every URL, stores the bodies, and says whether all of it is right.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use futures_util::{StreamExt, stream::FuturesUnordered};
use quiclab_contract::{
    Http, Request, TestCase,
    perf::{COUNTERS, LATENCIES, Load, Sizes},
};
use quinn::{ClientConfig, Connecting, Connection, Endpoint, VarInt};
use tokio::{sync::Semaphore, time::timeout};

use crate::{get, library, perf, settings::Settings, tickets::Tickets, tls, transport};

/// How long the server may take to complete the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may take to send a session ticket, after the first file.
const TICKET_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end of the last connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Fetches and stores.
///
/// # Errors
/// Where a handshake fails or takes too long, the server's certificate does not verify, an answer is not 200 or shorter
/// or longer than announced, a connection ends early, no session ticket comes where one is needed, or a file cannot be
/// written.
pub async fn run(settings: Settings) -> Result<()> {
    let client = Client::new(settings)?;
    let outcome = client.fetch_all().await;
    // The server is told that this is the end, so that it need not wait for its idle timeout.
    client.endpoint.close(client.no_error(), b"");
    let _ = timeout(CLOSE_TIMEOUT, client.endpoint.wait_idle()).await;
    outcome
}

struct Client {
    endpoint: Endpoint,
    server: SocketAddr,
    tls: Arc<tls::Client>,
    tickets: Arc<Tickets>,
    settings: Settings,
}

impl Client {
    fn new(settings: Settings) -> Result<Self> {
        let server = settings.resolve()?;
        let tickets = Arc::new(Tickets::new());
        let tls = Arc::new(tls::client(&settings, Arc::clone(&tickets))?);
        Ok(Self { endpoint: Endpoint::client(settings.local())?, server, tls, tickets, settings })
    }

    async fn fetch_all(&self) -> Result<()> {
        if self.settings.perf_load == Load::Handshakes {
            return self.shake_hands().await;
        }
        let (first, others) = self.settings.connections();
        let connection = confirmed(self.connect()?).await?;
        self.fetch(&connection, first).await?;
        if others.is_empty() {
            return Ok(());
        }
        timeout(TICKET_TIMEOUT, self.tickets.wait()).await.context("found no session ticket")?;
        connection.close(self.no_error(), b"");
        let second = self.connect()?;
        match self.settings.test_case {
            TestCase::ZeroRtt => self.fetch_early(second, others).await,
            _ => self.fetch(&confirmed(second).await?, others).await,
        }
    }

    /// Opens connections until the time is over, one per URL at a time. Those that run then are finished.
    async fn shake_hands(&self) -> Result<()> {
        let deadline = Instant::now() + self.settings.perf_duration.unwrap_or_default();
        let one = async || {
            while Instant::now() < deadline {
                let began = Instant::now();
                let connection = confirmed(self.connect()?).await?;
                LATENCIES.since(began);
                COUNTERS.connected();
                self.exchange(&connection, Sizes::SMALLEST).await?;
                connection.close(self.no_error(), b"");
            }
            anyhow::Ok(())
        };
        let mut all: FuturesUnordered<_> = self.settings.requests.iter().map(|_| one()).collect();
        while let Some(outcome) = all.next().await {
            outcome?;
        }
        Ok(())
    }

    async fn exchange(&self, connection: &Connection, sizes: Sizes) -> Result<()> {
        let Settings { contract, .. } = &self.settings;
        let streams = contract.requests.len();
        if let Some(period) = contract.perf_period {
            return perf::exchange_every(connection, period, sizes, streams).await;
        }
        perf::exchange(connection, contract.perf_load, sizes, streams, contract.streams).await
    }

    fn connect(&self) -> Result<Connecting> {
        let mut config = ClientConfig::new(self.tls.clone());
        config.transport_config(transport::config(&self.settings)?);
        Ok(self.endpoint.connect_with(config, self.server, self.settings.host())?)
    }

    /// Sends the requests as early data. Where the server refuses that, they are sent again after the
    /// handshake, with HTTP/3 over another connection.
    async fn fetch_early(&self, connecting: Connecting, requests: &[Request]) -> Result<()> {
        let early = connecting.into_0rtt();
        let (connection, accepted) = early.ok().context("found a session ticket that allows no early data")?;
        let fetch = self.fetch(&connection, requests);
        let accepted = async {
            timeout(HANDSHAKE_TIMEOUT, accepted)
                .await
                .with_context(|| format!("handshake: not done within {HANDSHAKE_TIMEOUT:?}"))
        };
        let (outcome, accepted) = tokio::join!(fetch, accepted);
        if accepted? {
            return outcome;
        }
        eprintln!("early data refused by the server");
        let connection = match self.settings.http {
            Http::Hq => connection,
            // The crate h3 gives a connection up when its control stream is refused.
            Http::H3 => {
                connection.close(self.no_error(), b"");
                confirmed(self.connect()?).await?
            }
        };
        self.fetch(&connection, requests).await
    }

    /// Fetches over one connection, as many requests at a time as the server and the settings allow.
    async fn fetch(&self, connection: &Connection, requests: &[Request]) -> Result<()> {
        eprintln!("congestion control: {}", library::congestion_control(connection));
        if let Some(sizes) = self.settings.perf {
            COUNTERS.connected();
            let exchange = self.exchange(connection, sizes);
            let Some(time) = self.settings.perf_duration else { return exchange.await };
            // The end of the time is a good end too.
            return timeout(time, exchange).await.unwrap_or(Ok(()));
        }
        let client = get::Client::new(connection.clone(), &self.settings).await?;
        let permits = Semaphore::new(self.settings.streams.unwrap_or(Semaphore::MAX_PERMITS));
        // Not tasks of their own: so the first requests are there before the connection's task sends its first packet.
        let mut fetches: FuturesUnordered<_> = requests
            .iter()
            .map(async |request| {
                let _permit = permits.acquire().await?;
                client.clone().get(request, &self.settings.downloads).await
            })
            .collect();
        while let Some(outcome) = fetches.next().await {
            outcome?;
        }
        Ok(())
    }

    /// How a connection is closed when all is done.
    fn no_error(&self) -> VarInt {
        VarInt::from_u32(match (self.settings.test_case, self.settings.http) {
            (TestCase::Perf, _) | (_, Http::Hq) => 0,
            // H3_NO_ERROR: RFC 9114, section 8.1.
            (_, Http::H3) => 0x100,
        })
    }
}

/// Waits for the end of the handshake.
async fn confirmed(connecting: Connecting) -> Result<Connection> {
    let outcome = timeout(HANDSHAKE_TIMEOUT, connecting).await;
    Ok(outcome.with_context(|| format!("handshake: not done within {HANDSHAKE_TIMEOUT:?}"))??)
}
