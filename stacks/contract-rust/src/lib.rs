//! What is the same in every endpoint that is written in Rust: quiclab's endpoint contract
//! (docs/reference/endpoint-contract.md), without any QUIC.
//!
//! A stack says in a table, [`Support`], what it can do; [`main`] reads the environment by it, answers 127 for everything
//! else, and calls the stack with [`Settings`] that it can honour. [`Request`], [`Body`], [`Download`] and [`Downloads`]
//! are what both roles need for their files, and [`hq`] is HTTP/0.9.
//!
//! Each stack has a link `contract` to this folder and depends on that path, so that a change here rebuilds the stack.

mod download;
mod downloads;
mod files;
pub mod hq;
pub mod perf;
mod request;
mod settings;
mod support;
pub mod testing;
mod values;

use std::{fmt::Display, path::Path, process::ExitCode};

pub use download::{Download, DownloadError};
pub use downloads::Downloads;
pub use files::{Body, PartialBody, open};
pub use request::Request;
pub use settings::Settings;
pub use support::{Asked, Extras, SettingsError, Support, no_rules};
pub use values::{Clock, Gso, GsoRate, Http, IpVersion, Pacing, Role, TestCase};

/// Exit status of an endpoint that failed.
pub const FAILED: u8 = 1;

/// Exit status of an endpoint that was asked for something it cannot do.
pub const NOT_SUPPORTED: u8 = 127;

/// The whole of an endpoint's `main`: reads the environment, refuses what `support` has not, plays the role with `play`.
pub fn main<C: Copy, E: Display>(support: &Support<C>, play: impl FnOnce(Settings<C>) -> Result<(), E>) -> ExitCode {
    let settings = Settings::parse(support, std::env::vars());
    let (_reporter, settings) = match settings.and_then(|settings| Ok((settings.report_progress()?, settings))) {
        Ok(both) => both,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(error.exit_status());
        }
    };
    let latencies = settings.perf_latencies.clone();
    finish(play(settings), latencies.as_deref())
}

/// The end of an endpoint's `main`: says what went wrong. Where nothing did, writes the latencies of [`perf`] to a file that was
/// asked for.
pub fn finish<E: Display>(outcome: Result<(), E>, latencies: Option<&Path>) -> ExitCode {
    if let Err(error) = outcome {
        // With all causes, where it is an error of anyhow.
        eprintln!("{error:#}");
        return ExitCode::from(FAILED);
    }
    match latencies.map(|path| perf::LATENCIES.write(path)).transpose() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("QUICLAB_PERF_LATENCIES: {error}");
            ExitCode::from(FAILED)
        }
    }
}
