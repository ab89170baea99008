//! HTTP/0.9 and HTTP/3 over the quinn crate as a quiclab endpoint: server or client, by `ROLE`. The crate noq, a fork of
//! quinn, is built from the same sources, under the name `quinn`, and so is quinn 0.10. [`library`] holds what differs
//! in noq, [`release`], [`tickets`] and [`tls`] what differs in quinn 0.10.
//!
//! Nothing of QUIC is decided here; this program is what quinn leaves to the application: TLS, files, requests. Read
//! [`settings`] first (what is honoured, what is refused), then [`transport`] and [`tls`] (how a connection is
//! configured), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod get;
#[allow(dead_code, reason = "nothing here chooses what is sent before a ServerHello")]
mod handshake;
#[cfg_attr(feature = "noq", path = "library_noq.rs")]
mod library;
#[cfg(feature = "qlog")]
mod log;
mod perf;
#[cfg(all(feature = "noq", feature = "qlog"))]
mod plain;
#[cfg(feature = "qlog")]
#[cfg_attr(feature = "noq", path = "qlog_noq.rs")]
mod qlog;
#[cfg_attr(feature = "quinn-0-10", path = "release_0_10.rs")]
mod release;
mod server;
mod settings;
#[cfg_attr(feature = "quinn-0-10", path = "tickets_0_10.rs")]
mod tickets;
#[cfg_attr(feature = "quinn-0-10", path = "tls_0_10.rs")]
mod tls;
mod transport;

use std::process::ExitCode;

use anyhow::Context;
use quiclab_contract::Role;
use settings::{HANDSHAKE, SUPPORT, Settings};

fn main() -> ExitCode {
    #[cfg(all(feature = "noq", feature = "qlog"))]
    if plain::is_wanted() {
        return plain::run();
    }
    handshake::main(&SUPPORT, &HANDSHAKE, |contract, handshake| run(Settings { contract, handshake }))
}

/// Plays the role on this thread; dropping the runtime ends every connection's log.
fn run(settings: Settings) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(async {
        match settings.role {
            Role::Server => server::run(settings).await,
            Role::Client => client::run(settings).await,
        }
    })
}
