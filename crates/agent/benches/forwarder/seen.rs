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
use quiclab_agent_protocol::{
    addresses::{HOST_INTERFACE, TO_SERVER},
    ring::for_each_packet,
};

use crate::load::{Frames, Load, NUMBER, Sent};

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

    /// What was found.
    pub fn end(self, topology: &Topology, delay: Duration) -> Result<Found> {
        let after = counters(&topology.client)?;
        let moved = after.packets - self.before.packets;
        let mut errors_ns = Vec::new();
        if let Some([entrance, exit]) = self.taps {
            let [came, left] = [times(&entrance)?, times(&exit)?];
            errors_ns.extend(
                left.iter().filter_map(|(number, left)| {
                    Some(*left as i64 - *came.get(number)? as i64 - delay.as_nanos() as i64)
                }),
            );
            errors_ns.sort_unstable();
        }
        let (elapsed, until) = self.until.context("not counted")?;
        Ok(Found {
            moved,
            errors_ns,
            bits_per_second: (until.bytes - self.before.bytes) as f64 * 8.0 / elapsed.as_secs_f64(),
            packets_per_second: (until.packets - self.before.packets) as f64 / elapsed.as_secs_f64(),
            cpu_ns: cpu_ns()?.saturating_sub(self.cpu_ns),
        })
    }
}

/// What came out.
pub struct Found {
    moved: u64,
    /// Errors of the packets' delays, in ascending order, in ns.
    errors_ns: Vec<i64>,
    bits_per_second: f64,
    packets_per_second: f64,
    /// 0 of a kernel and of another program: it is not known.
    cpu_ns: u64,
}

impl Found {
    /// Columns of the table. `lost`: frames that found the mover's ring full, where that is known.
    pub fn in_words(&self, load: &Load, sent: &Sent, lost: Option<u64>) -> String {
        let share = |frames: f64| format!("{:>9.1} %", 100.0 * frames / sent.frames as f64);
        let missing = share(sent.frames as f64 - self.moved as f64);
        let lost = lost.map_or(format!("{:>11}", "-"), |lost| share(lost as f64));
        if load.is_timed() {
            let microseconds = |part: f64| match self.errors_ns.get((self.errors_ns.len() as f64 * part) as usize) {
                Some(error) => format!("{:.1} us", *error as f64 / 1000.0),
                None => "-".to_owned(),
            };
            return format!(" {:>10} {:>11} {missing}", microseconds(0.5), microseconds(0.999));
        }
        match (load.frames, load.bits_per_second) {
            (Frames::SuperPackets, Some(_)) => format!("   {missing} {lost}"),
            (Frames::SuperPackets, None) => format!("   {:>8.2} {missing} {lost}", self.bits_per_second / 1e9),
            (Frames::Packets, _) => {
                let cpu = match self.cpu_ns {
                    0 => "-".to_owned(),
                    cpu => format!("{:.2} us", cpu as f64 / 1000.0 / self.moved as f64),
                };
                format!("   {:>9.0} {missing} {lost} {cpu:>9}", self.packets_per_second)
            }
        }
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
