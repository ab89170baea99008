//! Endpoints of a test on this machine.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Seek},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use quiclab_experiment::{
    run::word,
    stack::{PERF, Role, Transport},
};
use quiclab_inputs::open_unlinked_with;
use quiclab_testbed::loopback::{Endpoint, Start};

use super::{
    settings::PerfSettings,
    setup::{Setup, Stack},
    usage::{self, Usage},
};
use crate::{Sample, Tracker};

/// Time from a line of progress to the next, in milliseconds: what is known of the first and the last byte.
const PROGRESS_MS: u64 = 20;
/// Bytes that an endpoint may write to one file.
const MOST_FILE_BYTES: u64 = 64 << 20;
/// Bytes of progress that are kept. The file is in memory, and grows by 30 MB in an hour.
const MOST_PROGRESS: u64 = 1 << 20;

/// An endpoint that runs.
pub struct End {
    pub endpoint: Endpoint,
    tracker: Tracker,
    path: PathBuf,
    /// Opened when the endpoint has made it.
    file: Option<File>,
    /// Most memory that was seen in this test.
    peak_memory_bytes: Option<u64>,
}

impl End {
    /// Starts one. `name` is that of its folder for logs, `more` what it is asked for beside its role.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        settings: &PerfSettings,
        setup: &Setup,
        stack: &Stack,
        role: Role,
        name: &str,
        more: &[(&str, String)],
    ) -> Result<Self> {
        let logs = setup.shared.join("logs").join(name);
        fs::create_dir_all(&logs).with_context(|| logs.display().to_string())?;
        let path = logs.join("progress");
        let _ = fs::remove_file(&path);
        let at = |name: &str| setup.shared.join(name).display().to_string();
        let mut environment: BTreeMap<String, String> = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("HOME", at("home")),
            ("ROLE", word(&role)),
            ("TESTCASE", PERF.to_owned()),
            ("WWW", at("www")),
            ("DOWNLOADS", at("downloads")),
            ("CERTS", at("certs")),
            ("LOGS", logs.display().to_string()),
            ("QUICLAB_PERF_PROGRESS", path.display().to_string()),
            ("QUICLAB_PERF_INTERVAL", PROGRESS_MS.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if settings.tcp {
            let name = if role == Role::Server { "SERVER_PARAMS" } else { "CLIENT_PARAMS" };
            environment.insert(name.to_owned(), "plain".to_owned());
        }
        environment.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        // Settings are those of the stack that is measured; another one at the other end keeps its own.
        let is_measured = role == Role::Server || settings.client_stack.is_none() || settings.client.is_some();
        if is_measured {
            let variables = [
                ("QUICLAB_CCA", settings.congestion_control.clone()),
                ("QUICLAB_GSO", settings.gso.clone()),
                ("QUICLAB_PACING", settings.pacing.clone()),
                ("QUICLAB_MTU", settings.mtu.map(|mtu| mtu.to_string())),
            ];
            environment.extend(variables.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        environment.extend(stack.manifest.guest.environment.clone());
        let own_folder = stack.manifest.guest.folder.as_ref().map(PathBuf::from);
        let start = Start {
            root: &stack.root,
            command: &stack.manifest.guest.command,
            environment,
            folder: own_folder.as_deref().unwrap_or(&logs),
            logs: &logs,
            writable: &[&setup.shared.join("downloads"), &setup.shared.join("home")],
            most_file_bytes: MOST_FILE_BYTES,
        };
        let cpu = settings.cpus.map(|cpus| if role == Role::Server { cpus.server } else { cpus.clients });
        let endpoint = on_cpu(cpu, || Endpoint::start(start))?;
        Ok(Self { endpoint, tracker: Tracker::default(), path, file: None, peak_memory_bytes: None })
    }

    /// Reads what it has written since.
    ///
    /// # Errors
    /// Where that is no progress.
    pub fn read(&mut self) -> Result<()> {
        if self.file.is_none() {
            // It can be anything that an endpoint can make, such as a link to a file that would be cut.
            self.file = match open_unlinked_with(&self.path, File::options().read(true).write(true)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error).with_context(|| self.path.display().to_string()),
            };
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| self.path.display().to_string())?;
        // The endpoint appends, so it goes on at the new end. A line that it writes right now is lost; the next one has all that it had.
        if file.stream_position().is_ok_and(|position| position > MOST_PROGRESS) {
            file.set_len(0).and_then(|()| file.rewind()).with_context(|| self.path.display().to_string())?;
        }
        Ok(self.tracker.take(&bytes)?)
    }

    /// A new test begins.
    pub fn restart(&mut self) {
        self.tracker.restart();
        self.peak_memory_bytes = None;
    }

    /// What it and all that it started use now. Reading it takes a while.
    pub fn usage(&mut self) -> Option<Usage> {
        let usage = usage::of_tree(self.endpoint.process())?;
        self.peak_memory_bytes = self.peak_memory_bytes.max(Some(usage.memory_bytes));
        Some(usage)
    }

    /// How far it has come, with the CPU time that it has used where `with_usage`.
    pub fn sample(&mut self, with_usage: bool) -> Sample {
        let cpu = if with_usage { self.usage().map(|usage| usage.cpu) } else { None };
        Sample {
            cpu_user_ns: cpu.map(|cpu| cpu.user_ns),
            cpu_system_ns: cpu.map(|cpu| cpu.system_ns),
            peak_memory_bytes: self.peak_memory_bytes,
            ..self.tracker.sample()
        }
    }
}

/// Starts something on this CPU alone.
fn on_cpu<T>(cpu: Option<usize>, start: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(cpu) = cpu else { return start() };
    let this = Pid::from_raw(0);
    let before = sched_getaffinity(this).context("--cpus")?;
    let mut one = CpuSet::new();
    one.set(cpu).with_context(|| format!("--cpus: {cpu}"))?;
    sched_setaffinity(this, &one).with_context(|| format!("--cpus: CPU {cpu} cannot be used"))?;
    let outcome = start();
    sched_setaffinity(this, &before).context("--cpus")?;
    outcome
}

/// What a port is one of.
pub fn port_kind(transport: Transport) -> &'static str {
    match transport {
        Transport::Quic => "UDP",
        Transport::Tcp => "TCP",
    }
}

/// The TCP port of a server's counters: the server's own number, unless that is one of TCP itself.
///
/// # Errors
/// Where there is no such port.
pub fn counters_port(port: u16, transport: Transport) -> Result<u16> {
    match transport {
        Transport::Quic => Ok(port),
        Transport::Tcp => port
            .checked_add(1)
            .context("--port: found 65535, expected at most 65534; the counters are at the next port"),
    }
}

/// URLs for so many streams.
pub fn urls(host: &str, port: u16, streams: u64) -> String {
    let urls: Vec<_> = (1..=streams).map(|stream| format!("https://{host}:{port}/{stream}")).collect();
    urls.join(" ")
}

/// Whether the server's port is in use in this network namespace, so that another one there cannot start.
pub fn is_taken(port: u16, transport: Transport) -> bool {
    match transport {
        Transport::Quic => usage::is_bound(port),
        Transport::Tcp => usage::listens(port),
    }
}

/// What is written where a client trusts authorities.
pub fn trust(folder: &Path, authority: &str) -> Result<()> {
    let path = folder.join("ca.pem");
    fs::write(&path, authority).with_context(|| path.display().to_string())
}
