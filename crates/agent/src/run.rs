//! One run, from orders to results.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration as Wait, Instant},
};

use anyhow::{Context, Result};
use quiclab_units::Duration;

use crate::{
    counters,
    endpoint::{Endpoint, First, files_below},
    namespace::Namespace,
    orders::{Listen, Orders, Transport},
    random,
    report::{Outcome, Report},
    slot::{self, BLOCK, Blob, Device, Manifest},
    tap::Tap,
    topology::{self, Topology},
    workload::Contents,
};

/// Folders the endpoints know by their environment.
pub const WWW: &str = "/www";
/// Where the client puts what it fetched.
pub const DOWNLOADS: &str = "/downloads";
/// Certificates and keys.
pub const CERTIFICATES: &str = "/certs";
/// One folder per role below this one; what stands in it at the end is kept.
pub const ROLES: &str = "/run/quiclab";

/// How often the agent looks whether the server listens, and whether queues are empty.
const POLL: Wait = Wait::from_millis(2);
const DRAIN_POLL: Wait = Wait::from_millis(50);
/// How long queues may take to run empty once the client has ended.
const DRAIN_LIMIT: Wait = Wait::from_secs(5);

/// What is still open when the endpoints have ended.
pub struct Finished {
    report: Report,
    taps: Vec<Tap>,
}

/// Does what the orders say. An agent that cannot do its work says so in the report.
pub fn perform(orders: &Orders, topology: &Topology) -> Finished {
    let mut run = Running { orders, topology, taps: Vec::new(), report: empty_report() };
    if let Err(error) = run.everything() {
        run.report.outcome = Outcome::AgentFailed { error: format!("{error:#}") };
    }
    Finished { report: run.report, taps: run.taps }
}

struct Running<'a> {
    orders: &'a Orders,
    topology: &'a Topology,
    taps: Vec<Tap>,
    report: Report,
}

