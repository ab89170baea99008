//! The test case `perf` over the kernel's TCP: server or client, by `ROLE`. The other test cases of this stack are nginx's and curl's.
//!
//! A stream of the draft is a TCP connection here. Read [`settings`] first (what is honoured, what is refused), then [`channel`] (plain
//! or with TLS), [`server`] and [`client`].
//!
//! Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.

mod channel;
mod client;
mod information;
mod server;
mod settings;
mod sockets;
mod tls;

use std::process::ExitCode;

use quiclab_contract::Role;
use settings::Settings;

fn main() -> ExitCode {
    let (settings, _reporter) = match Settings::parse(std::env::vars()).and_then(|settings| {
        // Before the first thread, because threads inherit it.
        if settings.role == Role::Server {
            server::hold_back_termination();
        }
        let reporter = settings.report_progress()?;
        Ok((settings, reporter))
    }) {
        Ok(both) => both,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(error.exit_status());
        }
    };
    let latencies = settings.perf_latencies.clone();
    let outcome = match settings.role {
        Role::Server => server::run(settings),
        Role::Client => client::run(settings),
    };
    if let Err(error) = &outcome
        && let Some(refusal) = error.downcast_ref::<sockets::NoSuchControl>()
    {
        eprintln!("{error:#}");
        return ExitCode::from(refusal.exit_status());
    }
    quiclab_contract::finish(outcome, latencies.as_deref())
}
