//! quinn-proto driven by orders, as quinn's tasks drive it.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use quiclab_sans_io::{
    Answer, Buffer, Endpoint, Received, Seed,
    contract::{Gso, IpVersion, Role},
    http, tls,
};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Event, Incoming, ServerConfig, Transmit,
    VarInt,
};

use crate::{client::Client, server::Server, settings::Settings, transport};

/// Datagrams in one buffer: quinn 0.11.12, connection.rs, `MAX_TRANSMIT_SEGMENTS`.
const MAX_TRANSMIT_SEGMENTS: usize = 10;

/// Datagrams of a connection before its application is looked after: the same, `MAX_TRANSMIT_DATAGRAMS`.
const MAX_TRANSMIT_DATAGRAMS: usize = 20;

/// How long the handshake of a client may take, as in ../../stacks/quinn.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a role does with a connection.
pub trait Application {
    /// Takes what has happened.
    ///
    /// # Errors
    /// Where the role fails.
    fn on_event(&mut self, connection: &mut Connection, event: Event) -> Result<()>;

    /// True where all files are there.
    fn is_done(&self) -> bool;
}

/// One of the two ends.
pub struct Quinn {
    endpoint: quinn_proto::Endpoint,
    connections: BTreeMap<ConnectionHandle, Driven>,
    /// Connections that there were.
    count: usize,
    /// Of a client that has not connected yet.
    client: Option<ClientConfig>,
    /// Of a server.
    server: Option<ServerConfig>,
    settings: Arc<Settings>,
    /// The start of the run: quinn-proto knows no other time but that of the machine. It only ever takes differences.
    base: Instant,
}

/// A connection and what it is for.
struct Driven {
    connection: Connection,
    application: Box<dyn Application>,
}

impl Quinn {
    /// An end that has not heard of the other one.
    ///
    /// # Errors
    /// Where TLS is not fit for QUIC, or a qlog file cannot be created.
    pub fn new(settings: Arc<Settings>, tls: tls::Config, seed: &Seed) -> Result<Self> {
        let base = Instant::now();
        let (client, server) = match tls {
            tls::Config::Client(tls) => (Some(transport::client(&settings, tls, base)?), None),
            tls::Config::Server(tls) => (None, Some(transport::server(tls, seed)?)),
        };
        let endpoint = quinn_proto::Endpoint::new(
            Arc::new(transport::endpoint(seed)),
            server.clone().map(Arc::new),
            // As with sockets that do not fragment.
            true,
            None,
        );
        Ok(Self { endpoint, connections: BTreeMap::new(), count: 0, client, server, settings, base })
    }

    fn connect(&mut self, now: Instant, config: ClientConfig) -> Result<()> {
        let server = SocketAddr::new(address(self.settings.ip, 2), self.settings.requests[0].port);
        let (handle, connection) = self.endpoint.connect(now, config, server, self.settings.host())?;
        self.add(handle, connection, Box::new(Client::new(&self.settings)));
        Ok(())
    }

    fn add(&mut self, handle: ConnectionHandle, connection: Connection, application: Box<dyn Application>) {
        self.count += 1;
        self.connections.insert(handle, Driven { connection, application });
    }

