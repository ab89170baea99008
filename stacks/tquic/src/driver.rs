//! What moves a tquic endpoint: datagrams and the passing of time.

use std::{rc::Rc, time::Instant};

use anyhow::{Context, Result};
use quiclab_contract::Role;
use tquic::{Endpoint, TransportHandler};

use crate::{settings::Settings, transport, udp::Socket};

/// Largest datagram that is read whole.
const RECEIVE_BUFFER: usize = 65_535;

/// Most reads of the socket before tquic may answer.
const RECEIVE_BATCH: usize = 64;

/// A tquic endpoint with its socket. Call order: [`Self::wait`], then what the application wants, then [`Self::process`].
pub struct Driver {
    pub endpoint: Endpoint,
    pub socket: Rc<Socket>,
    buffer: Vec<u8>,
}

impl Driver {
    /// A server that listens, or a client that has no connection yet.
    ///
    /// # Errors
    /// Where the port is taken, or tquic refuses the configuration.
    pub fn new(settings: &Settings, handler: Box<dyn TransportHandler>) -> Result<Self> {
        let is_server = settings.role == Role::Server;
        let socket = Rc::new(Socket::bind(settings)?);
        let endpoint = Endpoint::new(transport::config(settings)?, is_server, handler, socket.clone());
        Ok(Self { endpoint, socket, buffer: vec![0; RECEIVE_BUFFER] })
    }

    /// Sleeps until there is something to do, then hands tquic what has arrived and what time it is.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(&mut self) -> Result<()> {
        self.socket.wait(self.endpoint.timeout())?;
        for _ in 0..RECEIVE_BATCH {
            let Some((received, info)) = self.socket.receive(&mut self.buffer)? else { break };
            for datagram in self.buffer[..received.length].chunks_mut(received.segment) {
                // A packet that cannot be used is dropped; an error that ends the connection shows as a closed connection.
                let _ = self.endpoint.recv(datagram, &info);
            }
        }
        self.endpoint.on_timeout(Instant::now());
        Ok(())
    }

    /// Lets tquic call the handler and send.
    ///
    /// # Errors
    /// Where a packet cannot be written or sent.
    pub fn process(&mut self) -> Result<()> {
        self.endpoint.process_connections().context("tquic")
    }
}
