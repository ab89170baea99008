//! A server's connections, before they have a socket.

use std::time::Instant;

use anyhow::Result;
use neqo_common::Datagram;
use neqo_crypto::AntiReplay;
use neqo_transport::Output;

use crate::transport::ANTI_REPLAY_WINDOW;

/// Hash functions and their bits in NSS's filter against replay, as neqo's own programs have them.
const ANTI_REPLAY: (usize, usize) = (7, 14);

/// Connections and what they carry.
pub trait Server {
    /// Takes a datagram, or none. Returns a datagram to send, or how long to wait for the next one.
    fn process(&mut self, datagram: Option<Datagram<&mut [u8]>>, now: Instant) -> Output;
    /// True where [`Self::handle`] has something to do.
    fn has_events(&self) -> bool;
    /// Does what is due. What goes wrong on a connection is its own matter.
    fn handle(&mut self, now: Instant);
}

/// NSS's filter against replay. Its first window begins now, whatever the clock of the connections says.
///
/// # Errors
/// Where NSS refuses.
pub fn anti_replay() -> Result<AntiReplay> {
    let (functions, bits) = ANTI_REPLAY;
    Ok(AntiReplay::new(Instant::now(), ANTI_REPLAY_WINDOW, functions, bits)?)
}
