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
mod handshake;
mod hq;
mod perf;
mod quic;
mod server;
mod settings;

use std::{env, process::ExitCode};

use handshake::Handshake;
use quiclab_contract::{NOT_SUPPORTED, Role};
use settings::{SUPPORT, Settings};

/// The settings of handshakes that this endpoint supports.
const HANDSHAKE: handshake::Support = handshake::Support { first_ack: &[], default_pto: true, key_exchanges: &[] };

/// The longest probe timeout of picoquic's handshakes, in ms (PICOQUIC_INITIAL_MAX_RETRANSMIT_TIMER): it makes longer ones this long.
const MOST_DEFAULT_PTO: u64 = 1000;

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
    if let Some(refusal) = env::var("QUICLAB_DEFAULT_PTO").ok().and_then(|pto| refusal(&pto)) {
        eprintln!("{refusal}");
        return ExitCode::from(NOT_SUPPORTED);
    }
    handshake::main(&SUPPORT, &HANDSHAKE, run)
}

/// Why picoquic cannot have this probe timeout; `None` where it can, or where it is no number, which [`handshake`] refuses.
fn refusal(default_pto: &str) -> Option<String> {
    let is_long = default_pto.parse().is_ok_and(|milliseconds: u64| milliseconds > MOST_DEFAULT_PTO);
    is_long.then(|| {
        format!(
            "QUICLAB_DEFAULT_PTO: found {default_pto:?}, picoquic waits at most {MOST_DEFAULT_PTO} ms in a handshake"
        )
    })
}

fn run(settings: Settings, handshake: Handshake) -> anyhow::Result<()> {
    // picoquic has no function that gives the name back.
    eprintln!("congestion control handed to picoquic: {}", settings.congestion_control.name);
    match settings.role {
        Role::Server => server::run(&settings, handshake.default_pto),
        Role::Client => client::run(&settings, handshake.default_pto),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_timeout_that_picoquic_would_shorten_is_refused() {
        assert_eq!(refusal("1000"), None);
        assert!(refusal("1001").unwrap().contains("at most 1000 ms"));
        assert_eq!(refusal("1 s"), None);
    }
}
