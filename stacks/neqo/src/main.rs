//! HTTP/3, HTTP/0.9 or perf over neqo as a quiclab endpoint: server or client, by `ROLE`.
//!
//! neqo is sans-I/O: [`udp`] has the socket, as neqo's own programs have it, and [`fetch`] and [`serve`] are the loops around it. Read
//! [`settings`] first (what is honoured, what is refused), then [`transport`] (what both roles set), [`client`] and [`server`]. [`nss`]
//! hands keys and certificates to NSS, which neqo takes them from. The program for the simulator, in sans-io/neqo, uses all but socket and
//! loops.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod certificates;
mod client;
mod client_h3;
mod client_streams;
mod fetch;
#[allow(dead_code, reason = "neqo's initial RTT is a constant of its build")]
mod handshake;
mod nss;
mod serve;
mod server;
mod server_h3;
mod server_streams;
mod settings;
mod transport;
mod udp;

use std::process::ExitCode;

use anyhow::Context as _;
use quiclab_contract::Role;
use settings::{HANDSHAKE, SUPPORT, Settings};

fn main() -> ExitCode {
    handshake::main(&SUPPORT, &HANDSHAKE, |contract, handshake| run(Settings { contract, handshake }))
}

fn run(settings: Settings) -> anyhow::Result<()> {
    // neqo has no function that gives the name back.
    eprintln!("congestion control handed to neqo: {}", settings.congestion_control.name);
    // One thread and tokio's timers, as in neqo's own programs.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.context("starting tokio")?;
    runtime.block_on(async {
        match settings.role {
            Role::Server => serve::run(&settings).await,
            Role::Client => fetch::run(&settings).await,
        }
    })
}
