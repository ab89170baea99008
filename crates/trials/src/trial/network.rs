//! What the kernel says of this process's network namespace.

use std::fs;

use anyhow::{Context, Result};
use quiclab_experiment::run::IpVersion;

/// True where a server listens on this port in this network namespace.
pub fn is_listening(server_port: u16) -> bool {
    // States of sockets as the kernel numbers them; a closed connection is kept for a while, and is no server.
    const TABLES: &[(&str, &str)] = &[("udp", "07"), ("udp6", "07"), ("tcp", "0A"), ("tcp6", "0A")];
    let port = format!(":{server_port:04X}");
    for (table, listening) in TABLES {
        let text = fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut words = line.split_whitespace().skip(1);
            let (local, _, state) = (words.next().unwrap_or_default(), words.next(), words.next());
            if local.ends_with(&port) && state == Some(listening) {
                return true;
            }
        }
    }
    false
}

/// Bytes of IP packets that came in over this network namespace's interfaces, so far.
///
/// # Errors
/// Where the kernel does not count them.
pub fn octets_in(ip: IpVersion) -> Result<u64> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| path.to_owned());
    let found = match ip {
        IpVersion::V6 => {
            let text = read("/proc/self/net/snmp6")?;
            text.lines().find_map(|line| line.strip_prefix("Ip6InOctets")).map(|value| value.trim().to_owned())
        }
        IpVersion::V4 => {
            let text = read("/proc/self/net/netstat")?;
            let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
            let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            let mut both = names.split_whitespace().zip(values.split_whitespace());
            both.find(|(name, _)| *name == "InOctets").map(|(_, value)| value.to_owned())
        }
    };
    found.and_then(|value| value.parse().ok()).context("the kernel does not count bytes of IP packets")
}
