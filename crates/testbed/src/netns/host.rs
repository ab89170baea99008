//! What this machine is, and what its kernel can do: part of the identity of every run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anyhow::{Context, Result, bail};
use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use quiclab_agent_protocol::probe::Probe;

use crate::{command, guest::agent::agent, hash};

/// What drops packets by their number. Only root can load it.
pub(super) const PROGRAMS: &str = "eBPF for ordinary users";

/// What is known of this machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The agent's executable.
    pub agent: PathBuf,
    /// First digits of its SHA-256.
    pub agent_digest: String,
    /// Release and version of the kernel.
    pub kernel: String,
    /// Model and number of the CPUs.
    pub cpus: String,
    /// What the machine has set for all sockets.
    pub sockets: Sockets,
    /// Algorithms of TCP.
    pub tcp: Algorithms,
    /// The CPUs on which this process may run.
    pub allowed_cpus: BTreeSet<u32>,
    /// Whether runs are in a user namespace, because this process is not root.
    pub is_in_user_namespace: bool,
    /// Queueing disciplines that the kernel lacks, by its own names for them, and [`PROGRAMS`] where they cannot be loaded.
    pub missing: BTreeSet<String>,
}

impl Facts {
    /// Looks at this machine. Makes namespaces, and lets them go again.
    ///
    /// # Errors
    /// Where the kernel allows no namespaces, with what to do, or there is no agent.
    pub fn find() -> Result<Self> {
        let agent = agent()?;
        let Probe { is_in_user_namespace, missing_disciplines } = probe(&agent)?;
        let mut agent_digest = hash::of_file(&agent).with_context(|| agent.display().to_string())?;
        agent_digest.truncate(16);
        Ok(Self {
            agent_digest,
            kernel: format!("{} {}", kernel("osrelease")?, kernel("version")?),
            cpus: cpus(),
            sockets: Sockets::find()?,
            tcp: Algorithms::find()?,
            allowed_cpus: allowed_cpus()?,
            is_in_user_namespace,
            missing: missing_disciplines.into_iter().chain(is_in_user_namespace.then(|| PROGRAMS.to_owned())).collect(),
            agent,
        })
    }
}

impl Facts {
    /// Receive and send buffer of a socket that does not set its own size, in bytes.
    pub fn socket_buffers(&self) -> String {
        format!("{} {}", self.sockets.receive_buffer, self.sockets.send_buffer)
    }

    /// Microseconds for which poll(2) and recv(2) wait on the CPU.
    pub fn busy_poll(&self) -> String {
        format!("{} {}", self.sockets.busy_poll, self.sockets.busy_read)
    }
}

/// Settings of net.core.
#[derive(Clone, Copy, Debug)]
pub struct Sockets {
    /// `rmem_default`
    pub receive_buffer: u64,
    /// `wmem_default`
    pub send_buffer: u64,
    /// `busy_poll`, 0 where the kernel lacks it.
    pub busy_poll: u64,
    /// `busy_read`, 0 where the kernel lacks it.
    pub busy_read: u64,
}

impl Sockets {
    fn find() -> Result<Self> {
        let number = |what: &str| {
            let path = format!("/proc/sys/net/core/{what}");
            let text = read(&path)?;
            text.parse().with_context(|| format!("{path}: found {text:?}, expected a number"))
        };
        let [receive_buffer, send_buffer] = [number("rmem_default")?, number("wmem_default")?];
        let [busy_poll, busy_read] = ["busy_poll", "busy_read"].map(|what| number(what).unwrap_or(0));
        Ok(Self { receive_buffer, send_buffer, busy_poll, busy_read })
    }
}

/// Congestion control of the kernel's TCP.
#[derive(Clone, Debug)]
pub struct Algorithms {
    /// What the kernel has.
    pub available: BTreeSet<String>,
    /// What new network namespaces may choose.
    pub allowed: BTreeSet<String>,
}

impl Algorithms {
    fn find() -> Result<Self> {
        let words = |what: &str| -> Result<BTreeSet<String>> {
            let text = read(&format!("/proc/sys/net/ipv4/tcp_{what}_congestion_control"))?;
            Ok(text.split_ascii_whitespace().map(str::to_owned).collect())
        };
        Ok(Self { available: words("available")?, allowed: words("allowed")? })
    }
}

fn allowed_cpus() -> Result<BTreeSet<u32>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("sched_getaffinity")?;
    Ok((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).map(|cpu| cpu as u32).collect())
}

/// What the agent finds out by trying.
fn probe(agent: &Path) -> Result<Probe> {
    let output = Command::new(agent).arg("probe").output().with_context(|| agent.display().to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().strip_prefix("quiclab-agent: ").unwrap_or(said.trim()).to_owned();
        bail!("this machine cannot run endpoints in namespaces: {}", command::tail(&said));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).with_context(|| format!("{} probe: found {text:?}", agent.display()))
}

fn kernel(what: &str) -> Result<String> {
    read(&format!("/proc/sys/kernel/{what}"))
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(path).with_context(|| path.to_owned())?.trim().to_owned())
}

/// How many CPUs of which model.
fn cpus() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let count = thread::available_parallelism().map_or(1, usize::from);
    format!("{count} x {}", model(&text).unwrap_or("unknown"))
}

fn model(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.trim_start_matches([' ', '\t', ':']).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_the_cpu_is_found() {
        assert_eq!(model("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nprocessor\t: 1\n"), Some("A CPU @ 2 GHz"));
        assert_eq!(model("processor : 0\n"), None);
    }
}
