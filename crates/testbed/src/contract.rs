//! What endpoints are told on every testbed, and what they transfer.

use std::collections::BTreeMap;

use quiclab_agent_protocol::places::{CERTIFICATES, DOWNLOADS, LOGS, QLOG, WWW};
use quiclab_experiment::{
    run::{Http, IpVersion, Path, Run, Workload, word},
    server_test_case,
    stack::{Contract, Role, StackManifest},
};
use quiclab_units::Duration;
use sha2::{Digest, Sha256};

/// Port the server listens on.
pub const SERVER_PORT: u16 = 443;

/// The test case in which a server can go on at another port.
const MIGRATION: &str = "connectionmigration";

/// Whether packets from other ports than the server's can carry its files.
pub(crate) fn server_can_move(run: &Run) -> bool {
    run.settings.workload.test_case == MIGRATION
}

/// Name of the log that a client of `perf` writes its latencies to.
const LATENCIES: &str = "latencies.hdr";

/// The variable of `stack.first_ack`.
const FIRST_ACK: &str = "QUICLAB_FIRST_ACK";

/// Names of the transferred files, below the server's and the client's folder.
pub fn file_names(workload: &Workload) -> Vec<String> {
    let size = workload.size.to_string().replace(' ', "");
    let padded = |name: String| format!("{name:-<width$}", width = workload.name_bytes as usize);
    match workload.files {
        1 => vec![padded(size)],
        files => (1..=files).map(|number| padded(format!("{size}-{number}"))).collect(),
    }
}

/// Seed of the first transferred file; each has the number behind the one before.
pub fn contents_seed(run: &Run) -> u64 {
    // So far from the largest number that no file's seed passes it.
    u64::from_le_bytes(derive(run.seed, "contents")[..8].try_into().unwrap_or_default()) >> 1
}

/// The variables of an endpoint: docs/reference/endpoint-contract.md.
pub(crate) fn environment(role: Role, run: &Run, stack: &StackManifest) -> BTreeMap<String, String> {
    let settings = &run.settings;
    let workload = &settings.workload;
    let host = match settings.path.ip {
        IpVersion::V4 => "server4",
        IpVersion::V6 => "server6",
    };
    let urls: Vec<_> =
        file_names(workload).into_iter().map(|name| format!("https://{host}:{SERVER_PORT}/{name}")).collect();
    let test_case = match role {
        Role::Server if stack.test_cases.server.contains(&workload.test_case) => &workload.test_case,
        Role::Server => server_test_case(&workload.test_case),
        Role::Client => &workload.test_case,
    };
    let mut environment = BTreeMap::from([
        ("ROLE".to_owned(), word(&role)),
        ("TESTCASE".to_owned(), test_case.to_owned()),
        ("SSLKEYLOGFILE".to_owned(), format!("{LOGS}/keys.log")),
        ("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME".to_owned(), "/root".to_owned()),
    ]);
    let mut set = |name: &str, value: String| environment.insert(name.to_owned(), value);
    if role == Role::Client {
        set("REQUESTS", urls.join(" "));
        if workload.has_no_files() {
            set("QUICLAB_PERF_REQUEST", workload.request_size.as_bytes().to_string());
            set("QUICLAB_PERF_RESPONSE", workload.size.as_bytes().to_string());
            if let Some(period) = workload.period {
                set("QUICLAB_PERF_LOAD", "periodic".to_owned());
                set("QUICLAB_PERF_PERIOD", (period.as_nanos() / 1000).to_string());
                set("QUICLAB_PERF_LATENCIES", format!("{LOGS}/{LATENCIES}"));
            }
        }
    }
    let interop_runner = stack.guest.contract == Contract::InteropRunner;
    if settings.tap.qlog || interop_runner {
        set("QLOGDIR", format!("{LOGS}/{}/", QLOG));
    }
    if interop_runner {
        // There, and empty, where nobody says anything else.
        set(if role == Role::Server { "SERVER_PARAMS" } else { "CLIENT_PARAMS" }, String::new());
        // It has a test case for HTTP/3, and does everything else with HTTP/0.9.
        if settings.stack.http == Http::H3 && test_case == "transfer" {
            set("TESTCASE", "http3".to_owned());
        }
    } else {
        for (name, value) in [("WWW", WWW), ("DOWNLOADS", DOWNLOADS), ("CERTS", CERTIFICATES), ("LOGS", LOGS)] {
            set(name, value.to_owned());
        }
        set("QUICLAB_PORT", SERVER_PORT.to_string());
        if role == Role::Server && workload.certificate_delay != Duration::default() {
            set("QUICLAB_CERT_DELAY", milliseconds(workload.certificate_delay));
        }
        let default_pto = match role {
            Role::Server => settings.stack.default_pto,
            Role::Client => settings.stack.client_default_pto,
        };
        if let Some(pto) = default_pto {
            set("QUICLAB_DEFAULT_PTO", milliseconds(pto));
        }
        // Every other stack finds it out by itself.
        if stack.mtu && settings.path.mtu != Path::default().mtu {
            set("QUICLAB_MTU", settings.path.mtu.to_string());
        }
        environment.extend(settings.environment(role));
        // What a server does by itself it need have no switch for.
        if settings.stack.first_ack.is_some_and(|first_ack| !stack.first_ack.contains(&first_ack)) {
            environment.remove(FIRST_ACK);
        }
    }
    environment.extend(stack.guest.environment.clone());
    environment
}

fn milliseconds(time: Duration) -> String {
    (time.as_nanos() / 1_000_000).to_string()
}

/// A stream of its own for each purpose, so that none disturbs another.
pub(crate) fn derive(seed: u64, purpose: &str) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(seed.to_le_bytes());
    digest.update(purpose);
    digest.finalize().into()
}
