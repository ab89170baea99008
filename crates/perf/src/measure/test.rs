//! One test, from the start of its clients to their end.

use std::{
    collections::BTreeMap,
    fs,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::stack::{Role, Transport};
use quiclab_testbed::loopback::Exit;

use super::{
    certificates,
    ends::{End, counters_port, is_taken, port_kind, trust, urls},
    machine::Machine,
    results::{Found, Row, found, latencies, latencies_file, row},
    settings::PerfSettings,
    setup::Setup,
    show, usage,
};
use crate::{
    Direction, Load, Progress, Reading, Sample,
    control::{Control, ControlError},
    roofline::profile::{Profile, Profiler},
};

/// Time between two looks at all ends.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a server may take until its socket is there.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);
/// When memory is looked at first.
const EARLY: Duration = Duration::from_millis(200);
/// What a test may do without a byte that arrives.
const STALL: Duration = Duration::from_secs(5);
/// What a handshake may take in addition.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the counters of a server have to rest before a test is over, once its clients have ended.
const REST: Duration = Duration::from_millis(100);
/// Bytes of a response or a request without end: more than any test carries.
const WITHOUT_END: u64 = 1 << 50;
/// The shortest last interval that is shown, as a share of the others.
const LAST_INTERVAL: f64 = 0.2;
/// First bytes of a request, which say how long the response is: draft-banks-quic-performance, section 2.3.
const HEAD: u64 = 8;

/// Why a test failed: something that an endpoint did.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// The server of all tests.
pub enum Server {
    /// A server on this machine.
    Own(Box<End>, String),
    /// A server elsewhere that answers how far it is.
    Other(Box<Control>, SocketAddr, String),
    /// A server elsewhere that does not.
    Silent(SocketAddr),
}

impl Server {
    /// Starts the server, or finds the one that was named.
    ///
    /// # Errors
    /// Where it cannot be started or reached, or not be trusted.
    pub fn find(settings: &PerfSettings, setup: &Setup) -> Result<Self> {
        let certs = setup.shared.join("certs");
        let Some(host) = &settings.client else {
            certificates::make(&certs)?;
            let end = start_server(settings, setup)?;
            let title = setup.server.as_ref().map(super::setup::Stack::title).unwrap_or_default();
            return Ok(Self::Own(Box::new(end), title));
        };
        let address = resolve(host, settings)?;
        let client = setup.client.as_ref().context("no client")?;
        if let Some(path) = &settings.authority {
            let text = setup.hooks.read_certificate(path)?;
            trust(&certs, &text)?;
            let name = settings.server_name.as_ref().unwrap_or(host);
            client.root.set_hosts(&format!("{} {name}\n", address.ip()))?;
            return Ok(Self::Silent(address));
        }
        let counters = counters_port(settings.port, setup.transport)?;
        let (control, stack, authority) = Control::connect(SocketAddr::new(address.ip(), counters)).map_err(|error| match error {
            ControlError::Io(error) => anyhow::anyhow!(
                "{host}, TCP port {counters}: {error}\nhint: quiclab perf -s there; for another server of perf: --authority"
            ),
            other => anyhow::Error::new(other).context(format!("{host}, TCP port {counters}")),
        })?;
        certificates::check(settings, &authority, setup.hooks)?;
        trust(&certs, &authority)?;
        client.root.set_hosts(&format!("{} server\n", address.ip()))?;
        Ok(Self::Other(Box::new(control), address, stack))
    }

    /// Name and version of its stack, or where it is.
    pub fn title(&self) -> String {
        match self {
            Self::Own(_, title) => title.clone(),
            Self::Other(_, address, title) => format!("{title} at {address}"),
            Self::Silent(address) => format!("the server at {address}"),
        }
    }

    /// Ends it, if it is here.
    pub fn end(self) {
        if let Self::Own(end, _) = self {
            end.endpoint.end();
        }
    }

    /// The process of a server on this machine.
    fn process(&self) -> Option<u32> {
        if let Self::Own(end, _) = self { Some(end.endpoint.process()) } else { None }
    }

    fn host<'a>(&self, settings: &'a PerfSettings) -> &'a str {
        match self {
            Self::Silent(_) => settings.server_name.as_deref().or(settings.client.as_deref()).unwrap_or("server"),
            // The name "server" leads to IPv4: docs/reference/endpoint-contract.md.
            Self::Own(..) if settings.ipv6 => "server6",
            _ => "server",
        }
    }

    fn ip(&self, has_ipv6: bool) -> &'static str {
        match self {
            Self::Other(_, address, _) | Self::Silent(address) if address.is_ipv6() => "6",
            Self::Own(..) if has_ipv6 => "6",
            _ => "4",
        }
    }

    /// How far it is. `starts`: what it has carried so far does not count.
    fn sample(&mut self, starts: bool, with_cpu: bool, udp_port: Option<u16>) -> Result<Option<Sample>> {
        match self {
            Self::Silent(_) => Ok(None),
            Self::Other(control, ..) => Ok(Some(control.sample(starts).context("the server's counters")?)),
            Self::Own(end, _) => {
                end.read().map_err(|error| Failure(format!("the server: {error:#}")))?;
                if starts {
                    end.restart();
                }
                if let Some(exit) = end.endpoint.poll()? {
                    return Err(Failure(format!("the server ended by itself: {exit}")).into());
                }
                let socket_drops = udp_port.and_then(usage::socket_drops).map(|(at_port, _)| at_port);
                Ok(Some(Sample { socket_drops, ..end.sample(with_cpu) }))
            }
        }
    }
}

