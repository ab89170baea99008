//! An order in, an answer out.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use neqo_common::{Datagram, IpTosEcn};
use neqo_transport::Output;
use quiclab_contract::Role;
use quiclab_sans_io::{Answer, Buffer, Endpoint, Received, wire::ANSWER_LIMIT};

use crate::{
    addresses::address,
    client::{self, Client, HANDSHAKE_TIMEOUT},
    machine,
    server::Server,
    settings::Settings,
};

/// Bytes that leave with one answer at most, and those of the datagram that passes it.
const MOST_BYTES: usize = ANSWER_LIMIT / 2;

/// The addresses of both ends.
#[derive(Clone, Copy)]
pub struct Network {
    pub local: SocketAddr,
    pub peer: SocketAddr,
}

impl Network {
    /// The addresses of both ends, as the settings' role sees them.
    pub fn new(settings: &Settings) -> Self {
        let port = settings.requests.first().map_or(settings.port, |request| request.port);
        let [client, server] = [Role::Client, Role::Server].map(|role| address(settings.ip, role, port));
        let (local, peer) = if settings.role == Role::Client { (client, server) } else { (server, client) };
        Self { local, peer }
    }

    /// The datagrams that have arrived, as neqo takes them.
    fn datagrams<'a>(&self, received: &'a mut [Received]) -> impl Iterator<Item = Datagram<&'a mut [u8]>> {
        let Self { local, peer } = *self;
        let datagram = move |Received { ecn, payload }: &'a mut Received| {
            Datagram::from_slice(peer, local, IpTosEcn::from(*ecn).into(), &mut payload[..])
        };
        received.iter_mut().map(datagram)
    }
}

/// Puts a datagram into an answer.
fn push(answer: &mut Answer, datagram: Datagram) -> Result<()> {
    let ecn = IpTosEcn::from(datagram.tos()).into();
    let buffer = Buffer::datagram(ecn, datagram.to_vec()).context("neqo sends more than a datagram holds")?;
    answer.buffers.push(buffer);
    Ok(())
}

/// Sends what is due. Returns when neqo wants to be called then, if it says so.
fn flush(answer: &mut Answer, now_ns: u64, mut output: impl FnMut() -> Output) -> Result<Option<u64>> {
    let mut bytes: usize = answer.buffers.iter().map(|buffer| buffer.payload.len()).sum();
    while bytes < MOST_BYTES {
        match output() {
            Output::Datagram(datagram) => {
                bytes += datagram.len();
                push(answer, datagram)?;
            }
            Output::Callback(time) => return Ok(Some(later(now_ns, time))),
            Output::None => return Ok(None),
        }
    }
    // The rest leaves with the next answer, at the same time.
    Ok(Some(now_ns))
}

/// A time since the start of the run.
fn later(now_ns: u64, time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(u64::MAX, |time| now_ns.saturating_add(time))
}

/// The time of an order, as neqo takes it.
fn set_now(now_ns: u64) -> Instant {
    machine::set_now(now_ns);
    Instant::now()
}

/// A client's connection.
pub struct Fetching<C> {
    client: C,
    network: Network,
}

impl<C: Client> Fetching<C> {
    /// Begins at the start of the run.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn begin(network: Network, make: impl FnOnce() -> Result<C>) -> Result<Self> {
        set_now(0);
        Ok(Self { client: make()?, network })
    }
}

impl<C: Client> Endpoint for Fetching<C> {
    fn handle(&mut self, now_ns: u64, mut datagrams: Vec<Received>) -> Result<Answer> {
        let Self { client, network } = self;
        let now = set_now(now_ns);
        let mut answer = Answer::default();
        if !datagrams.is_empty() {
            client.take(network.datagrams(&mut datagrams), now);
            flush(&mut answer, now_ns, || client.output(now))?;
        }
        loop {
            client.handle()?;
            answer.is_done = client.is_complete();
            if answer.is_done {
                client.close(now);
            }
            answer.next = flush(&mut answer, now_ns, || client.output(now))?;
            if answer.is_done {
                answer.next = None;
                return Ok(answer);
            }
            if !client.has_events() {
                break;
            }
        }
        if let Some(reason) = client.end() {
            bail!("the connection ended early: {}", client::describe(&reason));
        }
        if !client.is_connected() {
            let deadline = later(0, HANDSHAKE_TIMEOUT);
            ensure!(now_ns < deadline, "no handshake within {HANDSHAKE_TIMEOUT:?}");
            answer.next = Some(answer.next.map_or(deadline, |next| next.min(deadline)));
        }
        Ok(answer)
    }
}

/// A server's connections.
pub struct Serving<S> {
    server: S,
    network: Network,
}

impl<S: Server> Serving<S> {
    /// Begins at the start of the run.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn begin(network: Network, make: impl FnOnce() -> Result<S>) -> Result<Self> {
        set_now(0);
        Ok(Self { server: make()?, network })
    }
}

impl<S: Server> Endpoint for Serving<S> {
    fn handle(&mut self, now_ns: u64, mut datagrams: Vec<Received>) -> Result<Answer> {
        let Self { server, network } = self;
        let now = set_now(now_ns);
        let mut answer = Answer::default();
        for datagram in network.datagrams(&mut datagrams) {
            if let Output::Datagram(datagram) = server.process(Some(datagram), now) {
                push(&mut answer, datagram)?;
            }
        }
        flush(&mut answer, now_ns, || server.process(None, now))?;
        loop {
            server.handle(now);
            answer.next = flush(&mut answer, now_ns, || server.process(None, now))?;
            if !server.has_events() {
                return Ok(answer);
            }
        }
    }
}
