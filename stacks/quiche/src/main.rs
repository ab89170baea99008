//! HTTP/3 and HTTP/0.9 over the quiche crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Nothing of QUIC is decided here; this program is what quiche leaves to the application: sockets, send batches, send
//! times, files. Read [`settings`] first (what is honoured, what is refused), then [`udp`] (how packets leave), then
//! [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod accept;
mod batch;
mod client;
mod clock;
mod control;
mod gro;
#[cfg_attr(not(feature = "boring"), allow(dead_code, reason = "older releases have neither"))]
mod handshake;
mod hold;
mod http;
mod ids;
mod perf;
mod plan;
mod planned;
mod requests;
mod response;
mod server;
mod settings;
mod spread;
#[path = "../contract/termination.rs"]
mod termination;
#[cfg(feature = "boring")]
mod tls;
mod transport;
mod udp;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::{HANDSHAKE, SUPPORT, Settings};

fn main() -> ExitCode {
    handshake::main(&SUPPORT, &HANDSHAKE, |contract, handshake| {
        let settings = Settings { contract, handshake };
        match settings.role {
            Role::Server => server::run(&settings),
            Role::Client => client::run(&settings),
        }
    })
}
