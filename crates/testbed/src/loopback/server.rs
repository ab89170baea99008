//! A stack's server that answers at a port of the loopback until it is dropped, for clients that are no endpoints.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail, ensure};
use quiclab_experiment::{
    run::{Certificate, CertificateKey, FirstAck, Http, word},
    stack::{CertificateDelay, Role, StackManifest},
};
use quiclab_units::Duration as Span;

use super::{Endpoint, Exit, Root, Start};
use crate::certificates;

/// What a server may take until it listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often waiting looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Bytes that a server may write to one file.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// The state of a UDP socket that is not connected, as the kernel numbers them.
const UNCONNECTED: &str = "07";

/// What a server is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// UDP port, at all IPv4 addresses of the network namespace.
    pub port: u16,
    /// `transfer`, `http3`, `retry`, or another that its stack.toml claims.
    pub test_case: String,
    /// `None`: the stack's default.
    pub http: Option<Http>,
    /// How long its chain of certificates is.
    pub certificate: Certificate,
    /// The kind of its key.
    pub key: CertificateKey,
    /// How long the certificate takes, in whole milliseconds.
    pub certificate_delay: Span,
    /// What it sends before the ServerHello; `None`: what the stack does by itself.
    pub first_ack: Option<FirstAck>,
}

impl ServerSettings {
    /// A server of files, with a small certificate that is there at once.
    pub fn at(port: u16) -> Self {
        Self {
            port,
            test_case: "transfer".to_owned(),
            http: None,
            certificate: Certificate::Small,
            key: CertificateKey::EcdsaP256,
            certificate_delay: Span::ZERO,
            first_ack: None,
        }
    }

