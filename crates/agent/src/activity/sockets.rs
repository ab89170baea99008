//! What the kernel counted of a host's UDP sockets: `/proc/net/snmp` and `snmp6`.

use std::{fs::File, os::unix::fs::FileExt};

use anyhow::{Context, Result};
use quiclab_agent_protocol::activity::Subject;

use super::recorder::{Recorder, TrackId};

/// Names here, in the table of IPv4 and in that of IPv6.
const FIELDS: [(&str, &str); 6] = [
    ("InDatagrams", "Udp6InDatagrams"),
    ("OutDatagrams", "Udp6OutDatagrams"),
    ("NoPorts", "Udp6NoPorts"),
    ("InErrors", "Udp6InErrors"),
    ("RcvbufErrors", "Udp6RcvbufErrors"),
    ("SndbufErrors", "Udp6SndbufErrors"),
];
/// Names of the counters in the order of the table above.
const COUNTERS: &[&str] = &[
    "datagrams_received",
    "datagrams_sent",
    "datagrams_to_closed_ports",
    "receive_errors",
    "receive_buffer_drops",
    "send_buffer_drops",
];

/// The tables of one network namespace, open: they stay those of the namespace in which they were opened.
pub struct UdpSockets {
    ipv4: File,
    /// Absent where the kernel has no IPv6.
    ipv6: Option<File>,
    track: Option<TrackId>,
    buffer: Vec<u8>,
}

impl UdpSockets {
    /// Opens those of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there are none.
    pub fn open() -> Result<Self> {
        let path = "/proc/thread-self/net/snmp";
        let ipv4 = File::open(path).context(path)?;
        Ok(Self { ipv4, ipv6: File::open("/proc/thread-self/net/snmp6").ok(), track: None, buffer: vec![0; 1 << 14] })
    }

    /// Adds what is counted now.
    ///
    /// # Errors
    /// Where it cannot be read or understood.
    pub fn sample(&mut self, role: &'static str, recorder: &mut Recorder) -> Result<()> {
        let length = self.ipv4.read_at(&mut self.buffer, 0).context("/proc/net/snmp")?;
        let text = String::from_utf8_lossy(&self.buffer[..length]);
        let mut counted = of_ipv4(&text).context("/proc/net/snmp: found no counters of UDP")?;
        if let Some(ipv6) = &self.ipv6 {
            let length = ipv6.read_at(&mut self.buffer, 0).context("/proc/net/snmp6")?;
            let text = String::from_utf8_lossy(&self.buffer[..length]);
            for (all, ipv6) in counted.iter_mut().zip(of_ipv6(&text)) {
                *all += ipv6;
            }
        }
        let track = *self.track.get_or_insert_with(|| recorder.begin(role, Subject::Udp, COUNTERS));
        recorder.push(track, &counted);
        Ok(())
    }
}

/// Two lines: `Udp: InDatagrams NoPorts ...` and `Udp: 5 0 ...`.
fn of_ipv4(text: &str) -> Option<Vec<u64>> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let of_name = |wanted: &str| {
        let place = names.split_ascii_whitespace().position(|name| name == wanted)?;
        values.split_ascii_whitespace().nth(place)?.parse().ok()
    };
    FIELDS.iter().map(|(name, _)| of_name(name)).collect()
}

/// A line for each counter: `Udp6InDatagrams   5`. Those that are not there are 0.
fn of_ipv6(text: &str) -> Vec<u64> {
    let of_name = |wanted: &str| {
        let mut lines = text.lines().map(str::split_ascii_whitespace);
        lines.find_map(|mut words| (words.next() == Some(wanted)).then(|| words.next()?.parse().ok())?)
    };
    FIELDS.iter().map(|(_, name)| of_name(name).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "Tcp: InSegs\nTcp: 9\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors Other\n\
                    Udp: 1 2 3 4 5 6 7\nUdpLite: InDatagrams\nUdpLite: 0\n";
        assert_eq!(of_ipv4(text), Some(vec![1, 4, 2, 3, 5, 6]));
        assert_eq!(of_ipv4("Udp: InDatagrams\nUdp: 1\n"), None);
        assert_eq!(of_ipv6("Udp6RcvbufErrors   \t8\nUdpLite6RcvbufErrors 9\n"), [0, 0, 0, 0, 8, 0]);
    }
}