    /// Hands a datagram to its connection, or to a new one.
    fn receive(&mut self, now: Instant, datagram: Received, answer: &mut Answer) -> Result<()> {
        let peer = match self.settings.role {
            Role::Client => SocketAddr::new(address(self.settings.ip, 2), self.settings.requests[0].port),
            Role::Server => SocketAddr::new(address(self.settings.ip, 1), CLIENT_PORT),
        };
        let ecn = EcnCodepoint::from_bits(datagram.ecn);
        let mut response = Vec::new();
        let event = self.endpoint.handle(now, peer, None, ecn, datagram.payload.as_slice().into(), &mut response);
        match event {
            None => Ok(()),
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(driven) = self.connections.get_mut(&handle) {
                    driven.connection.handle_event(event);
                }
                Ok(())
            }
            Some(DatagramEvent::Response(transmit)) => send(answer, &transmit, &response),
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming, answer),
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming, answer: &mut Answer) -> Result<()> {
        let mut config = self.server.clone().context("a client was connected to")?;
        config.transport_config(transport::connection(&self.settings, self.count + 1, self.base)?);
        let mut response = Vec::new();
        match self.endpoint.accept(incoming, now, &mut response, Some(Arc::new(config))) {
            Ok((handle, connection)) => {
                self.add(handle, connection, Box::new(Server::new(Arc::clone(&self.settings))));
                Ok(())
            }
            Err(error) => {
                eprintln!("refused a connection: {}", error.cause);
                error.response.map_or(Ok(()), |transmit| send(answer, &transmit, &response))
            }
        }
    }

    /// Lets every connection do what it can do now.
    fn drive(&mut self, now: Instant, answer: &mut Answer) -> Result<()> {
        let segments = if self.settings.gso == Gso::Off { 1 } else { MAX_TRANSMIT_SEGMENTS };
        for (&handle, driven) in &mut self.connections {
            // The order is that of quinn's driver: send, timers, events; then the application's tasks have their turn.
            loop {
                let mut goes_on = driven.transmit(now, segments, answer)?;
                if driven.connection.poll_timeout().is_some_and(|deadline| deadline <= now) {
                    driven.connection.handle_timeout(now);
                    goes_on = true;
                }
                while let Some(event) = driven.connection.poll_endpoint_events() {
                    if let Some(event) = self.endpoint.handle_event(handle, event) {
                        driven.connection.handle_event(event);
                        goes_on = true;
                    }
                }
                while let Some(event) = driven.connection.poll() {
                    if matches!(event, Event::Connected) {
                        eprintln!("congestion control: {}", transport::congestion_control(&driven.connection));
                    }
                    driven.application.on_event(&mut driven.connection, event)?;
                    goes_on = true;
                }
                if driven.application.is_done() && !driven.connection.is_closed() {
                    let code = VarInt::from_u64(http::no_error(self.settings.http))?;
                    driven.connection.close(now, code, Default::default());
                    driven.transmit(now, segments, answer)?;
                    answer.is_done = true;
                    return Ok(());
                }
                if !goes_on {
                    break;
                }
            }
        }
        self.connections.retain(|_, driven| !driven.connection.is_drained());
        Ok(())
    }

    /// When something is to be done even if nothing arrives.
    ///
    /// # Errors
    /// Where a client's handshake has taken too long.
    fn next(&mut self, now: Instant) -> Result<Option<u64>> {
        let mut next = self.connections.values_mut().filter_map(|driven| driven.connection.poll_timeout()).min();
        let is_handshaking = |driven: &Driven| driven.connection.is_handshaking();
        if self.settings.role == Role::Client && self.connections.values().any(is_handshaking) {
            let deadline = self.base + HANDSHAKE_TIMEOUT;
            if now >= deadline {
                bail!("handshake: not done within {HANDSHAKE_TIMEOUT:?}");
            }
            next = next.map(|next| next.min(deadline));
        }
        let nanoseconds = next.map(|next| next.saturating_duration_since(self.base).as_nanos());
        // What cannot be written down, after more than 500 years, does not happen.
        Ok(nanoseconds.and_then(|nanoseconds| nanoseconds.try_into().ok()))
    }
}

impl Endpoint for Quinn {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        let now = self.base.checked_add(Duration::from_nanos(now_ns)).context("a time that is too late")?;
        let mut answer = Answer::default();
        if let Some(config) = self.client.take() {
            self.connect(now, config)?;
        }
        for datagram in datagrams {
            self.receive(now, datagram, &mut answer)?;
        }
        self.drive(now, &mut answer)?;
        answer.next = if answer.is_done { None } else { self.next(now)? };
        Ok(answer)
    }
}

impl Driven {
    /// Sends what can be sent now. True: there may be more.
    fn transmit(&mut self, now: Instant, segments: usize, answer: &mut Answer) -> Result<bool> {
        let mut datagrams = 0;
        while datagrams < MAX_TRANSMIT_DATAGRAMS {
            let mut buffer = Vec::with_capacity(self.connection.current_mtu().into());
            let Some(transmit) = self.connection.poll_transmit(now, segments, &mut buffer) else {
                return Ok(false);
            };
            datagrams += transmit.segment_size.map_or(1, |segment| transmit.size.div_ceil(segment));
            send(answer, &transmit, &buffer)?;
        }
        Ok(true)
    }
}

fn send(answer: &mut Answer, transmit: &Transmit, buffer: &[u8]) -> Result<()> {
    let payload = buffer.get(..transmit.size).context("quinn-proto: a transmit longer than its buffer")?.to_vec();
    let segment = transmit.segment_size.unwrap_or(transmit.size);
    let segment = segment.try_into().context("quinn-proto: a datagram longer than UDP has them")?;
    let ecn = transmit.ecn.map_or(0, |ecn| ecn as u8);
    answer.buffers.push(Buffer { ecn, segment, planned: None, payload });
    Ok(())
}

/// The client's port: any, as there is one connection between two addresses.
const CLIENT_PORT: u16 = 50_000;

/// An address for examples (RFC 5737, RFC 3849): it goes into nothing that is sent but the tokens.
fn address(ip: IpVersion, host: u8) -> IpAddr {
    match ip {
        IpVersion::V4 => Ipv4Addr::new(192, 0, 2, host).into(),
        IpVersion::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()).into(),
    }
}