impl Running<'_> {
    fn everything(&mut self) -> Result<()> {
        random::seed_pool(&self.orders.entropy)?;
        self.lay_out_files()?;
        set_buffers(self.orders)?;
        self.report.offloads = self.topology.shape(&self.orders.path, &self.orders.hosts)?.into_iter().collect();
        self.open_taps()?;
        let transferred = self.transfer();
        self.report.qdiscs = counters::qdiscs(self.topology)?;
        for tap in &self.taps {
            self.report.taps.push(tap.stop()?);
        }
        self.report.outcome = transferred?;
        Ok(())
    }

    fn lay_out_files(&self) -> Result<()> {
        for folder in [WWW, DOWNLOADS, CERTIFICATES] {
            fs::create_dir_all(folder).context(folder)?;
        }
        for file in &self.orders.files {
            if let Some(folder) = Path::new(&file.path).parent() {
                fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            }
            fs::write(&file.path, &file.text).with_context(|| file.path.clone())?;
        }
        let transfer = &self.orders.transfer;
        let path = Path::new(WWW).join(&transfer.name);
        let mut file =
            BufWriter::with_capacity(1 << 16, File::create(&path).with_context(|| path.display().to_string())?);
        let mut contents = Contents::new(transfer.seed, transfer.size.as_bytes());
        std::io::copy(&mut contents, &mut file).context("making the file to transfer")?;
        file.into_inner().context("making the file to transfer")?;
        Ok(())
    }

    fn open_taps(&mut self) -> Result<()> {
        let tap = &self.orders.tap;
        if !tap.enabled {
            return Ok(());
        }
        let snaplen = |bytes: Option<quiclab_units::ByteCount>| bytes.map(|bytes| bytes.as_bytes() as u32);
        let size = self.orders.transfer.size.as_bytes();
        self.taps.push(self.topology.server.inside(|| {
            let kept = snaplen(tap.snaplen);
            Tap::open("sender", topology::HOST_INTERFACE, kept, ring_bytes(size, kept))
        })?);
        self.taps.push(self.topology.wire.inside(|| {
            let kept = snaplen(tap.bottleneck_snaplen);
            Tap::open("behind-bottleneck", topology::TO_CLIENT, kept, ring_bytes(size, kept))
        })?);
        Ok(())
    }

    fn transfer(&mut self) -> Result<Outcome> {
        let orders = self.orders;
        let server = Endpoint::start(&orders.server, &self.topology.server, &role_folder("server"))?;
        let outcome = match wait_until_listening(&server, &self.topology.server, orders.listen)? {
            Readiness::Listens => self.exchange(&server)?,
            Readiness::Ended => Outcome::ServerEnded,
            Readiness::Neither => Outcome::NeverListened,
        };
        let end = server.end()?;
        let outcome = match (&outcome, end.exit_code) {
            (Outcome::ServerEnded, Some(NOT_SUPPORTED)) => Outcome::Unsupported { role: "server".into() },
            _ => outcome,
        };
        self.report.server = Some(end);
        Ok(outcome)
    }

    fn exchange(&mut self, server: &Endpoint) -> Result<Outcome> {
        sleep(wait(self.orders.start_shift));
        let idle_before = counters::idle_centiseconds()?;
        let start = Instant::now();
        let folder = role_folder("client");
        let client = Endpoint::start(&self.orders.client, &self.topology.client, &folder)?;
        let first = client.wait_with(server, self.orders.transfer.timeout)?;
        let elapsed = start.elapsed();
        let idle = (counters::idle_centiseconds()? - idle_before) as f64 / 100.0;
        self.report.client_lifetime = Some(Duration::from_nanos(elapsed.as_nanos() as u64));
        self.report.busy_share = Some(1.0 - idle / elapsed.as_secs_f64());
        if first == First::One {
            self.drain()?;
        }
        let end = client.end()?;
        let outcome = match (first, end.exit_code) {
            (First::Other, _) => Outcome::ServerEnded,
            (First::Neither, _) => Outcome::ClientTimeout,
            (First::One, Some(0)) => Outcome::Done,
            (First::One, Some(NOT_SUPPORTED)) => Outcome::Unsupported { role: "client".into() },
            (First::One, _) => Outcome::ClientFailed,
        };
        self.report.client = Some(end);
        Ok(outcome)
    }

    /// Lets what is under way arrive, so that the counters and the taps can agree.
    fn drain(&mut self) -> Result<()> {
        let path = &self.orders.path;
        let start = Instant::now();
        sleep(wait(path.delay_to_client) + wait(path.delay_to_server));
        while start.elapsed() < DRAIN_LIMIT {
            if counters::qdiscs(self.topology)?.iter().all(|queue| queue.backlog_packets == 0) {
                self.report.drained = true;
                return Ok(());
            }
            sleep(DRAIN_POLL);
        }
        Ok(())
    }
}

/// Exit status by which an endpoint says that it does not support what it was asked.
const NOT_SUPPORTED: i32 = 127;

enum Readiness {
    Listens,
    Ended,
    Neither,
}

fn wait_until_listening(server: &Endpoint, namespace: &Namespace, listen: Listen) -> Result<Readiness> {
    let start = Instant::now();
    while start.elapsed() < wait(listen.timeout) {
        if namespace.inside(|| is_bound(listen))? {
            return Ok(Readiness::Listens);
        }
        if server.has_ended()? {
            return Ok(Readiness::Ended);
        }
        sleep(POLL);
    }
    Ok(Readiness::Neither)
}

