//! This host's part of one run, as process 1 of new namespaces: what [`crate::run`] does by itself, step by step as quiclab asks for it.

mod observations;

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sched::{CpuSet, sched_setaffinity},
    sys::time::{TimeSpec, TimeValLike},
    unistd::{Pid, read},
};
use quiclab_agent_protocol::{
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    hosts::{Answer, Part, PlaceOfHost, Readiness, Request},
    orders::Program,
    places::{DOWNLOADS, LOGS, WWW},
    report::{Outcome, QdiscCounters, Report},
};

use super::{
    clocks, failed,
    links::{self, Between},
    restore_qdiscs::restore_qdiscs,
    say, sniffer, write_line,
};
use crate::{
    activity::{ROLES, Sampler, events::Events},
    clock::Difference,
    counters,
    cpu::{Meter, Used},
    drop_list::DropList,
    endpoint::Endpoint,
    forwarder::Forwarder,
    namespace::Namespace,
    root::Root,
    run::{self, empty_report, ring_bytes, wait_until_listening},
    sandbox::Sandbox,
    serve::{answer, roots},
    simulator,
    tap::{Keeps, Tap},
    topology,
};

/// Performs it, until quiclab ends it.
///
/// # Errors
/// Where nobody reads the answers any more.
pub(super) fn perform(part: &Part, agent: u32, requests: BorrowedFd) -> Result<()> {
    let performed = Built::build(part, agent).and_then(|built| {
        say(&Answer::Done)?;
        Running::new(part, &built, requests).serve().map_err(|error| {
            match run::without_interface(built.namespaces().map(|namespace| &namespace.network)) {
                Some(role) => error.context(format!("the {role} took away the interface of its own network")),
                None => error,
            }
        })
    });
    match performed {
        Ok(()) => Ok(()),
        Err(error) => say(&failed(&error)),
    }
}

/// An endpoint's surroundings.
struct EndpointNamespace {
    network: Namespace,
    root: Root,
}

/// What of the run is on this host.
struct Built {
    server: Option<EndpointNamespace>,
    client: Option<EndpointNamespace>,
    between: Between,
}

impl Built {
    fn build(part: &Part, agent: u32) -> Result<Self> {
        pin(&part.cpus)?;
        links::check(&part.place)?;
        let orders = &part.orders;
        roots::prepare(orders)?;
        let [server_users, client_users] = roots::users(agent)?;
        let sandbox = |is_here: bool, role, users| is_here.then(|| Sandbox::create(role, users)).transpose();
        let server = sandbox(part.place.has_server(), "server", server_users)?;
        let client = sandbox(part.place.has_client(), "client", client_users)?;
        let [server_network, client_network] = [&server, &client].map(|one| one.as_ref().map(|(_, network)| network));
        let between = links::build(part, server_network, client_network, roots::settling(orders))?;
        let namespace = |made: Option<(Sandbox, Namespace)>, own: &str, program: &Program| {
            made.map(|(sandbox, network)| {
                let files = program.host.clone().unwrap_or_default();
                let root = roots::root(sandbox, own, &files, &network, orders.log_limit_bytes);
                let root = root.with_context(|| format!("the {}'s files", network.name))?;
                anyhow::Ok(EndpointNamespace { network, root })
            })
            .transpose()
        };
        let built = Self {
            server: namespace(server, WWW, &orders.server)?,
            client: namespace(client, DOWNLOADS, &orders.client)?,
            between,
        };
        roots::forget_host()?;
        run::lay_out_files(orders)?;
        Ok(built)
    }

    fn namespaces(&self) -> impl Iterator<Item = &EndpointNamespace> {
        self.server.iter().chain(&self.client)
    }

    /// What shapes the path, if it is here.
    fn wire(&self, place: &PlaceOfHost) -> Option<&Namespace> {
        place.has_wire().then_some(&self.between.namespace)
    }
}

/// Keeps this process and all that it starts on some CPUs.
fn pin(cpus: &[usize]) -> Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu).with_context(|| format!("cores: found {cpu}"))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("cores: this host does not have all of {cpus:?}"))
}