    /// The variables that tell it, docs/reference/endpoint-contract.md, without those of places.
    ///
    /// # Errors
    /// Where stack.toml says that the stack cannot do it.
    pub fn environment(&self, stack: &StackManifest) -> Result<BTreeMap<String, String>> {
        let name = &stack.name;
        ensure!(
            stack.test_cases.server.contains(&self.test_case),
            "stack {name}: its stack.toml claims no server for the test case {}",
            self.test_case
        );
        let mut variables = BTreeMap::from(
            [("ROLE", word(&Role::Server)), ("TESTCASE", self.test_case.clone()), ("QUICLAB_IP", "4".to_owned())]
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
        set("QUICLAB_PORT", self.port.to_string());
        if let Some(http) = self.http {
            set("QUICLAB_HTTP", word(&http));
        }
        if self.certificate_delay != Span::ZERO {
            ensure!(
                stack.certificate_delay != CertificateDelay::None,
                "stack {name}: its stack.toml says certificate_delay = \"none\", expected a server that can wait"
            );
            set("QUICLAB_CERT_DELAY", (self.certificate_delay.as_nanos() / 1_000_000).to_string());
        }
        match self.first_ack {
            Some(first_ack) if stack.first_ack.contains(&first_ack) => {
                set("QUICLAB_FIRST_ACK", word(&first_ack));
            }
            // It does so by itself, and has no switch for it.
            Some(first_ack) if stack.certificate_delay.first_ack() == Some(first_ack) => {}
            Some(first_ack) => bail!("stack {name}: its stack.toml does not list first_ack = \"{}\"", word(&first_ack)),
            None => {}
        }
        Ok(variables)
    }
}

/// Starts a server of `stack` and waits until it listens. `shared` is a folder that its root has under the same name; the server's files
/// are in folders of it: `logs/NAME`, `certs/NAME`, and `www`, which all servers have in common.
///
/// # Errors
/// Where the stack cannot do what is asked, its program cannot be started, or it does not listen within ten seconds.
pub fn start_server(
    root: &Root,
    stack: &StackManifest,
    shared: &Path,
    name: &str,
    settings: &ServerSettings,
) -> Result<Endpoint> {
    let mut environment = settings.environment(stack)?;
    let (logs, certs, www) = (shared.join("logs").join(name), shared.join("certs").join(name), shared.join("www"));
    let (home, downloads) = (shared.join("home"), shared.join("downloads"));
    for folder in [&logs, &certs, &www, &home, &downloads] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("this machine's clock")?.as_secs() as i64;
    for (file, text) in certificates::make_at(now, 1, settings.certificate, settings.key)?.files() {
        fs::write(certs.join(file), text).with_context(|| certs.display().to_string())?;
    }
    for (variable, folder) in
        [("HOME", &home), ("WWW", &www), ("DOWNLOADS", &downloads), ("CERTS", &certs), ("LOGS", &logs)]
    {
        environment.insert(variable.to_owned(), folder.display().to_string());
    }
    environment.insert("SSLKEYLOGFILE".to_owned(), logs.join("keys.log").display().to_string());
    environment.insert("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
    environment.extend(stack.guest.environment.clone());
    ensure!(!is_bound(settings.port)?, "stack {}: UDP port {} is not free", stack.name, settings.port);
    let own_folder = stack.guest.folder.as_ref().map(PathBuf::from);
    let mut endpoint = Endpoint::start(Start {
        root,
        command: &stack.guest.command,
        environment,
        folder: own_folder.as_deref().unwrap_or(&logs),
        logs: &logs,
        writable: &[&home, &downloads],
        most_file_bytes: MOST_FILE_BYTES,
    })?;
    wait_until_bound(&mut endpoint, stack, settings.port, &logs)?;
    Ok(endpoint)
}

fn wait_until_bound(endpoint: &mut Endpoint, stack: &StackManifest, port: u16, logs: &Path) -> Result<()> {
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    while !is_bound(port)? {
        match endpoint.poll()? {
            Some(Exit::Status(127)) => bail!("stack {}: the server does not support what is asked (127)", stack.name),
            Some(exit) => bail!("stack {}: the server ended with {exit}; see {}", stack.name, logs.display()),
            None if Instant::now() > deadline => {
                bail!("stack {}: the server does not listen at UDP port {port}; see {}", stack.name, logs.display())
            }
            None => thread::sleep(POLL_INTERVAL),
        }
    }
    Ok(())
}

/// Whether a UDP socket of this network namespace has the port.
fn is_bound(port: u16) -> Result<bool> {
    let table = |name: &str| fs::read_to_string(format!("/proc/self/net/{name}"));
    let tables = [table("udp").context("/proc/self/net/udp")?, table("udp6").unwrap_or_default()];
    Ok(tables.iter().any(|table| has_port(table, port)))
}

fn has_port(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().take(4).collect();
        matches!(fields[..], [_, local, _, UNCONNECTED] if local.ends_with(&port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::source;

    fn manifest(name: &str) -> StackManifest {
        source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks").join(name)).unwrap().manifest
    }

    #[test]
    fn a_server_is_told_what_it_can_do_and_the_rest_is_refused() {
        let late = ServerSettings {
            certificate_delay: Span::from_millis(30),
            first_ack: Some(FirstAck::Instant),
            ..ServerSettings::at(4433)
        };
        let told = late.environment(&manifest("ngtcp2-1.25")).unwrap();
        let expected = [
            ("QUICLAB_CERT_DELAY", "30"),
            ("QUICLAB_FIRST_ACK", "instant"),
            ("QUICLAB_IP", "4"),
            ("QUICLAB_PORT", "4433"),
            ("ROLE", "server"),
            ("TESTCASE", "transfer"),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let error = late.environment(&manifest("quinn")).unwrap_err().to_string();
        assert_eq!(error, "stack quinn: its stack.toml does not list first_ack = \"instant\"");
        // quinn waits by itself, and has no variable for it.
        let waiting = ServerSettings { first_ack: Some(FirstAck::Wait), ..late };
        assert!(!waiting.environment(&manifest("quinn")).unwrap().contains_key("QUICLAB_FIRST_ACK"));
        let absent = ServerSettings { test_case: "no-such-case".to_owned(), ..ServerSettings::at(4433) };
        assert!(absent.environment(&manifest("quinn")).is_err());
    }

    #[test]
    fn a_port_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     1: 00000000:1151 00000000:0000 07 00000000\n\
                     2: 0100007F:1FFF 0100007F:01BB 01 00000000\n";
        assert!(has_port(table, 4433));
        assert!(!has_port(table, 443));
        assert!(!has_port(table, 0x1fff));
    }
}
