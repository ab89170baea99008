//! Session tickets of the client, and word of their arrival; `tickets_0_10.rs` is for quinn 0.10, with the same items.

use rustls::{
    NamedGroup,
    client::{ClientSessionMemoryCache, ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue},
    pki_types::ServerName,
};
use tokio::sync::Notify;

/// Servers whose tickets are kept; there is one.
const SERVERS: usize = 1;

/// rustls's store, with a bell.
#[derive(Debug)]
pub struct Tickets {
    store: ClientSessionMemoryCache,
    arrived: Notify,
}

impl Tickets {
    /// An empty store.
    pub fn new() -> Self {
        Self { store: ClientSessionMemoryCache::new(SERVERS), arrived: Notify::new() }
    }

    /// Returns when the first ticket is there.
    pub async fn wait(&self) {
        self.arrived.notified().await;
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.store.set_kx_hint(server_name, group);
    }

    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.store.kx_hint(server_name)
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.store.insert_tls13_ticket(server_name, value);
        self.arrived.notify_one();
    }

    fn take_tls13_ticket(&self, server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.store.take_tls13_ticket(server_name)
    }
}
