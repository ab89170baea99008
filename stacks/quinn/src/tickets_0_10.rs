//! Session tickets of the client, and word of their arrival, for quinn 0.10; `tickets.rs` is for later releases, with the same
//! items.

use rustls::{
    NamedGroup, ServerName,
    client::{ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue},
};
use tokio::sync::Notify;

/// Tickets of two servers, of which rustls 0.21 keeps eight each. There is one server, but this release forgets the oldest as soon
/// as its room is full.
const TICKETS: usize = 2 * 8;

/// rustls's store, with a bell.
pub struct Tickets {
    store: ClientSessionMemoryCache,
    arrived: Notify,
}

impl Tickets {
    /// An empty store.
    pub fn new() -> Self {
        Self { store: ClientSessionMemoryCache::new(TICKETS), arrived: Notify::new() }
    }

    /// Returns when the first ticket is there.
    pub async fn wait(&self) {
        self.arrived.notified().await;
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, server_name: &ServerName, group: NamedGroup) {
        self.store.set_kx_hint(server_name, group);
    }

    fn kx_hint(&self, server_name: &ServerName) -> Option<NamedGroup> {
        self.store.kx_hint(server_name)
    }

    fn set_tls12_session(&self, _: &ServerName, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName) {}

    fn insert_tls13_ticket(&self, server_name: &ServerName, value: Tls13ClientSessionValue) {
        self.store.insert_tls13_ticket(server_name, value);
        self.arrived.notify_one();
    }

    fn take_tls13_ticket(&self, server_name: &ServerName) -> Option<Tls13ClientSessionValue> {
        self.store.take_tls13_ticket(server_name)
    }
}
