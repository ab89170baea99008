//! HTTP/3 over the tokio-quiche crate as a quiclab endpoint: server or client, by `ROLE`.
//!
//! tokio-quiche owns the socket, the batches and the timers, on one thread. Read [`settings`] first (what is honoured,
//! what is refused), then [`params`] (what the library is told), then [`server`] and [`client`]. The files `request.rs`
//! and `files.rs` are links to those of the quiche endpoint.
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod files;
mod params;
mod request;
mod server;
mod settings;

use std::process::ExitCode;

use settings::{Role, Settings, SettingsError};

const FAILED: u8 = 1;
const NOT_SUPPORTED: u8 = 127;

fn main() -> ExitCode {
    let settings = match Settings::parse(std::env::vars()) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(match error {
                SettingsError::NotSupported { .. } => NOT_SUPPORTED,
                SettingsError::Invalid { .. } => FAILED,
            });
        }
    };
    match run(&settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(settings: &Settings) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match settings.role {
            Role::Server => server::run(settings).await,
            Role::Client => client::run(settings).await,
        }
    })
    // Dropping the runtime drops the connections, which finish their qlog.
}
