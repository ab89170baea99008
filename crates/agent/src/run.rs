//! One run, from orders to results.

use std::{
    fs::{self, File},
    io::BufWriter,
    os::unix::fs::symlink,
    path::PathBuf,
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use quiclab_agent_protocol::{
    activity::Activity,
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    contents::Contents,
    hosts::Readiness,
    orders::{Listen, Orders, Transport},
    places::{CERTIFICATES, DOWNLOADS, LOGS, WWW},
    report::{Outcome, QdiscCounters, Report, TapReport},
};

use crate::{
    activity::{self, ROLES, Sampler, Watched, events::Events},
    clock::{self, Difference},
    counters,
    cpu::Meter,
    cross_traffic::CrossTraffic,
    endpoint::{Endpoint, First, cpu_set},
    forwarder::Forwarder,
    namespace::Namespace,
    root::{Root, certificates, shared},
    simulator,
    tap::{Keeps, Tap},
    topology::{Topology, index},
};

/// How often the agent looks at first whether the server listens.
const POLL: Duration = Duration::from_millis(2);
/// Later it looks after this share of the time that it has waited: a server that never listens then takes some hundred looks and not
/// thirty thousand, each of which costs as much as a packet.
const POLL_SHARE: u32 = 64;
const DRAIN_POLL: Duration = Duration::from_millis(50);
/// How long queues may take to run empty once the client has ended.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// What is still open when the endpoints have ended.
pub struct Finished {
    pub(crate) report: Report,
    pub(crate) taps: Vec<Tap>,
    /// What the hosts did, as JSON.
    pub(crate) activity: Option<Vec<u8>>,
    /// The folders with logs, by role.
    pub(crate) logs: Vec<(&'static str, PathBuf)>,
}

/// Does what the orders say. An agent that cannot do its work says so in the report.
pub fn perform<'a>(orders: &'a Orders, topology: &'a Topology, roots: &'a Roots, hooks: &'a dyn RunHooks) -> Finished {
    let mut run = Running {
        orders,
        topology,
        roots,
        hooks,
        taps: Vec::new(),
        activity: None,
        forwarder: None,
        report: empty_report(),
    };
    if let Err(error) = run.everything() {
        run.report.outcome = match without_interface([&topology.server, &topology.client]) {
            Some(role) => Outcome::InterfaceGone { role: role.to_owned() },
            None => Outcome::AgentFailed { error: format!("{error:#}") },
        };
    }
    let activity = run.activity.and_then(|activity| serde_json::to_vec(&activity).ok());
    let logs = [("server", roots.server), ("client", roots.client)].map(|(role, root)| (role, root.outside(LOGS)));
    Finished { report: run.report, taps: run.taps, activity, logs: logs.into() }
}

/// Which of these networks of endpoints has lost its interface: without that much else fails, and the endpoint is to blame for it.
pub(crate) fn without_interface<'a>(networks: impl IntoIterator<Item = &'a Namespace>) -> Option<&'static str> {
    let mut networks = networks.into_iter();
    Some(networks.find(|network| network.inside(|| index(HOST_INTERFACE)).is_err())?.name)
}

/// What the agent's surroundings add to a run.
pub trait RunHooks {
    /// Whose CPU time counts; `None` where computing takes no time.
    fn meter(&self) -> Option<Meter>;

    /// Called before anything else.
    ///
    /// # Errors
    /// What the kernel answers.
    fn begin(&self) -> Result<()> {
        Ok(())
    }

    /// When the network is ready, before the server starts.
    ///
    /// # Errors
    /// What the kernel answers.
    fn before_transfer(&self) -> Result<()> {
        Ok(())
    }

    /// When both endpoints have ended.
    ///
    /// # Errors
    /// What the kernel answers.
    fn after_transfer(&self, _report: &mut Report) -> Result<()> {
        Ok(())
    }
}

/// Where the endpoints live.
pub struct Roots<'a> {
    /// The server.
    pub server: &'a Root,
    /// The client.
    pub client: &'a Root,
}

struct Running<'a> {
    orders: &'a Orders,
    topology: &'a Topology,
    roots: &'a Roots<'a>,
    hooks: &'a dyn RunHooks,
    taps: Vec<Tap>,
    activity: Option<Activity>,
    forwarder: Option<Forwarder>,
    report: Report,
}

