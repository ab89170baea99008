//! HTTP/3, HTTP/0.9 or perf over picoquic as a quiclab endpoint: server or client, by `ROLE`.
//!
//! Sockets, timers and packets are those of picoquic's own packet loop; this program has what picoquic leaves to the application:
//! streams and files. HTTP/3 is picoquic's h3zero. Read [`settings`] first (what is honoured, what is refused), then [`quic`] (contexts and the loop) and
//! [`events`] (what picoquic reports), then [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod application;
mod client;
mod events;
mod files;
mod h3;
mod hq;
mod perf;
mod quic;
mod server;
mod settings;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::{SUPPORT, Settings};

/// picoquic's C interface, as bindgen reads it from the headers.
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
    include!(concat!(env!("OUT_DIR"), "/picoquic.rs"));
}

fn main() -> ExitCode {
    quiclab_contract::main(&SUPPORT, run)
}

fn run(settings: Settings) -> anyhow::Result<()> {
    // picoquic has no function that gives the name back.
    eprintln!("congestion control handed to picoquic: {}", settings.congestion_control.name);
    match settings.role {
        Role::Server => server::run(&settings),
        Role::Client => client::run(&settings),
    }
}