struct Running<'a> {
    part: &'a Part,
    built: &'a Built,
    requests: BorrowedFd<'a>,
    /// What was read of requests and is no whole line yet.
    bytes: Vec<u8>,
    taps: Vec<Tap>,
    /// Tap for the packets by which clocks are compared.
    overhearing: Option<Tap>,
    drop_list: Option<DropList>,
    forwarder: Option<Forwarder>,
    server: Option<Endpoint>,
    client: Option<Client>,
    /// Events that were announced already.
    has_announced: Announced,
    clock: Option<Difference>,
    /// Events of the server, from its start on.
    events: Events,
    sampler: Option<Result<Sampler>>,
    /// What was sampled, as JSON.
    activity: Option<Vec<u8>>,
    is_settled: bool,
    report: Report,
}

#[derive(Default)]
struct Announced {
    server_gone: bool,
    path_failed: bool,
}

struct Client {
    endpoint: Endpoint,
    start: Instant,
    used_before: Used,
}

impl<'a> Running<'a> {
    fn new(part: &'a Part, built: &'a Built, requests: BorrowedFd<'a>) -> Self {
        Self {
            part,
            built,
            requests,
            bytes: Vec::new(),
            taps: Vec::new(),
            overhearing: None,
            drop_list: None,
            forwarder: None,
            server: None,
            client: None,
            has_announced: Announced::default(),
            clock: None,
            events: Events::default(),
            sampler: None,
            activity: None,
            is_settled: false,
            report: Report { outcome: Outcome::Done, ..empty_report() },
        }
    }

    fn serve(mut self) -> Result<()> {
        loop {
            match self.next()? {
                Request::Echo => clocks::echo(&self.server_namespace()?.network).and_then(|()| say(&Answer::Done))?,
                Request::Compare { exchanges } => {
                    let exchanges = clocks::compare(&self.client_namespace()?.network, exchanges)?;
                    say(&Answer::Exchanges { exchanges })?;
                }
                Request::Overhear => {
                    self.overhearing = Some(self.mirror()?.overhear()?);
                    say(&Answer::Done)?;
                }
                Request::Overheard => {
                    let tap = self.overhearing.take().context("found nothing to overhear")?;
                    tap.stop()?;
                    say(&Answer::Exchanges { exchanges: sniffer::overheard(&tap)? })?;
                }
                Request::Shape => self.shape().and_then(|()| say(&Answer::Done))?,
                Request::Listen => {
                    let readiness = self.listen()?;
                    say(&Answer::Started { readiness })?;
                }
                Request::Forward => {
                    if let Some(forwarder) = &mut self.forwarder {
                        forwarder.start()?;
                    }
                    say(&Answer::Done)?;
                }
                Request::Fetch => self.fetch()?,
                // It ends by itself where that comes first; then this has been answered already.
                Request::Stop if self.client.is_none() => {}
                Request::Stop => self.end_client(false)?,
                Request::Drain => {
                    let longest_delay = Duration::from_nanos(self.part.orders.network.longest_delay_ns);
                    self.report.drained |= run::drain(longest_delay, self.forwarder.as_ref(), || self.qdiscs())?;
                    say(&Answer::Done)?;
                }
                Request::Sample => {
                    self.sample()?;
                    say(&Answer::Done)?;
                }
                Request::StopSampling => {
                    self.stop_sampling();
                    say(&Answer::Done)?;
                }
                Request::Settle => {
                    self.settle()?;
                    let wire = self.built.wire(&self.part.place);
                    let server = self.built.server.as_ref().map(|namespace| &namespace.network);
                    restore_qdiscs(&self.part.orders.network, server, wire)?;
                    say(&Answer::Done)?;
                }
                Request::Finish => return self.finish(),
                other => bail!("found the request {other:?} during a run"),
            }
        }
    }

