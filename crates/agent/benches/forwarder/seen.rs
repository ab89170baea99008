//! What came out: how late, and how much.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_agent::{
    namespace::Namespace,
    tap::{BLOCK_BYTES, Keeps, Tap},
    topology::Topology,
};
use quiclab_orders::{
    addresses::{HOST_INTERFACE, TO_SERVER},
    ring::for_each_packet,
};

use crate::load::{Load, NUMBER, Sent};

/// Bytes that a tap keeps of a packet.
const KEPT: u32 = 64;

/// A measurement that goes on.
pub struct Seen {
    start: Instant,
    /// CPU time of what moves packets.
    cpu_ns: u64,
    before: Counters,
    until: Option<(Duration, Counters)>,
    /// Where packets come in and where they come out, where delays are measured.
    taps: Option<[Tap; 2]>,
}

#[derive(Clone, Copy)]
struct Counters {
    bytes: u64,
    packets: u64,
}

impl Seen {
    /// Begins. Taps are opened for 1 Gbit/s of this length.
    pub fn begin(entrance: &Namespace, topology: &Topology, tapped: Option<Duration>) -> Result<Self> {
        let interface = if entrance.name == "wire" { TO_SERVER } else { HOST_INTERFACE };
        let taps = tapped.map(|length| {
            let bytes = (length.as_secs_f64() * 1e9 / 8.0 / 1514.0 * 1.5 * 200.0) as u64;
            let open = |namespace: &Namespace, interface| {
                namespace.inside(|| {
                    Tap::open(
                        "bench",
                        interface,
                        Keeps { bytes: Some(KEPT), headers_of_cross_traffic: false },
                        bytes,
                        false,
                    )
                })
            };
            Ok::<_, anyhow::Error>([open(entrance, interface)?, open(&topology.client, HOST_INTERFACE)?])
        });
        let taps = taps.transpose()?;
        Ok(Self { start: Instant::now(), cpu_ns: cpu_ns()?, before: counters(&topology.client)?, until: None, taps })
    }

    /// The sender has stopped: what comes from now on says nothing about a rate.
    pub fn stop_counting(&mut self, topology: &Topology) -> Result<()> {
        self.until = Some((self.start.elapsed(), counters(&topology.client)?));
        Ok(())
    }

    /// Columns of the table.
    pub fn end(self, topology: &Topology, load: &Load, sent: &Sent, delay: Duration) -> Result<String> {
        let after = counters(&topology.client)?;
        let missing = 100.0 * (1.0 - (after.packets - self.before.packets) as f64 / sent.frames as f64);
        if let Some([entrance, exit]) = self.taps {
            let [came, left] = [times(&entrance)?, times(&exit)?];
            let mut errors: Vec<_> = left
                .iter()
                .filter_map(|(number, left)| Some(*left as i64 - *came.get(number)? as i64 - delay.as_nanos() as i64))
                .collect();
            errors.sort_unstable();
            let microseconds = |share: f64| match errors.get((errors.len() as f64 * share) as usize) {
                Some(error) => format!("{:.1} us", *error as f64 / 1000.0),
                None => "-".to_owned(),
            };
            return Ok(format!(" {:>10} {:>11} {missing:>9.1} %", microseconds(0.5), microseconds(0.999)));
        }
        let (elapsed, until) = self.until.context("not counted")?;
        let seconds = elapsed.as_secs_f64();
        let bits = (until.bytes - self.before.bytes) as f64 * 8.0 / seconds;
        let packets = (until.packets - self.before.packets) as f64 / seconds;
        Ok(match load.frames {
            crate::load::Frames::SuperPackets => format!("   {:>10.2} {missing:>9.1} %", bits / 1e9),
            crate::load::Frames::Packets => {
                // Of a kernel and of another program it is not known.
                let moved = after.packets - self.before.packets;
                let cpu = match cpu_ns()?.saturating_sub(self.cpu_ns) {
                    0 => "-".to_owned(),
                    cpu => format!("{:.2} us", cpu as f64 / 1000.0 / moved as f64),
                };
                format!("   {packets:>12.0} {missing:>9.1} % {cpu:>9}")
            }
        })
    }
}

/// What the client's interface has received.
fn counters(client: &Namespace) -> Result<Counters> {
    client.inside(|| {
        let text = fs::read_to_string("/proc/thread-self/net/dev").context("counters")?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("eth0:")).context("eth0 has no counters")?;
        let mut numbers = line.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next().context("a counter is missing")?.context("a counter is no number");
        Ok(Counters { bytes: next()?, packets: next()? })
    })
}

/// CPU time of all threads of this process except its first, which does not move packets, and those that have ended.
fn cpu_ns() -> Result<u64> {
    let first = std::process::id().to_string();
    let mut sum = 0;
    for entry in fs::read_dir("/proc/self/task").context("threads")? {
        let entry = entry?;
        if entry.file_name().to_string_lossy() != first {
            let text = fs::read_to_string(entry.path().join("schedstat")).context("CPU time of a thread")?;
            sum += text.split_ascii_whitespace().next().context("CPU time of a thread")?.parse::<u64>()?;
        }
    }
    Ok(sum)
}

/// When packets passed a tap, by their numbers.
fn times(tap: &Tap) -> Result<BTreeMap<u64, u64>> {
    let report = tap.stop()?;
    anyhow::ensure!(report.packets_lost == 0, "a tap has lost {} packets", report.packets_lost);
    let mut found = BTreeMap::new();
    let pages = &tap.pages()[..report.blocks_used as usize * BLOCK_BYTES];
    for_each_packet(pages, BLOCK_BYTES, |packet| {
        if let Some(number) = packet.bytes.get(NUMBER..NUMBER + 8).and_then(|bytes| bytes.try_into().ok()) {
            found.insert(u64::from_be_bytes(number), packet.time_ns);
        }
    })?;
    Ok(found)
}
