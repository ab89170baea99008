//! HTTP/0.9 and the test case `perf` over the msquic crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Nothing of QUIC is decided here; this program is what MsQuic leaves to the application: TLS, files, requests. Read
//! [`settings`] first (what is honoured, what is refused), then [`configuration`] (how the library is configured), then
//! [`server`] and [`client`]. The library calls back from a thread of its own; the main thread waits for messages.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod chunk;
mod client;
mod configuration;
mod key_log;
mod perf;
mod server;
mod settings;

use std::process::ExitCode;

use quiclab_contract::Role;

fn main() -> ExitCode {
    quiclab_contract::main(&settings::SUPPORT, |settings| match settings.role {
        Role::Server => server::run(settings),
        Role::Client => client::run(settings),
    })
}
