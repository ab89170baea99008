//! What this machine is, and what its kernel can do: part of the identity of every run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anyhow::{Context, Result, bail};
use quiclab_orders::probe::Probe;

use crate::{command, hash, vm::testbed::agent};

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
    /// Receive and send buffer of a socket that does not set its own size, in bytes.
    pub socket_buffers: String,
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
            socket_buffers: format!("{} {}", limit("rmem_default")?, limit("wmem_default")?),
            is_in_user_namespace,
            missing: missing_disciplines.into_iter().chain(is_in_user_namespace.then(|| PROGRAMS.to_owned())).collect(),
            agent,
        })
    }
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

fn limit(what: &str) -> Result<String> {
    read(&format!("/proc/sys/net/core/{what}"))
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
