//! Lengths of what a host gives its interface to send, before segmentation: with segmentation offload many packets in one.
//!
//! The kernel itself counts, by a histogram trigger at the trace point `net:net_dev_queue`, so no program has to wake up.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use nix::mount::MsFlags;
use quiclab_agent_protocol::addresses::HOST_INTERFACE;

use quiclab_sandbox::mounts::mount_new;

const TRACING: &str = "/sys/kernel/tracing";
const EVENT: &str = "/sys/kernel/tracing/events/net/net_dev_queue";
/// Lengths of buffers: any from an Ethernet header to 64 KiB, of which a run shows some dozens.
const ENTRIES: u32 = 4096;

/// Counts from now on.
///
/// # Errors
/// Where the kernel has no such trace point, or no histograms.
pub fn start() -> Result<()> {
    mount_new("tracefs", "tracefs", Path::new(TRACING), MsFlags::empty(), "")?;
    let trigger = format!("hist:keys=len:size={ENTRIES} if name == \"{HOST_INTERFACE}\"");
    fs::write(format!("{EVENT}/trigger"), trigger)
        .with_context(|| format!("{EVENT}/trigger: cannot count sent buffers; hint: tap.send_sizes = false"))
}

/// What was counted: how often each length was sent, in bytes with Ethernet header.
///
/// # Errors
/// Where the kernel's table cannot be read or understood.
pub fn read() -> Result<BTreeMap<u32, u64>> {
    let path = format!("{EVENT}/hist");
    parse(&fs::read_to_string(&path).context(path)?)
}

/// Lines such as `{ len:       1392 } hitcount:         17`.
fn parse(text: &str) -> Result<BTreeMap<u32, u64>> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("{ len:")) {
        let numbers = line.trim_start_matches("{ len:").split_once("} hitcount:");
        let parsed =
            numbers.and_then(|(length, count)| Some((length.trim().parse().ok()?, count.trim().parse().ok()?)));
        let (length, count) = parsed.with_context(|| format!("found {line:?}, expected a length and a count"))?;
        counts.insert(length, count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_histogram_is_read() {
        let text = "# event histogram\n#\n\n{ len:         75 } hitcount:         12\n{ len:      13942 } hitcount:          3\n\nTotals:\n    Hits: 15\n";
        assert_eq!(parse(text).unwrap(), BTreeMap::from([(75, 12), (13942, 3)]));
        assert!(parse("{ len: x } hitcount: 3\n").is_err());
    }
}
