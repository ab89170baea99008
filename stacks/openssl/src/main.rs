//! HTTP/0.9 or perf over OpenSSL's own QUIC as a quiclab endpoint: server or client, by `ROLE`.
//!
//! OpenSSL has packets, timers and system calls; this program waits for its socket and has what OpenSSL leaves to the application:
//! streams and files. Read [`settings`] first (what is honoured, what is refused), then [`context`] (certificates, TLS) and [`ssl`]
//! (connections and streams), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod context;
#[allow(dead_code, reason = "OpenSSL's initial RTT and its first acknowledgment are its own")]
mod handshake;
mod server;
mod settings;
mod socket;
mod ssl;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::{HANDSHAKE, SUPPORT, Settings};

/// OpenSSL's C interface, as bindgen reads it from the headers.
#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    unsafe_op_in_unsafe_fn,
    unnecessary_transmutes,
    clippy::all,
    reason = "written by bindgen"
)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/openssl.rs"));
}

fn main() -> ExitCode {
    handshake::main(&SUPPORT, &HANDSHAKE, |contract, handshake| run(&Settings { contract, handshake }))
}

fn run(settings: &Settings) -> anyhow::Result<()> {
    match settings.role {
        Role::Server => server::run(settings),
        Role::Client => client::run(settings),
    }
}
