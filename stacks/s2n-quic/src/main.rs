//! HTTP/0.9 or perf over the s2n-quic crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Nothing of QUIC is decided here; this program is what s2n-quic leaves to the application: TLS, files, requests. Read
//! [`settings`] first (what is honoured, what is refused), then [`endpoint`] and [`tls`] (how the library is
//! configured), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod endpoint;
mod key_update;
mod perf;
mod recovery;
mod server;
mod settings;
mod tls;

use std::process::ExitCode;

use anyhow::Context;
use quiclab_contract::Role;
use settings::{SUPPORT, Settings};

fn main() -> ExitCode {
    quiclab_contract::main(&SUPPORT, run)
}

/// Plays the role on this thread.
fn run(settings: Settings) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the runtime")?;
    runtime.block_on(async {
        match settings.role {
            Role::Server => server::run(settings).await,
            Role::Client => client::run(settings).await,
        }
    })
}