impl Running<'_> {
    fn everything(&mut self) -> Result<()> {
        self.hooks.begin()?;
        lay_out_files(self.orders)?;
        self.report.offloads = self.topology.shape(&self.orders.network)?.into_iter().collect();
        let drop_list = self.topology.drop_to_server(&self.orders.network)?;
        self.open_forwarder()?;
        self.open_taps()?;
        self.hooks.before_transfer()?;
        let ((transferred, forwarded), clock) = clock::watched(Difference::now, || {
            (self.transfer(), finish_forwarder(self.forwarder.take(), &mut self.report))
        })?;
        self.hooks.after_transfer(&mut self.report)?;
        self.report.qdiscs = counters::qdiscs(self.topology)?;
        self.report.drops_to_server = drop_list.map(|list| list.counted()).transpose()?;
        self.report.taps = stop_all(&mut self.taps)?;
        forwarded?;
        self.report.outcome = transferred?;
        clock
    }

    fn open_forwarder(&mut self) -> Result<()> {
        if let Some(order) = &self.orders.network.forwarder {
            self.topology.stop_forwarding()?;
            let both = [(&self.orders.server, self.roots.server), (&self.orders.client, self.roots.client)];
            let key_logs = both
                .into_iter()
                .filter_map(|(program, root)| Some(root.outside(program.environment.get("SSLKEYLOGFILE")?)))
                .collect();
            let mut forwarder = Forwarder::open(order, key_logs, &self.topology.wire)?;
            forwarder.run_on(cpu_set(&self.orders.cpus.forwarder)?);
            self.forwarder = Some(forwarder);
        }
        Ok(())
    }

    fn open_taps(&mut self) -> Result<()> {
        let Some(tap) = &self.orders.tap else { return Ok(()) };
        let size = bytes_on_taps(self.orders, tap.room_bytes);
        let headers_of_cross_traffic = self.orders.cross_traffic.is_some() && !self.orders.network.super_packets;
        let (sender, to_receiver) =
            if tap.of_client { (&self.topology.client, TO_SERVER) } else { (&self.topology.server, TO_CLIENT) };
        for (name, namespace, interface, kept) in [
            ("sender", sender, HOST_INTERFACE, tap.snaplen_bytes),
            ("behind-bottleneck", &self.topology.wire, to_receiver, tap.bottleneck_snaplen_bytes),
        ] {
            let super_packets = self.orders.network.super_packets;
            // What is cut off cannot be cut into packets.
            let kept = kept.filter(|_| !super_packets);
            let keeps = Keeps { bytes: kept, headers_of_cross_traffic };
            let open = || Tap::open(name, interface, keeps, ring_bytes(size, kept), super_packets);
            self.taps.push(namespace.inside(open)?);
        }
        Ok(())
    }

    fn transfer(&mut self) -> Result<Outcome> {
        let orders = self.orders;
        for (program, namespace) in [(&orders.server, &self.topology.server), (&orders.client, &self.topology.client)] {
            if program.awaits_simulator {
                simulator::answer(namespace)?;
            }
        }
        let slack_ns = orders.timer_slack_ns;
        let (cpus, period_ns) = (&orders.cpus.server, orders.profile_period_ns);
        let network = &self.topology.server;
        let server = Endpoint::start(&orders.server, slack_ns, cpus, period_ns, network, self.roots.server)?;
        let mut events = Events::default();
        if orders.sampling.is_some() {
            events.attach(ROLES[0], server.process());
        }
        let outcome = match wait_until_listening(&server, &self.topology.server, orders.listen)? {
            Readiness::Listens => self.exchange(&server, events)?,
            Readiness::Ended => Outcome::ServerEnded,
            Readiness::Neither => Outcome::NeverListened,
        };
        let end = server.end(self.roots.server)?;
        let outcome = if matches!(outcome, Outcome::ServerEnded) { of_ended_server(end.exit_code) } else { outcome };
        self.report.server = Some(end);
        Ok(outcome)
    }

    fn exchange(&mut self, server: &Endpoint, events: Events) -> Result<Outcome> {
        if let Some(forwarder) = &mut self.forwarder {
            forwarder.start()?;
        }
        let mut cross_traffic = self.start_cross_traffic()?;
        sleep(Duration::from_nanos(self.orders.start_shift_ns));
        let sampling = self.orders.sampling;
        let hosts = [(&self.topology.server, self.roots.server), (&self.topology.client, self.roots.client)];
        let watched = ROLES.into_iter().zip(hosts);
        let watched: Vec<_> =
            watched.map(|(role, (network, root))| Watched { role, network, sandbox: root.sandbox() }).collect();
        let sampler = sampling.map(|sampling| Sampler::start(sampling, &watched, events));
        let used_before = self.hooks.meter().map(Meter::used).transpose()?;
        let start = Instant::now();
        let slack_ns = self.orders.timer_slack_ns;
        let (cpus, period_ns) = (&self.orders.cpus.client, self.orders.profile_period_ns);
        let network = &self.topology.client;
        let client = Endpoint::start(&self.orders.client, slack_ns, cpus, period_ns, network, self.roots.client)?;
        if let Some(Ok(sampler)) = &sampler {
            sampler.watch_client(client.process());
        }
        let path = self.forwarder.as_ref().map(Forwarder::watch);
        let first = client.wait_with(server, path, self.orders.transfer.timeout_ns)?;
        let elapsed = start.elapsed();
        self.report.client_lifetime_ns = Some(elapsed.as_nanos() as u64);
        if let (Some(meter), Some(before)) = (self.hooks.meter(), used_before) {
            self.report.cpu_use = Some(meter.used()?.since(&before, elapsed));
        }
        // What cannot be sampled keeps no run from its results.
        let sampled = sampler.map(|sampler| sampler.and_then(Sampler::finish));
        self.activity = sampled.map(|sampled| sampled.unwrap_or_else(|error| activity::nothing(&error)));
        if let Some(cross_traffic) = &mut cross_traffic {
            cross_traffic.stop_source(self.report.cross_traffic.get_or_insert_default())?;
        }
        if first == First::One {
            let longest_delay = Duration::from_nanos(self.orders.network.longest_delay_ns);
            let qdiscs = || counters::qdiscs(self.topology);
            self.report.drained = drain(longest_delay, self.forwarder.as_ref(), qdiscs)?;
        }
        if let Some(cross_traffic) = &mut cross_traffic {
            cross_traffic.stop_sink(self.report.cross_traffic.get_or_insert_default())?;
        }
        let end = client.end(self.roots.client)?;
        let outcome = match (first, end.exit_code) {
            (First::Other, _) => Outcome::ServerEnded,
            // Of a path that has failed the forwarder says why.
            (First::Neither | First::Path, _) => Outcome::ClientTimeout,
            (First::One, exit_code) => of_ended_client(exit_code),
        };
        self.report.client = Some(end);
        Ok(outcome)
    }

    fn start_cross_traffic(&self) -> Result<Option<CrossTraffic>> {
        let Some(order) = &self.orders.cross_traffic else { return Ok(None) };
        let mut cross_traffic = CrossTraffic::open(order, self.topology)?;
        cross_traffic.start()?;
        Ok(Some(cross_traffic))
    }
}

