//! A run as the agent is to perform it.

use anyhow::Result;
use quiclab_agent::{
    orders::{File, Listen, Orders, Program, Transfer, Transport},
    root::{CERTIFICATES, LOGS},
};
use quiclab_experiment::{
    run::Run,
    stack::{Contract, Role, StackManifest},
};
use quiclab_units::{ByteCount, Duration};

use crate::{
    certificates,
    contract::{SERVER_PORT, contents_seed, derive, environment, file_names},
};

/// How long a server may take until it listens, in virtual time. Slow ones take some seconds.
const LISTEN_PATIENCE: Duration = Duration::from_secs(60);

/// Everything the agent needs to know of a run between a server and a client of these stacks, where each may log as much as
/// `log_limit`.
///
/// # Errors
/// Where the seed gives no certificates.
pub fn of_run(run: &Run, server: &StackManifest, client: &StackManifest, log_limit: ByteCount) -> Result<Orders> {
    let settings = &run.settings;
    let certificates = certificates::make(run.seed, settings.workload.certificate)?.files();
    let file = |(name, text): (&str, String)| File { path: format!("{CERTIFICATES}/{name}"), text };
    Ok(Orders {
        entropy: derive(run.seed, "entropy").to_vec(),
        theft_seed: derive(run.seed, "thefts").to_vec(),
        start_shift: run.start_shift,
        settings: settings.clone(),
        transfer: Transfer {
            names: file_names(&settings.workload),
            size: settings.workload.size,
            seed: contents_seed(run),
            timeout: settings.workload.timeout,
        },
        files: certificates.map(file).into(),
        server: program(Role::Server, run, server),
        client: program(Role::Client, run, client),
        listen: Listen {
            transport: if server.is_quic() { Transport::Udp } else { Transport::Tcp },
            port: SERVER_PORT,
            timeout: LISTEN_PATIENCE,
        },
        log_limit,
    })
}

fn program(role: Role, run: &Run, stack: &StackManifest) -> Program {
    Program {
        command: stack.guest.command.clone(),
        environment: environment(role, run, stack),
        folder: stack.guest.folder.clone().unwrap_or_else(|| LOGS.to_owned()),
        awaits_simulator: stack.guest.contract == Contract::InteropRunner,
    }
}
