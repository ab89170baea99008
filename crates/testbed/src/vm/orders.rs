//! A run as the agent is to perform it.

use std::collections::BTreeMap;

use anyhow::Result;
use quiclab_agent::{
    orders::{File, Listen, Orders, Program, Transfer, Transport},
    run::{CERTIFICATES, DOWNLOADS, ROLES, WWW},
};
use quiclab_experiment::{run::Run, stack::StackManifest};
use quiclab_units::Duration;
use sha2::{Digest, Sha256};

use crate::{certificates, collect::SERVER_PORT};

/// Host name of the server, in URLs and certificates.
const SERVER_NAME: &str = "server";
/// How long a server may take until it listens, in virtual time. Slow ones take a second.
const LISTEN_PATIENCE: Duration = Duration::from_secs(30);
/// The test case of the interop contract that is a plain transfer.
const TEST_CASE: &str = "transfer";

/// Everything the agent needs to know of a run.
///
/// # Errors
/// Where the seed gives no certificates.
pub fn of_run(run: &Run, stack: &StackManifest) -> Result<Orders> {
    let settings = &run.settings;
    let certificates = certificates::make(run.seed, SERVER_NAME)?;
    let name = format!("{}", settings.workload.size).replace(' ', "");
    let file = |name: &str, text: String| File { path: format!("{CERTIFICATES}/{name}"), text };
    Ok(Orders {
        entropy: derive(run.seed, "entropy").to_vec(),
        start_shift: run.start_shift,
        path: settings.path.clone(),
        hosts: settings.hosts.clone(),
        tap: settings.tap.clone(),
        transfer: Transfer {
            name: name.clone(),
            size: settings.workload.size,
            seed: contents_seed(run),
            timeout: settings.workload.timeout,
        },
        files: vec![
            file("cert.pem", certificates.chain),
            file("priv.key", certificates.key),
            file("ca.pem", certificates.authority),
        ],
        server: program("server", run, stack, &name),
        client: program("client", run, stack, &name),
        listen: Listen {
            transport: if stack.is_quic() { Transport::Udp } else { Transport::Tcp },
            port: SERVER_PORT,
            timeout: LISTEN_PATIENCE,
        },
    })
}

/// Seed of the transferred bytes.
pub fn contents_seed(run: &Run) -> u64 {
    u64::from_le_bytes(derive(run.seed, "contents")[..8].try_into().unwrap_or_default())
}

/// The endpoint contract: docs/reference/endpoint-contract.md.
fn program(role: &str, run: &Run, stack: &StackManifest, file: &str) -> Program {
    let folder = format!("{ROLES}/{role}");
    let mut environment: BTreeMap<String, String> = run.settings.stack.environment();
    let port = SERVER_PORT;
    for (name, value) in [
        ("ROLE", role.to_owned()),
        ("TESTCASE", TEST_CASE.to_owned()),
        ("WWW", WWW.to_owned()),
        ("DOWNLOADS", DOWNLOADS.to_owned()),
        ("CERTS", CERTIFICATES.to_owned()),
        ("LOGS", folder.clone()),
        ("SSLKEYLOGFILE", format!("{folder}/keys.log")),
        ("REQUESTS", format!("https://{SERVER_NAME}:{port}/{file}")),
        ("QUICLAB_PORT", port.to_string()),
        ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", "/root".to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    Program { command: stack.guest.command.clone(), environment }
}

/// A stream of its own for each purpose, so that none disturbs another.
fn derive(seed: u64, purpose: &str) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(seed.to_le_bytes());
    digest.update(purpose);
    digest.finalize().into()
}
