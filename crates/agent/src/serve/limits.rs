//! What the processes of a run may take of a host, as far as one without cgroups limits it.

use std::fs;

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files of a process.
const MOST_FILES: u64 = 1 << 14;
/// Share of the machine's memory that a process can write to: others of the machine need some, too.
const MEMORY_SHARE: u64 = 2;
/// The first to be ended when memory runs out.
const FIRST_TO_END: &str = "1000";

/// Limits the calling process, and all that it will start: files, memory, core dumps. When memory runs out, they end before others do. The
/// number of an endpoint's processes is limited where its user namespace begins.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn set() -> Result<()> {
    let path = "/proc/self/oom_score_adj";
    fs::write(path, FIRST_TO_END).context(path)?;
    let path = "/proc/meminfo";
    let memory = fs::read_to_string(path).context(path)?;
    let memory = memory_bytes(&memory).with_context(|| format!("{path}: found no MemTotal"))?;
    for (resource, most) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_NOFILE, MOST_FILES),
        (Resource::RLIMIT_DATA, memory / MEMORY_SHARE),
    ] {
        let (soft, hard) = getrlimit(resource)?;
        setrlimit(resource, soft.min(most), hard.min(most)).with_context(|| format!("{resource:?}"))?;
    }
    Ok(())
}

fn memory_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_found() {
        assert_eq!(memory_bytes("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16 << 10));
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    }
}