fn is_bound(listen: Listen) -> Result<bool> {
    let tables = match listen.transport {
        Transport::Udp => ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"],
        Transport::Tcp => ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"],
    };
    for table in tables {
        // Without IPv6 there is no second table.
        if fs::read_to_string(table).is_ok_and(|text| has_local_port(&text, listen.port)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Second column of the kernel's socket tables: address and port, both hexadecimal.
fn has_local_port(table: &str, port: u16) -> bool {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).any(|line| line.split_ascii_whitespace().nth(1).is_some_and(|local| local.ends_with(&suffix)))
}

/// Buffers of every socket that does not ask for its own size.
fn set_buffers(orders: &Orders) -> Result<()> {
    let hosts = &orders.hosts;
    for (name, size) in [("rmem", hosts.udp_receive_buffer), ("wmem", hosts.udp_send_buffer)] {
        for kind in ["max", "default"] {
            let path = format!("/proc/sys/net/core/{name}_{kind}");
            fs::write(&path, size.as_bytes().to_string()).with_context(|| path.clone())?;
        }
    }
    Ok(())
}

/// Room for everything a transfer of `size` puts on the wire, both ways and with retransmissions; what does not fit is
/// counted as lost by the capture.
fn ring_bytes(size: u64, snaplen: Option<u32>) -> u64 {
    /// Ring header, alignment and link headers of one packet.
    const PER_PACKET: u64 = 128;
    /// A generous floor for handshakes, and for small packets against the other direction.
    const FLOOR: u64 = 4 << 20;
    // Acknowledgments count: a client that sends one per packet doubles their number, retransmissions add to both.
    let packets = size.div_ceil(1200) * 3;
    let kept = snaplen.map_or(size * 5 / 4, |bytes| packets * u64::from(bytes.min(1514)));
    FLOOR + packets * PER_PACKET + kept
}

fn role_folder(role: &str) -> PathBuf {
    Path::new(ROLES).join(role)
}

fn wait(duration: Duration) -> Wait {
    Wait::from_nanos(duration.as_nanos())
}

fn empty_report() -> Report {
    Report {
        outcome: Outcome::AgentFailed { error: "the run did not get as far as an outcome".into() },
        server: None,
        client: None,
        client_lifetime: None,
        busy_share: None,
        qdiscs: Vec::new(),
        offloads: Default::default(),
        taps: Vec::new(),
        drained: false,
        kernel_release: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
    }
}

impl Finished {
    /// Writes everything into the slot, the header last.
    ///
    /// # Errors
    /// Where the slot is too small or a file cannot be read.
    pub fn hand_over(mut self, device: &mut Device, orders: &Orders) -> Result<()> {
        // Room for the manifest in front of the blobs; it holds counters and names only.
        const MANIFEST_ROOM: u64 = 1 << 20;
        let mut offset = MANIFEST_ROOM;
        let mut blobs = Vec::new();
        for (tap, report) in self.taps.iter().zip(&self.report.taps) {
            let length = report.block_bytes * report.blocks_used;
            device.write_pages_at(offset, &tap.pages()[..length as usize]).context("handing over a capture")?;
            blobs.push(Blob { name: format!("tap/{}", report.name), offset, length });
            offset += length;
        }
        let mut sources = vec![(String::from("download"), Path::new(DOWNLOADS).join(&orders.transfer.name))];
        for role in ["server", "client"] {
            let folder = role_folder(role);
            for file in files_below(&folder).unwrap_or_default() {
                sources.push((format!("{role}/{}", file.display()), folder.join(file)));
            }
        }
        for (name, path) in sources {
            let Ok(mut file) = File::open(&path) else { continue };
            let length = device.write_at(offset, &mut file).with_context(|| format!("handing over {name}"))?;
            blobs.push(Blob { name, offset, length });
            offset += length.next_multiple_of(BLOCK as u64);
        }
        self.taps.clear();
        let manifest = serde_json::to_vec(&Manifest { report: self.report, blobs })?;
        anyhow::ensure!(
            (manifest.len() + BLOCK) as u64 <= MANIFEST_ROOM,
            "the manifest is too long: {}",
            manifest.len()
        );
        device.write_at(BLOCK as u64, &mut &manifest[..])?;
        device.write_at(0, &mut &slot::header(slot::RESULTS_MAGIC, manifest.len() as u64)[..])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_port_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st\n   0: 00000000:1151 00000000:0000 07 00000000:00000000\n";
        assert!(has_local_port(table, 4433));
        assert!(!has_local_port(table, 4434));
        assert!(!has_local_port("", 4433));
    }
}