/// The address of a server.
///
/// # Errors
/// Where it has none of the version that was asked for.
pub fn resolve(host: &str, settings: &PerfSettings) -> Result<SocketAddr> {
    let port = settings.port;
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let mut found = (host, port).to_socket_addrs().with_context(|| format!("-c {host}"))?;
    let version = if settings.ipv6 { "IPv6" } else { "IPv4" };
    found
        .find(|address| address.is_ipv6() == settings.ipv6)
        .with_context(|| format!("-c {host}: found no {version} address\nhint: -6 is for IPv6"))
}

/// Starts the server and waits until it listens.
pub fn start_server(settings: &PerfSettings, setup: &Setup) -> Result<End> {
    let stack = setup.server.as_ref().context("no server")?;
    let port = settings.port;
    let kind = port_kind(setup.transport);
    if is_taken(port, setup.transport) {
        bail!("{kind} port {port} is in use\nhint: --port, another number");
    }
    let ip = if settings.ipv6 { "6" } else { "4" };
    let more = [("QUICLAB_PORT", port.to_string()), ("QUICLAB_IP", ip.to_owned())];
    let mut end = End::start(settings, setup, stack, Role::Server, "server", &more)?;
    let deadline = Instant::now() + LISTEN_TIMEOUT;
    while !is_taken(port, setup.transport) {
        if let Some(exit) = end.endpoint.poll()? {
            return Err(Failure(refused("server", exit)).into());
        }
        if Instant::now() > deadline {
            return Err(
                Failure(format!("the server does not listen at {kind} port {port} within {LISTEN_TIMEOUT:?}")).into()
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(end)
}

fn refused(role: &str, exit: Exit) -> String {
    match exit {
        Exit::Status(127) => format!(
            "the {role}'s stack does not support what is asked of it (exit status 127); without progress \
             (QUICLAB_PERF_PROGRESS) nothing can be counted"
        ),
        exit => format!("the {role} ended with {exit}"),
    }
}

/// What there is to do.
pub struct Test<'a> {
    pub settings: &'a PerfSettings,
    pub setup: &'a Setup,
    pub load: Load,
    /// True: nothing is printed while it lasts.
    pub quiet: bool,
}

/// What came of it.
pub struct Outcome {
    pub rows: Vec<Row>,
    pub found: Found,
    /// True: a signal ended it.
    pub interrupted: bool,
    /// What [`CLIENT`] and [`SERVER`] were doing; nothing where that was not sampled.
    pub profiles: Profiles,
}

/// Profiles by their ends.
pub type Profiles = BTreeMap<usize, Profile>;
/// All clients.
pub const CLIENT: usize = 0;
/// The server.
pub const SERVER: usize = 1;

impl Test<'_> {
    /// Makes the test. `profiler`: samples what both ends do, as far as they are here.
    ///
    /// # Errors
    /// [`Failure`] where an endpoint fails; others where this machine does.
    pub fn run(&self, server: &mut Server, mut profiler: Option<&mut Profiler>) -> Result<Outcome> {
        let settings = self.settings;
        let port = self.setup.udp_port(settings);
        let ended_before = usage::of_ended_children();
        let server_before = server.sample(true, true, port)?;
        if let Some(profiler) = &mut profiler {
            profiler.start()?;
        }
        let mut machine = Machine::new();
        let start = Instant::now();
        let mut clients = self.start_clients(server)?;
        let mut roots: Vec<_> = clients.iter().map(|client| (client.endpoint.process(), CLIENT)).collect();
        roots.extend(server.process().map(|process| (process, SERVER)));
        let zero = Sample { cpu_user_ns: Some(0), cpu_system_ns: Some(0), ..Sample::default() };
        let mut before = Reading { at_seconds: 0.0, clients: vec![zero; clients.len()], server: server_before };
        set_drops(&mut before.clients, client_drops(server, port));
        // Losses are those of the newest connection, which is to come.
        if let Some(server) = &mut before.server {
            server.newest.lost = server.newest.lost.map(|_| 0);
        }
        let mut shown = before.clone();
        let mut rows = Vec::new();
        let step = Duration::from_secs_f64(settings.interval);
        let mut due = step;
        let (mut path_summary, mut moved_bytes) = (start + HANDSHAKE, 0);
        let mut interrupted = false;
        let mut drops = before.clients[0].socket_drops;
        let mut rest: Option<(Instant, u64)> = None;
        let mut seen = false;
        let mut after;
        loop {
            thread::sleep(POLL_INTERVAL);
            if let Some(profiler) = &mut profiler {
                profiler.take(&roots);
            }
            let is_due = start.elapsed() >= due;
            // Once early, so that the memory of short tests is known, too.
            let is_first = !seen && start.elapsed() >= EARLY;
            seen |= is_first;
            after = self.read(server, &mut clients, start, is_due || is_first)?;
            // Sockets that are closed no longer say it.
            drops = drops.max(client_drops(server, port));
            set_drops(&mut after.clients, drops);
            let bytes: u64 = self.load.directions().iter().map(|direction| after.bytes(*direction)).sum();
            if bytes > moved_bytes {
                (path_summary, moved_bytes) = (Instant::now(), bytes);
            }
            let mut running = false;
            for client in &mut clients {
                match client.endpoint.poll()? {
                    None => running = true,
                    Some(Exit::Status(0)) => {}
                    Some(exit) => {
                        // A client whose server has died often dies of that.
                        server.sample(false, false, port)?;
                        return Err(Failure(self.refused(exit)).into());
                    }
                }
            }
            if is_due && running {
                machine.look();
                rows.push(self.show(row(&shown, &after, self.load), rows.is_empty())?);
                shown = after.clone();
                due += step;
            }
            if self.setup.stop.load(Ordering::Relaxed) {
                interrupted = true;
                break;
            }
            if !running {
                // What is on the way still arrives; the counters of clients rest already.
                let (since, at) = *rest.get_or_insert((Instant::now(), bytes));
                if at != bytes {
                    rest = Some((Instant::now(), bytes));
                } else if since.elapsed() > REST {
                    break;
                }
            } else if Instant::now().saturating_duration_since(path_summary) > STALL {
                return Err(Failure(stalled(&after, self.load.directions()[0])).into());
            }
        }
        if interrupted {
            // The last look may be without CPU times.
            after = self.read(server, &mut clients, start, true)?;
            set_drops(&mut after.clients, drops);
        } else {
            after.server = server.sample(false, true, port)?;
            let used = usage::of_ended_children().zip(ended_before);
            let used = used.map(|(now, then)| (now.user_ns - then.user_ns, now.system_ns - then.system_ns));
            // Known for all of them together.
            for (number, client) in after.clients.iter_mut().enumerate() {
                let share = |value: u64| if number == 0 { value } else { 0 };
                client.cpu_user_ns = used.map(|(user, _)| share(user));
                client.cpu_system_ns = used.map(|(_, system)| share(system));
            }
        }
        let profiles = profiler.map(|profiler| profiler.stop(&roots)).transpose()?.unwrap_or_default();
        for client in clients {
            client.endpoint.end();
        }
        let until = rest.map_or(after.at_seconds, |(since, _)| since.duration_since(start).as_secs_f64());
        if until - shown.at_seconds > LAST_INTERVAL * settings.interval {
            rows.push(self.show(row(&shown, &ended(&after, until), self.load), rows.is_empty())?);
        }
        let latencies = if interrupted { None } else { Some(latencies(self.setup, &after, self.load)?) };
        let mut found = found(&before, &after, self.load, latencies);
        found.note(machine.notes());
        found.note(self.setup.origins.clone());
        if let (Transport::Tcp, Found::Bytes(summary)) = (self.setup.transport, &mut found) {
            let note = "TCP: segments sent again are counted as lost; there are no datagrams to drop";
            summary.notes.push(note.to_owned());
        }
        Ok(Outcome { rows, found, interrupted, profiles })
    }

    /// Prints a row where that is wanted.
    fn show(&self, row: Row, is_first: bool) -> Result<Row> {
        if !self.quiet {
            self.setup.hooks.print(&show::row(&row, self.load, is_first))?;
        }
        Ok(row)
    }

    fn refused(&self, exit: Exit) -> String {
        let (load, stack) = (self.load.name(), self.setup.client.as_ref());
        match (exit, load.zip(stack)) {
            (Exit::Status(127), Some((load, stack))) => format!(
                "the client's stack, {}, does not have this load (QUICLAB_PERF_LOAD={load}), or another thing that is asked of it: \
                 exit status 127",
                stack.title()
            ),
            _ => refused("client", exit),
        }
    }

    fn start_clients(&self, server: &Server) -> Result<Vec<End>> {
        let settings = self.settings;
        let each = settings.bytes.map(|bytes| bytes.as_bytes().div_ceil(settings.streams));
        let large = each.unwrap_or(WITHOUT_END);
        let (request, response) = match self.load {
            Load::Bulk(Direction::ClientSends) => (large.max(HEAD), 0),
            Load::Bulk(Direction::ServerSends) => (HEAD, large),
            Load::Bidirectional => (large.max(HEAD), large),
            Load::Requests(sizes) => (sizes.request_bytes, sizes.response_bytes),
            Load::Handshakes => (HEAD, 0),
        };
        let mut more = vec![
            ("REQUESTS", urls(server.host(settings), settings.port, settings.streams)),
            ("QUICLAB_PERF_REQUEST", request.to_string()),
            ("QUICLAB_PERF_RESPONSE", response.to_string()),
            ("QUICLAB_IP", server.ip(settings.ipv6).to_owned()),
        ];
        if settings.bytes.is_none() {
            more.push(("QUICLAB_PERF_DURATION", format!("{:.0}", settings.seconds * 1000.0)));
        }
        if let Some(load) = self.load.name() {
            more.push(("QUICLAB_PERF_LOAD", load.to_owned()));
        }
        let stack = self.setup.client.as_ref().context("no client")?;
        (1..=settings.connections)
            .map(|number| {
                let name = client_name(number);
                let mut more = more.clone();
                if self.load.counted().is_some() {
                    let file = latencies_file(self.setup, &name);
                    let _ = fs::remove_file(&file);
                    more.push(("QUICLAB_PERF_LATENCIES", file.display().to_string()));
                }
                End::start(settings, self.setup, stack, Role::Client, &name, &more)
            })
            .collect()
    }

    fn read(&self, server: &mut Server, clients: &mut [End], start: Instant, with_cpu: bool) -> Result<Reading> {
        let mut samples = Vec::new();
        for client in clients {
            client.read().map_err(|error| Failure(format!("the client: {error:#}")))?;
            samples.push(client.sample(with_cpu));
        }
        let server = server.sample(false, with_cpu, self.setup.udp_port(self.settings))?;
        Ok(Reading { at_seconds: start.elapsed().as_secs_f64(), clients: samples, server })
    }
}

/// Name of a client's folder for logs; clients are counted from 1.
pub fn client_name(number: u64) -> String {
    if number == 1 { "client".to_owned() } else { format!("client-{number}") }
}

/// A reading at its last bytes: what the ends wrote while nothing came any more is no time of the test.
fn ended(after: &Reading, at_seconds: f64) -> Reading {
    let at_last = |sample: &Sample| {
        let Sample { newest, last, .. } = *sample;
        let newest = Progress { rtt_ns: newest.rtt_ns, window: newest.window, lost: newest.lost, ..last };
        Sample { newest, ..*sample }
    };
    Reading {
        at_seconds,
        clients: after.clients.iter().map(at_last).collect(),
        server: after.server.as_ref().map(at_last),
    }
}

/// Drops at the sockets of all clients together, as their ports are not known. `None`: there are none, or others are
/// in this network namespace.
fn client_drops(server: &Server, udp_port: Option<u16>) -> Option<u64> {
    match server {
        Server::Own(..) => udp_port.and_then(usage::socket_drops).map(|(_, others)| others),
        _ => None,
    }
}

/// Counts those of all at the first.
fn set_drops(clients: &mut [Sample], drops: Option<u64>) {
    for (number, client) in clients.iter_mut().enumerate() {
        client.socket_drops = if number == 0 { drops } else { drops.map(|_| 0) };
    }
}

fn stalled(reading: &Reading, direction: Direction) -> String {
    let unknown = || "unknown".to_owned();
    let line = reading.sender(direction).map(|sample| sample.newest).unwrap_or_default();
    format!(
        "nothing has arrived for {} s, after {} bytes; the sender has handed {} bytes to its stack (RTT {}, window {}, lost {})\n\
         hint: a limit of flow control that is not raised, or a path that is gone; what the endpoints printed:",
        STALL.as_secs(),
        reading.bytes(direction),
        line.sent,
        line.rtt_ns.map_or_else(unknown, show::milliseconds),
        line.window.map_or_else(unknown, |window| format!("{window} bytes")),
        line.lost.map_or_else(unknown, |lost| format!("{lost} packets")),
    )
}