    fn server_namespace(&self) -> Result<&'a EndpointNamespace> {
        self.built.server.as_ref().context("the server is not on this host")
    }

    fn client_namespace(&self) -> Result<&'a EndpointNamespace> {
        self.built.client.as_ref().context("the client is not on this host")
    }

    /// The next request. Says meanwhile what has happened.
    fn next(&mut self) -> Result<Request> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                return serde_json::from_slice(&line).context("a request of quiclab");
            }
            let [requests, server, path, client] = self.wait()?;
            if client {
                self.end_client(true)?;
            }
            if server {
                self.has_announced.server_gone = true;
                say(&Answer::ServerGone)?;
            }
            if path {
                self.has_announced.path_failed = true;
                say(&Answer::PathFailed)?;
            }
            if requests {
                let mut chunk = [0; 1 << 12];
                let count = read(self.requests, &mut chunk).context("requests")?;
                ensure!(count > 0, "the agent has ended");
                self.bytes.extend(&chunk[..count]);
            }
        }
    }

    /// Waits until there is something of: requests, the server's end, the forwarder's failure, the client's end or the end of its time.
    fn wait(&self) -> Result<[bool; 4]> {
        let server = self.server.as_ref().filter(|_| !self.has_announced.server_gone).map(Endpoint::watch);
        let path = self.forwarder.as_ref().filter(|_| !self.has_announced.path_failed).map(Forwarder::watch);
        let client = self.client.as_ref().map(|client| client.endpoint.watch());
        let all = [Some(self.requests), server, path, client];
        let mut watched: Vec<_> =
            all.iter().flatten().map(|descriptor| PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)).collect();
        let left = self.client.as_ref().map(|client| self.timeout().saturating_sub(client.start.elapsed()));
        let limit = left.map(|left| TimeSpec::nanoseconds(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)));
        match ppoll(&mut watched, limit, None) {
            Err(nix::errno::Errno::EINTR) => return Ok([false; 4]),
            result => result.context("waiting")?,
        };
        let mut results = watched.iter().map(|one| one.any().unwrap_or(false));
        let mut found = all.map(|one| one.is_some() && results.next().unwrap_or(false));
        found[3] |= left.is_some_and(|left| left.is_zero());
        Ok(found)
    }

    fn timeout(&self) -> Duration {
        Duration::from_nanos(self.part.orders.transfer.timeout_ns)
    }

    fn shape(&mut self) -> Result<()> {
        let orders = &self.part.orders;
        let network = &orders.network;
        if let Some(namespace) = &self.built.server {
            topology::install(&namespace.network, HOST_INTERFACE, &network.server)?;
        }
        let [server, client] = [&self.built.server, &self.built.client]
            .map(|namespace| namespace.as_ref().map(|namespace| &namespace.network));
        topology::route_tcp(network, server, client)?;
        let wire = self.built.wire(&self.part.place);
        if let Some(wire) = wire {
            topology::install(wire, TO_CLIENT, &network.to_client)?;
            topology::install(wire, TO_SERVER, &network.to_server)?;
            self.drop_list = topology::drop_to_server(wire, network)?;
        }
        let between = &self.built.between;
        let endpoints = self.built.namespaces().map(|namespace| (&namespace.network, HOST_INTERFACE));
        for (namespace, interface) in endpoints.chain(between.veths.iter().map(|name| (&between.namespace, *name))) {
            let (name, found) = topology::switch_segmentation_off(namespace, interface)?;
            self.report.offloads.insert(name, found);
        }
        if let (Some(wire), Some(order)) = (wire, &network.forwarder) {
            topology::stop_forwarding(wire)?;
            self.forwarder = Some(Forwarder::open(order, Vec::new(), wire)?);
        }
        self.open_taps()?;
        self.clock = Some(Difference::now()?);
        Ok(())
    }

    fn open_taps(&mut self) -> Result<()> {
        let orders = &self.part.orders;
        let Some(tap) = &orders.tap else { return Ok(()) };
        let size = run::bytes_on_taps(orders, tap.room_bytes);
        if matches!(self.part.place, PlaceOfHost::Sniffer { .. }) {
            let ring_bytes = ring_bytes(size, tap.snaplen_bytes);
            self.taps.push(self.mirror()?.tap("sender", tap.snaplen_bytes, ring_bytes)?);
        }
        let sender = self.built.server.as_ref().filter(|_| !self.part.has_sniffer);
        for (name, namespace, kept) in [
            ("sender", sender, tap.snaplen_bytes),
            ("behind-bottleneck", self.built.client.as_ref(), tap.bottleneck_snaplen_bytes),
        ] {
            if let Some(namespace) = namespace {
                let keeps = Keeps { bytes: kept, headers_of_cross_traffic: false };
                let open = || Tap::open(name, HOST_INTERFACE, keeps, ring_bytes(size, kept), false);
                self.taps.push(namespace.network.inside(open)?);
            }
        }
        Ok(())
    }

    fn start(&self, program: &Program, namespace: &EndpointNamespace) -> Result<Endpoint> {
        if program.awaits_simulator {
            simulator::answer(&namespace.network)?;
        }
        Endpoint::start(program, self.part.orders.timer_slack_ns, &[], None, &namespace.network, &namespace.root)
    }

    fn listen(&mut self) -> Result<Readiness> {
        let (orders, namespace) = (&self.part.orders, self.server_namespace()?);
        let server = self.start(&orders.server, namespace)?;
        if orders.sampling.is_some() {
            self.events.attach(ROLES[0], server.process());
        }
        let readiness = wait_until_listening(&server, &namespace.network, orders.listen)?;
        // Where it has ended this answer says so.
        self.has_announced.server_gone = readiness == Readiness::Ended;
        self.server = Some(server);
        Ok(readiness)
    }

    fn fetch(&mut self) -> Result<()> {
        let namespace = self.client_namespace()?;
        sleep(Duration::from_nanos(self.part.orders.start_shift_ns));
        self.sample()?;
        let used_before = Meter::Endpoints.used()?;
        let start = Instant::now();
        let endpoint = self.start(&self.part.orders.client, namespace)?;
        if let Some(Ok(sampler)) = &self.sampler {
            sampler.watch_client(endpoint.process());
        }
        self.client = Some(Client { endpoint, start, used_before });
        Ok(())
    }

    /// Ends the client: by itself it has ended, or its time is over.
    fn end_client(&mut self, by_itself: bool) -> Result<()> {
        let Some(Client { endpoint, start, used_before }) = self.client.take() else { return Ok(()) };
        let elapsed = start.elapsed();
        let has_ended = by_itself && endpoint.has_ended()?;
        self.report.client_lifetime_ns = Some(elapsed.as_nanos() as u64);
        self.report.cpu_use = Some(Meter::Endpoints.used()?.since(&used_before, elapsed));
        self.stop_sampling();
        let end = endpoint.end(&self.client_namespace()?.root)?;
        self.report.outcome = if has_ended { run::of_ended_client(end.exit_code) } else { Outcome::ClientTimeout };
        self.report.client = Some(end);
        say(&Answer::Ended)
    }

    fn qdiscs(&self) -> Result<Vec<QdiscCounters>> {
        let mut all = Vec::new();
        for namespace in self.built.namespaces() {
            all.extend(counters::at(&namespace.network, &[HOST_INTERFACE])?);
        }
        if let Some(wire) = self.built.wire(&self.part.place) {
            all.extend(counters::at(wire, &[TO_SERVER, TO_CLIENT])?);
        }
        Ok(all)
    }

    /// Ends what is left of the run, and reads all counters. Once is enough.
    fn settle(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(());
        }
        self.stop_sampling();
        if let Some(server) = self.server.take() {
            let end = server.end(&self.server_namespace()?.root)?;
            if self.has_announced.server_gone {
                self.report.outcome = run::of_ended_server(end.exit_code);
            }
            self.report.server = Some(end);
        }
        let forwarded = run::finish_forwarder(self.forwarder.take(), &mut self.report);
        self.report.qdiscs = self.qdiscs()?;
        self.report.drops_to_server = self.drop_list.as_ref().map(DropList::counted).transpose()?;
        self.report.taps = run::stop_all(&mut self.taps)?;
        let not_stamped = self.note_stamps()?;
        let clock = self.clock.map_or(Ok(()), |before| Difference::now()?.check_since(before));
        if let Err(error) = forwarded.and(clock).and(not_stamped) {
            self.report.outcome = Outcome::AgentFailed { error: format!("{error:#}") };
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.settle()?;
        let logs =
            self.built.namespaces().map(|namespace| (namespace.network.name, namespace.root.outside(LOGS))).collect();
        let finished = run::Finished { report: self.report, taps: self.taps, activity: self.activity, logs };
        answer::of_run_by(finished, &self.part.orders, &mut io::stdout(), |manifest, output| {
            write_line(&Answer::Results(Box::new(manifest)), output)
        })
    }
}
