//! HTTP/3, HTTP/0.9 and perf over the tquic crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Nothing of QUIC is decided here; this program is what tquic leaves to the application: sockets, timers to wait for,
//! files. Read [`settings`] first (what is honoured, what is refused), then [`driver`] (how packets come and go), then
//! [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod driver;
mod files;
mod gro;
mod perf;
mod response;
mod server;
mod settings;
#[path = "../contract/termination.rs"]
mod termination;
mod transport;
mod udp;

use std::process::ExitCode;

use quiclab_contract::Role;

fn main() -> ExitCode {
    quiclab_contract::main(&settings::SUPPORT, |settings| match settings.role {
        Role::Server => server::run(settings),
        Role::Client => client::run(&settings),
    })
}
