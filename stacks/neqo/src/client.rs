//! A client's connection, before it has a socket.

use std::{
    cell::RefCell,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::Result;
use neqo_common::Datagram;
use neqo_crypto::{
    ResumptionToken,
    constants::{TLS_GRP_EC_X25519, TLS_GRP_KEM_MLKEM768X25519},
};
use neqo_transport::{CloseReason, Connection, EmptyConnectionIdGenerator, Error as TransportError, Output, State};

use crate::{handshake::KeyExchange, settings::Settings, transport};

/// A handshake may take this long.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection and what it is to do.
pub trait Client {
    /// Takes what has arrived.
    fn take<'a>(&mut self, datagrams: impl IntoIterator<Item = Datagram<&'a mut [u8]>>, now: Instant);
    /// Returns a datagram to send, or how long to wait for the next one.
    fn output(&mut self, now: Instant) -> Output;
    /// True where [`Self::handle`] has something to do.
    fn has_events(&self) -> bool;
    /// Does what is due.
    ///
    /// # Errors
    /// Where an answer is wrong, the server is not trusted, or a file cannot be written.
    fn handle(&mut self) -> Result<()>;
    /// True where all has come that was to come.
    fn is_complete(&self) -> bool;
    /// True where the handshake is complete.
    fn is_connected(&self) -> bool;
    /// Takes the session, by which a later connection is resumed, even where no token for its address came with it: neqo waits
    /// for one, by a timer that is not among those that it asks to be woken for.
    fn session(&mut self, now: Instant) -> Option<ResumptionToken>;
    /// True where the session of another connection was resumed.
    fn is_resumed(&self) -> bool;
    /// Returns the reason for which the connection ended; `None`: it did not.
    fn end(&self) -> Option<CloseReason>;
    /// Ends the connection well.
    fn close(&mut self, now: Instant);
}

/// A connection that has not begun.
///
/// # Errors
/// Where the host's name is none, neqo refuses a setting, or a qlog cannot be written.
pub fn connect(settings: &Settings, local: SocketAddr, remote: SocketAddr) -> Result<Connection> {
    let mut quic = Connection::new_client(
        settings.host(),
        &[transport::alpn(settings)],
        Rc::new(RefCell::new(EmptyConnectionIdGenerator::default())),
        local,
        remote,
        transport::parameters(settings),
        Instant::now(),
    )?;
    let ciphers = transport::ciphers(settings);
    if !ciphers.is_empty() {
        quic.set_ciphers(ciphers)?;
    }
    if let Some(key_exchange) = settings.handshake.key_exchange {
        quic.set_groups(&[match key_exchange {
            KeyExchange::X25519 => TLS_GRP_EC_X25519,
            KeyExchange::X25519MlKem768 => TLS_GRP_KEM_MLKEM768X25519,
        }])?;
    }
    quic.set_qlog(transport::client_qlog(settings)?);
    Ok(quic)
}

/// Returns the reason for which a connection in this state ended; `None`: it did not.
pub fn end_of(state: &State) -> Option<CloseReason> {
    match state {
        State::Closing { error, .. } | State::Draining { error, .. } | State::Closed(error) => Some(error.clone()),
        _ => None,
    }
}

/// Describes in words why a connection ended.
pub fn describe(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Transport(TransportError::IdleTimeout) => "idle timeout".to_owned(),
        CloseReason::Transport(error) => format!("{error:?}"),
        CloseReason::Application(code) => format!("the server closed it with {code:#x}"),
    }
}
