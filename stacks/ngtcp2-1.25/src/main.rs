//! HTTP/0.9 or perf over ngtcp2 as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Nothing of QUIC is decided here; this program is what ngtcp2 leaves to the application: sockets, timers to wait for,
//! TLS objects, files. Read [`settings`] first (what is honoured, what is refused), then [`connection`] (how packets come and
//! go), [`callbacks`] (what ngtcp2 reports), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod application;
mod callbacks;
mod client;
mod connection;
mod files;
mod glue;
mod handshake;
mod hold;
mod hq;
mod perf;
mod server;
mod settings;
mod shared;
#[path = "../contract/termination.rs"]
mod termination;
mod tls;
mod transport;
mod udp;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::{HANDSHAKE, SUPPORT, Settings};

fn main() -> ExitCode {
    handshake::main(&SUPPORT, &HANDSHAKE, |contract, handshake| run(Settings { contract, handshake }))
}

fn run(settings: Settings) -> anyhow::Result<()> {
    // ngtcp2 names it nowhere, not even in its qlog.
    eprintln!("congestion control handed to ngtcp2: {:?}", settings.congestion_control);
    match settings.role {
        Role::Server => server::run(settings),
        Role::Client => client::run(&settings),
    }
}
