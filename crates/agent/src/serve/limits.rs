//! What the processes of a run may take of a host, as far as one without cgroups limits it.

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open files of a process.
const MOST_FILES: u64 = 1 << 14;

/// Limits the calling process, and all that it will start: files, memory, core dumps. When memory runs out, they end before others do. The
/// number of an endpoint's processes is limited where its user namespace begins.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn set() -> Result<()> {
    quiclab_sandbox::end_first().context("/proc/self/oom_score_adj")?;
    for (resource, most) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_NOFILE, MOST_FILES),
        (Resource::RLIMIT_DATA, quiclab_sandbox::most_memory()?),
    ] {
        let (soft, hard) = getrlimit(resource)?;
        setrlimit(resource, soft.min(most), hard.min(most)).with_context(|| format!("{resource:?}"))?;
    }
    Ok(())
}