/// Lets what is under way arrive, so that the counters and the taps can agree. True: all of it has.
pub(crate) fn drain(
    longest_delay: Duration,
    forwarder: Option<&Forwarder>,
    qdiscs: impl Fn() -> Result<Vec<QdiscCounters>>,
) -> Result<bool> {
    let start = Instant::now();
    sleep(longest_delay);
    while start.elapsed() < DRAIN_LIMIT {
        let in_user_space = forwarder.map_or(0, Forwarder::packets_waiting);
        if in_user_space == 0 && qdiscs()?.iter().all(|queue| queue.backlog_packets == 0) {
            return Ok(true);
        }
        sleep(DRAIN_POLL);
    }
    Ok(false)
}

/// What went wrong with the forwarder explains whatever else went wrong.
pub(crate) fn finish_forwarder(forwarder: Option<Forwarder>, report: &mut Report) -> Result<()> {
    let Some(forwarder) = forwarder else { return Ok(()) };
    let (forwarded, ended) = forwarder.finish();
    report.forwarder = forwarded;
    ended
}

/// The outcome of a run whose client has ended by itself.
pub(crate) fn of_ended_client(exit_code: Option<i32>) -> Outcome {
    match exit_code {
        Some(0) => Outcome::Done,
        Some(NOT_SUPPORTED) => Outcome::Unsupported { role: "client".into() },
        _ => Outcome::ClientFailed,
    }
}

/// The outcome of a run whose server has ended by itself.
pub(crate) fn of_ended_server(exit_code: Option<i32>) -> Outcome {
    match exit_code {
        Some(NOT_SUPPORTED) => Outcome::Unsupported { role: "server".into() },
        _ => Outcome::ServerEnded,
    }
}

/// The bytes for which taps need room.
pub(crate) fn bytes_on_taps(orders: &Orders, least: u64) -> u64 {
    (orders.transfer.size_bytes * orders.transfer.names.len() as u64).max(least)
}

