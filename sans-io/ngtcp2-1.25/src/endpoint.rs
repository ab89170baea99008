//! The endpoint: one connection, which a client begins with the first order, and a server with the first Initial.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use quiclab_sans_io::{Answer, Endpoint, Received, Seed, contract::Role, tls};
use rand_chacha::ChaCha20Rng;
use rustls::quic::Suite;

use crate::{
    connection::{Connection, Outgoing, State, accept},
    handshake::Start,
    settings::Settings,
};

/// A client or a server.
pub struct Peer {
    settings: Arc<Settings>,
    tls: tls::Config,
    /// The suite of Initial packets.
    initial: Suite,
    random: ChaCha20Rng,
    connection: Option<Connection>,
    /// True when the connection has been there.
    is_over: bool,
}

impl Peer {
    /// One that has heard of nobody.
    ///
    /// # Errors
    /// Where ring has no keys of Initial packets.
    pub fn new(settings: Arc<Settings>, tls: tls::Config, seed: &Seed) -> Result<Self> {
        let (initial, random) = (tls::initial_suite()?, seed.stream("quic"));
        Ok(Self { settings, tls, initial, random, connection: None, is_over: false })
    }

    /// Begins the connection where it is time to. A server's begins with `datagram`.
    fn begin(&mut self, datagram: Option<&Received>, now: u64) -> Result<()> {
        if self.connection.is_some() || self.is_over {
            return Ok(());
        }
        let (start, first) = match (&self.tls, datagram) {
            (tls::Config::Client(config), _) => (Start::Client(config.clone(), self.settings.host().to_owned()), None),
            (tls::Config::Server(config), Some(datagram)) => {
                let Some(first) = accept(&datagram.payload) else { return Ok(()) };
                (Start::Server(config.clone()), Some(first))
            }
            (tls::Config::Server(_), None) => return Ok(()),
        };
        let random = self.random.clone();
        self.connection = Some(Connection::new(&self.settings, start, self.initial, first, random, now)?);
        Ok(())
    }

    /// Takes what has arrived, and sends what may be sent.
    fn exchange(&mut self, now: u64, datagrams: &[Received], outgoing: &mut Outgoing) -> Result<State> {
        for received in datagrams {
            self.begin(Some(received), now)?;
            let Some(connection) = &mut self.connection else { continue };
            if connection.read(received, now, outgoing)? == State::Over {
                return Ok(State::Over);
            }
        }
        if let Some(connection) = &mut self.connection {
            connection.advance(now, outgoing)?;
        }
        Ok(State::Open)
    }

    fn forget(&mut self) {
        self.connection = None;
        self.is_over = true;
    }
}

impl Endpoint for Peer {
    fn handle(&mut self, now_ns: u64, datagrams: Vec<Received>) -> Result<Answer> {
        let mut outgoing = Outgoing { buffers: Vec::new(), is_batched: self.settings.gso.is_on() };
        self.begin(None, now_ns)?;
        match (self.exchange(now_ns, &datagrams, &mut outgoing), self.settings.role) {
            (Ok(State::Open), _) => {}
            (Ok(State::Over), Role::Server) => self.forget(),
            (Ok(State::Over), Role::Client) => bail!("the server closed the connection early"),
            // What a client does wrong is its own connection's matter.
            (Err(error), Role::Server) => {
                eprintln!("the connection has failed: {error:#}");
                self.forget();
            }
            (Err(error), Role::Client) => return Err(error).context("the connection has failed"),
        }
        let mut answer = Answer::default();
        if let Some(connection) = &mut self.connection {
            if connection.is_complete() {
                connection.close(now_ns, &mut outgoing);
                answer.is_done = true;
            } else {
                answer.next = connection.expiry().map(|expiry| expiry.max(now_ns));
            }
        }
        if answer.is_done {
            self.forget();
        }
        answer.buffers = outgoing.buffers;
        Ok(answer)
    }
}
