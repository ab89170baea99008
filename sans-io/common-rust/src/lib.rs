//! What is the same in every sans-IO endpoint that is written in Rust (docs/reference/sans-io-endpoint.md), without any
//! QUIC.
//!
//! A program calls [`main`] with the table of what it can do, builds its [`Endpoint`] from the [`Settings`](contract::Settings)
//! and the [`Seed`] that it is given, and hands it to [`serve()`]. [`tls`] makes rustls configurations whose randomness is
//! the seed's, [`http`] has both sides of HTTP/0.9 and of HTTP/3 for streams that are sequences of bytes.
//!
//! The program is to be built with `--cfg getrandom_backend="custom"`: libraries that ask the operating system for random
//! bytes by the crate getrandom get those of the seed then ([`random`]).

pub mod http;
pub mod random;
pub mod serve;
pub mod tls;
pub mod wire;

use std::{fmt::Display, process::ExitCode};

use contract::{FAILED, Settings, Support};
/// The endpoint contract, which programs use by this name: they have no link to it of their own.
pub use quiclab_contract as contract;
pub use random::Seed;
pub use serve::{Endpoint, serve, serve_each};
pub use wire::{Answer, Buffer, Order, Received};

/// The whole of a program's `main`: that of [`contract::main`], with `QUICLAB_SEED`, which only sans-IO endpoints have.
pub fn main<C: Copy, E: Display>(
    support: &Support<C>,
    play: impl FnOnce(Settings<C>, Seed) -> Result<(), E>,
) -> ExitCode {
    let variables = std::env::vars().filter(|(name, _)| name != random::VARIABLE);
    let settings = match Settings::parse(support, variables) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(error.exit_status());
        }
    };
    let seed = match Seed::from_environment() {
        Ok(seed) => seed,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(FAILED);
        }
    };
    match play(settings, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With all causes, where it is an error of anyhow.
            eprintln!("{error:#}");
            ExitCode::from(FAILED)
        }
    }
}