/// Stops taps side by side: with each the kernel waits until all CPUs have let go of the packets in their hands.
pub(crate) fn stop_all(taps: &mut [Tap]) -> Result<Vec<TapReport>> {
    thread::scope(|scope| {
        let stopping: Vec<_> = taps.iter_mut().map(|tap| scope.spawn(move || tap.stop())).collect();
        let panicked = |_| Err(anyhow!("the thread that stops a tap panicked"));
        stopping.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    })
}

/// Writes the certificates, for each endpoint its own copies, and the files that the server serves.
///
/// # Errors
/// Where one cannot be written, or is no certificate.
pub(crate) fn lay_out_files(orders: &Orders) -> Result<()> {
    for file in &orders.files {
        let name = file.path.strip_prefix(CERTIFICATES).and_then(|path| path.strip_prefix('/'));
        let name =
            name.with_context(|| format!("orders: found the file {:?}, expected one in {CERTIFICATES}", file.path))?;
        for role in ROLES {
            let path = certificates(role).join(name);
            fs::write(&path, &file.text).with_context(|| path.display().to_string())?;
        }
    }
    let transfer = &orders.transfer;
    for (seed, name) in (transfer.seed..).zip(&transfer.names) {
        let path = shared(WWW).join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        if transfer.zeros {
            // A hole, so that it takes no memory.
            file.set_len(transfer.size_bytes).context("making a file to transfer")?;
            continue;
        }
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let mut contents = Contents::new(seed, transfer.size_bytes);
        std::io::copy(&mut contents, &mut file).context("making a file to transfer")?;
        file.into_inner().context("making a file to transfer")?;
    }
    if transfer.discard {
        for name in &transfer.names {
            let path = shared(DOWNLOADS).join(name);
            symlink("/dev/null", &path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Exit status by which an endpoint says that it does not support what it was asked.
const NOT_SUPPORTED: i32 = 127;

pub(crate) fn wait_until_listening(server: &Endpoint, namespace: &Namespace, listen: Listen) -> Result<Readiness> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_nanos(listen.timeout_ns) {
        if namespace.inside(|| is_bound(listen))? {
            return Ok(Readiness::Listens);
        }
        if server.has_ended()? {
            return Ok(Readiness::Ended);
        }
        sleep(next_look(start.elapsed()));
    }
    Ok(Readiness::Neither)
}

/// How long to wait until the next look, having waited for `elapsed`.
fn next_look(elapsed: Duration) -> Duration {
    POLL.max(elapsed / POLL_SHARE)
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

/// Room for everything a transfer of `size` puts on the wire, both ways and with retransmissions; what does not fit is
/// counted as lost by the capture.
pub(crate) fn ring_bytes(size: u64, snaplen: Option<u32>) -> u64 {
    /// Ring header, alignment and link headers of one packet.
    const PER_PACKET: u64 = 128;
    /// A generous floor for handshakes, and for small packets against the other direction.
    const FLOOR: u64 = 4 << 20;
    // Acknowledgments count: a client that sends one per packet doubles their number, retransmissions add to both.
    let packets = size.div_ceil(1200) * 3;
    let kept = snaplen.map_or(size * 5 / 4, |bytes| packets * u64::from(bytes.min(1514)));
    FLOOR + packets * PER_PACKET + kept
}

/// A report of a run that has not begun.
pub(crate) fn empty_report() -> Report {
    Report {
        outcome: Outcome::AgentFailed { error: "the run ended without an outcome".into() },
        server: None,
        client: None,
        client_lifetime_ns: None,
        cpu_use: None,
        qdiscs: Vec::new(),
        drops_to_server: None,
        forwarder: None,
        cross_traffic: None,
        thefts: None,
        offloads: Default::default(),
        taps: Vec::new(),
        send_sizes: None,
        cut: Default::default(),
        lost_logs: Vec::new(),
        drained: false,
        kernel_release: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_listens_costs_few_looks_and_a_quick_one_is_seen_at_once() {
        let (mut elapsed, mut looks) = (Duration::ZERO, 0);
        while elapsed < Duration::from_secs(60) {
            let wait = next_look(elapsed);
            assert!(elapsed > Duration::from_millis(128) || wait == POLL);
            elapsed += wait;
            looks += 1;
        }
        assert!((400..500).contains(&looks), "{looks} looks");
    }

    #[test]
    fn a_bound_port_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st\n   0: 00000000:1151 00000000:0000 07 00000000:00000000\n";
        assert!(has_local_port(table, 4433));
        assert!(!has_local_port(table, 4434));
        assert!(!has_local_port("", 4433));
    }
}
