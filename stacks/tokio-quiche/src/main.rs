//! HTTP/3 or perf over the tokio-quiche crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! tokio-quiche owns the socket, the batches and the timers, on one thread. Read [`settings`] first (what is honoured,
//! what is refused), then [`params`] (what the library is told), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod params;
mod perf;
mod server;
mod settings;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::{SUPPORT, Settings};

fn main() -> ExitCode {
    quiclab_contract::main(&SUPPORT, |settings| run(&settings))
}

fn run(settings: &Settings) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match settings.role {
            Role::Server => server::run(settings).await,
            Role::Client => client::run(settings).await,
        }
    })
    // Dropping the runtime drops the connections, which finish their qlog.
}
