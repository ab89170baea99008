//! What this host is, and what it can do.

use std::{fs, thread};

use anyhow::{Context, Result};
use nix::sys::statvfs::statvfs;
use quiclab_agent_protocol::hosts::{HostFacts, InterfaceFacts, PROTOCOL};

use super::{cards, options::Options, timekeeping};
use crate::probe;

/// Where the kernel lists interfaces.
const INTERFACES: &str = "/sys/class/net";

/// Looks at this host.
///
/// # Errors
/// Where the kernel's tables cannot be read.
pub(super) fn find(options: &Options) -> Result<HostFacts> {
    let (missing_disciplines, no_namespaces) = match probe::look() {
        Ok(probe) => (probe.missing_disciplines, None),
        Err(error) => (Vec::new(), Some(format!("{error:#}"))),
    };
    Ok(HostFacts {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: read("/proc/sys/kernel/hostname")?,
        folder: options.folder.to_string_lossy().into_owned(),
        is_root: nix::unistd::geteuid().is_root(),
        kernel: format!("{} {}", read("/proc/sys/kernel/osrelease")?, read("/proc/sys/kernel/version")?),
        cpus: cpus(),
        socket_buffers: format!(
            "{} {}",
            read("/proc/sys/net/core/rmem_default")?,
            read("/proc/sys/net/core/wmem_default")?
        ),
        tcp_available: words("/proc/sys/net/ipv4/tcp_available_congestion_control")?,
        tcp_allowed: words("/proc/sys/net/ipv4/tcp_allowed_congestion_control")?,
        missing_disciplines,
        no_namespaces,
        interfaces: interfaces()?,
        clock: timekeeping::look(),
        free_bytes: statvfs(&options.folder).map_or(0, |disk| disk.blocks_available() * disk.fragment_size()),
    })
}

fn read(path: &str) -> Result<String> {
    Ok(fs::read_to_string(path).with_context(|| path.to_owned())?.trim().to_owned())
}

fn words(path: &str) -> Result<Vec<String>> {
    Ok(read(path)?.split_ascii_whitespace().map(str::to_owned).collect())
}

fn cpus() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| Some(line.strip_prefix("model name")?.trim_start_matches([' ', '\t', ':'])));
    format!("{} x {}", thread::available_parallelism().map_or(1, usize::from), model.unwrap_or("unknown").trim())
}

fn interfaces() -> Result<Vec<InterfaceFacts>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(INTERFACES).context(INTERFACES)? {
        let folder = entry?.path();
        let Some(name) = folder.file_name().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        // Other things are files there.
        if !folder.join("ifindex").exists() {
            continue;
        }
        let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default().trim().to_owned();
        let card = cards::of(&name);
        found.push(InterfaceFacts {
            mac: text("address"),
            mtu: text("mtu").parse().unwrap_or(0),
            is_up: text("operstate") != "down" && text("carrier") == "1",
            driver: card.driver,
            // The kernel says -1 where it does not know.
            speed_mbps: text("speed").parse().ok().filter(|speed| *speed > 0),
            ptp_clock: card.ptp_clock,
            stamps_now: card.stamps_now,
            has_hardware_stamps: card.has_hardware_stamps,
            no_launch_time: card.no_launch_time,
            name,
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_loopback() {
        let found = interfaces().unwrap();
        let loopback = found.iter().find(|interface| interface.name == "lo").unwrap();
        assert_eq!((loopback.mtu, loopback.ptp_clock), (65536, None));
        assert!(loopback.no_launch_time.as_deref().unwrap().contains("no clock of its own"));
    }
}
