//! What the kernel dropped, by its own counters.

use std::{collections::BTreeSet, fs};

/// Counters of the calling thread's network namespace. All but those of sockets count since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drops {
    /// Datagrams at sockets whose buffer was full.
    pub(crate) at_sockets: u64,
    /// How many of `at_sockets` were dropped at sockets of servers that are still open.
    pub(crate) at_servers: u64,
    /// How many of `at_sockets` were dropped at sockets by which servers answer.
    pub(crate) at_own: u64,
    /// Packets at the interface, because its queue was full.
    pub(crate) at_interface: u64,
}

/// Reads the counters; `servers` and `own` are ports. `None` where the kernel does not say.
pub(crate) fn read(interface: &str, servers: &BTreeSet<u16>, own: &BTreeSet<u16>) -> Option<Drops> {
    let table = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok();
    // A kernel may lack IPv6.
    let of_v6 = table("snmp6").and_then(|text| of_snmp6(&text)).unwrap_or(0);
    let sockets = [table("udp")?, table("udp6").unwrap_or_default()].concat();
    Some(Drops {
        at_sockets: of_snmp(&table("snmp")?)? + of_v6,
        at_servers: of_sockets(&sockets, servers),
        at_own: of_sockets(&sockets, own),
        at_interface: of_device(&table("dev")?, interface)?,
    })
}

impl Drops {
    /// What was dropped since.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            at_sockets: self.at_sockets.saturating_sub(earlier.at_sockets),
            at_servers: self.at_servers.saturating_sub(earlier.at_servers),
            at_own: self.at_own.saturating_sub(earlier.at_own),
            at_interface: self.at_interface.saturating_sub(earlier.at_interface),
        }
    }
}

fn of_snmp(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let place = lines.next()?.split_ascii_whitespace().position(|name| name == "RcvbufErrors")?;
    lines.next()?.split_ascii_whitespace().nth(place)?.parse().ok()
}

fn of_snmp6(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors"))?.trim().parse().ok()
}

/// The column `drops`, the last, of sockets bound to these ports.
fn of_sockets(text: &str, ports: &BTreeSet<u16>) -> u64 {
    let of_line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (_, port) = fields.nth(1)?.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        ports.contains(&port).then(|| fields.next_back()?.parse::<u64>().ok()).flatten()
    };
    text.lines().filter_map(of_line).sum()
}

/// The column `drop` of what was sent, behind eight of what was received.
fn of_device(text: &str, interface: &str) -> Option<u64> {
    const SENT_DROPS: usize = 8 + 3;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().nth(SENT_DROPS)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_dropped_is_found_in_its_tables() {
        let snmp = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 9 8 7 6 5\n";
        assert_eq!(of_snmp(snmp), Some(5));
        assert_eq!(of_snmp("Udp: InDatagrams\nUdp: 9\n"), None);
        assert_eq!(of_snmp6("Udp6InErrors 4\nUdp6RcvbufErrors   \t3\n"), Some(3));
        let devices = " lo: 1 2 3 4 5 6 7 8 9 10 11 12 13\n  quic0: 1 2 3 4 5 6 7 8 9 10 11 77 13\n";
        assert_eq!(of_device(devices, "quic0"), Some(77));
        assert_eq!(of_device(devices, "quic"), None);
    }

    #[test]
    fn drops_of_a_socket_are_found_by_its_port() {
        let udp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode ref pointer drops\n\
                   1: 0100007F:01BB 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 00000000 7\n\
                   2: 00000000:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 00000000 30\n";
        assert_eq!(of_sockets(udp, &[443].into()), 7);
        assert_eq!(of_sockets(udp, &[443, 8080].into()), 37);
        assert_eq!(of_sockets("a:b\n1: x:zz\n\n", &[443].into()), 0);
    }
}
