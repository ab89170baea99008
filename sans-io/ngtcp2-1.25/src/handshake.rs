//! TLS between rustls and ngtcp2.

use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::{
    AlertDescription, ClientConfig, ServerConfig, Side,
    pki_types::ServerName,
    quic::{
        ClientConnection, Connection, DirectionalKeys, KeyChange, PacketKeySet, Secrets, ServerConnection, Suite,
        Version,
    },
};

use crate::{
    ffi::*,
    quic::{Quic, QuicError, QuicResult},
};

/// What a handshake begins with.
pub enum Start {
    /// The name that the server's certificate has to have.
    Client(Arc<ClientConfig>, String),
    /// With the server's certificate.
    Server(Arc<ServerConfig>),
}

/// The TLS state of one connection.
pub struct Handshake {
    tls: Connection,
    /// The suite of Initial packets.
    initial: Suite,
    /// What TLS says next belongs to packets of this level.
    level: ngtcp2_encryption_level,
    /// True when ngtcp2 has the peer's transport parameters.
    has_parameters: bool,
    /// A server's key of 1-RTT packets that come: it has to wait for the end of the handshake (RFC 9001, section 5.7).
    waiting: Option<DirectionalKeys>,
    /// What the keys of the next phase follow from.
    secrets: Option<Secrets>,
    is_complete: bool,
}

impl Handshake {
    /// One that has said nothing. `parameters`: the transport parameters of this side.
    ///
    /// # Errors
    /// Where the server's name is none, and what rustls answers.
    pub fn new(start: Start, initial: Suite, parameters: Vec<u8>) -> Result<Self> {
        let tls = match start {
            Start::Client(config, host) => {
                let name = ServerName::try_from(host).context("the host's name")?;
                Connection::Client(ClientConnection::new(config, Version::V1, name, parameters)?)
            }
            Start::Server(config) => Connection::Server(ServerConnection::new(config, Version::V1, parameters)?),
        };
        let level = NGTCP2_ENCRYPTION_LEVEL_INITIAL;
        Ok(Self { tls, initial, level, has_parameters: false, waiting: None, secrets: None, is_complete: false })
    }

    /// Begins: keys from the client's first destination, and what TLS has to say already.
    pub fn begin(&mut self, quic: Quic, destination: &[u8]) -> QuicResult<()> {
        let side = if quic.is_server() { Side::Server } else { Side::Client };
        quic.install_initial_keys(self.initial.keys(destination, side, Version::V1))?;
        self.write(quic)
    }

    /// Takes what the peer's TLS says, and answers.
    pub fn read(&mut self, quic: Quic, data: &[u8]) -> QuicResult<()> {
        if let Err(error) = self.tls.read_hs(data) {
            eprintln!("TLS: {error}");
            let alert = self.tls.alert().unwrap_or(AlertDescription::InternalError);
            quic.set_alert(alert.into());
            return Err(QuicError(NGTCP2_ERR_CRYPTO));
        }
        if !self.has_parameters
            && let Some(parameters) = self.tls.quic_transport_parameters()
        {
            quic.set_remote_parameters(parameters)?;
            self.has_parameters = true;
        }
        self.write(quic)
    }

    fn write(&mut self, quic: Quic) -> QuicResult<()> {
        loop {
            let mut data = Vec::new();
            let change = self.tls.write_hs(&mut data);
            if !data.is_empty() {
                quic.submit_crypto_data(self.level, &data)?;
            }
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    quic.install_handshake_keys(keys)?;
                    self.level = NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE;
                }
                Some(KeyChange::OneRtt { keys, next }) => {
                    quic.install_tx_key(keys.local)?;
                    self.waiting = Some(keys.remote);
                    self.secrets = Some(next);
                    self.level = NGTCP2_ENCRYPTION_LEVEL_1RTT;
                }
                None if data.is_empty() => break,
                None => {}
            }
        }
        if self.is_complete || self.tls.is_handshaking() {
            return Ok(());
        }
        if let Some(keys) = self.waiting.take() {
            quic.install_rx_key(keys)?;
            quic.complete_handshake();
            self.is_complete = true;
        }
        Ok(())
    }

    /// The keys of the next phase (RFC 9001, section 6). `None`: there is none yet.
    pub fn next_keys(&mut self) -> Option<PacketKeySet> {
        self.secrets.as_mut().map(Secrets::next_packet_keys)
    }
}
