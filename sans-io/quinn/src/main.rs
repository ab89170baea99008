//! HTTP/0.9 and HTTP/3 over the quinn-proto crate as a sans-IO endpoint: server or client, by `ROLE`.
//!
//! What quinn does around quinn-proto with tokio, sockets and timers, [`endpoint`] does by orders, in the order in which
//! quinn's tasks do it. Read [`settings`] first (what is honoured, what is refused), then [`transport`] (how a connection
//! is configured), [`endpoint`], and [`client`] and [`server`] (what is done with streams).
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod client;
mod endpoint;
mod server;
mod settings;
mod streams;
mod transport;

use std::{process::ExitCode, sync::Arc};

use anyhow::Result;
use endpoint::Quinn;
use quiclab_sans_io::{Seed, serve_each, tls::Tls};
use settings::{SUPPORT, Settings};

fn main() -> ExitCode {
    quiclab_sans_io::main(&SUPPORT, run)
}

/// Plays the role; dropping the endpoint ends every connection's log.
fn run(settings: Settings, seed: Seed) -> Result<()> {
    let tls = Tls::new(&settings, &seed)?;
    let settings = Arc::new(settings);
    serve_each(settings.role, &seed, |seed| Quinn::new(Arc::clone(&settings), tls.begin(seed), seed))
}
