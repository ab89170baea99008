//! What `quiclab doctor --hosts` finds out: each host by itself, and then whether packets pass between them.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use quiclab_agent_protocol::{
    hosts::{Answer, HostFacts, Part, Request},
    network::Network,
    orders::{Listen, Orders, Program, Transfer, Transport},
};
use quiclab_record::OffsetSeen;

use super::{
    clocks,
    inventory::{HostEntry, Inventory, Role},
    run::{Cast, macs},
    session::Visitor,
    talk::{Limit, Reply, Sessions, Trouble, check},
    testbed::who,
};
use crate::{guest::agent::agent, hash};

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Requests by which the round trip of a session is measured.
const PINGS: usize = 10;

/// What was found.
#[derive(Debug)]
pub struct Checkup {
    /// Each host, in the order of the inventory.
    pub hosts: Vec<HostCheckup>,
    /// What packets from the client's host to the server's and back say of the clocks, or why there are none. `None` where a host cannot be
    /// used, so that nothing was tried.
    pub link: Option<Result<OffsetSeen, String>>,
}

/// One host.
#[derive(Debug)]
pub struct HostCheckup {
    /// Its role, and how ssh finds it.
    pub label: String,
    /// Whether `sudo` makes the agent root.
    pub by_sudo: bool,
    /// The interfaces that the inventory names.
    pub interfaces: Vec<String>,
    /// What it is; or what ssh or its agent said.
    pub found: Result<Reached, String>,
}

/// A host whose agent answers.
#[derive(Debug)]
pub struct Reached {
    /// What its agent says.
    pub facts: HostFacts,
    /// Whether the agent had been copied before.
    pub had_agent: bool,
    /// Time from a request to its answer, over the session: the shortest one.
    pub round_trip: Duration,
    /// Why no run can happen there; `None` where one can.
    pub unfit: Option<String>,
}

/// Looks at the hosts of an inventory.
///
/// # Errors
/// Where the file makes no sense, or this machine lacks the agent.
pub fn look(file: &Path) -> Result<Checkup> {
    let inventory = Inventory::read(file)?;
    let agent = agent()?;
    let digest = hash::of_file(&agent).with_context(|| agent.display().to_string())?;
    let (who, ssh_config) = (who(), inventory.ssh_config.as_deref());
    let visitor = Visitor { agent: &agent, digest: &digest, who: &who, ssh_config };
    let hosts: Vec<HostCheckup> = thread::scope(|scope| {
        let looking = inventory.hosts.iter().map(|entry| {
            let visitor = &visitor;
            (entry, scope.spawn(move || look_at(entry, visitor)))
        });
        let looking: Vec<_> = looking.collect();
        let found = looking.into_iter().map(|(entry, thread)| {
            let found = thread.join().unwrap_or_else(|_| Err(anyhow!("looking at it panicked")));
            HostCheckup {
                label: entry.label(),
                by_sudo: entry.sudo,
                interfaces: inventory.place(entry).interfaces().into_iter().map(str::to_owned).collect(),
                found: found.map_err(|error| format!("{error:#}")),
            }
        });
        found.collect()
    });
    let is_fit = |host: &HostCheckup| host.found.as_ref().is_ok_and(|reached| reached.unfit.is_none());
    let link = hosts.iter().all(is_fit).then(|| try_link(&inventory, &visitor));
    Ok(Checkup { hosts, link })
}

fn look_at(entry: &HostEntry, visitor: &Visitor) -> Result<Reached> {
    let alone = Inventory { ssh_config: None, hosts: vec![entry.clone()] };
    let mut sessions = Sessions::open_whatever_they_are(&alone, visitor)?;
    let mut round_trip = Duration::MAX;
    for _ in 0..PINGS {
        let start = Instant::now();
        let asked = sessions.tell(0, &Request::Clock).and_then(|()| sessions.answer(0, Limit::after(TIMEOUT)));
        match asked.map_err(in_words)? {
            Reply::Answer(Answer::Clock { .. }) => round_trip = round_trip.min(start.elapsed()),
            other => return Err(in_words(sessions.unexpected(0, &other))),
        }
    }
    let facts = sessions.facts.remove(0);
    let unfit = check(&entry.label(), &facts).err().map(|error| format!("{error:#}"));
    Ok(Reached { had_agent: sessions.had_agent[0], facts, round_trip, unfit })
}

fn in_words(trouble: Trouble) -> anyhow::Error {
    match trouble {
        Trouble::Here(error) => error,
        Trouble::There(why) => anyhow!("{why}"),
    }
}

/// Builds the network of a run without endpoints, and exchanges packets over it.
fn try_link(inventory: &Inventory, visitor: &Visitor) -> Result<OffsetSeen, String> {
    let tried = || -> Result<OffsetSeen> {
        let mut sessions = Sessions::open(inventory, visitor)?;
        let found = exchange(inventory, &mut sessions);
        sessions.abort();
        found.map_err(in_words)
    };
    tried().map_err(|error| format!("{error:#}"))
}

fn exchange(inventory: &Inventory, sessions: &mut Sessions) -> Result<OffsetSeen, Trouble> {
    let places: Vec<_> = inventory.hosts.iter().map(|entry| inventory.place(entry)).collect();
    let cast = Cast::of(&places)?;
    let [server_mac, client_mac] = macs(sessions, &places, cast)?;
    let limit = Limit::after(TIMEOUT);
    let part = |host: usize| Part {
        place: places[host].clone(),
        orders: no_orders(),
        server_mac,
        client_mac,
        has_sniffer: cast.sniffer.is_some(),
        cpus: inventory.hosts[host].cores.clone(),
    };
    sessions.all_do(limit, |host| Request::Begin(Box::new(part(host))))?;
    sessions.tell(cast.server, &Request::Echo)?;
    sessions.done(cast.server, limit)?;
    let found = clocks::compare_all(sessions, cast.client, cast.sniffer, limit)?;
    let unlinked = || Trouble::There(clocks::unlinked(sessions, cast.client, cast.server));
    let offset = *found.get(&Role::Client).ok_or_else(unlinked)?;
    match cast.sniffer.filter(|_| !found.contains_key(&Role::Sniffer)) {
        Some(sniffer) => Err(Trouble::There(clocks::unmirrored(sessions, sniffer))),
        None => Ok(offset),
    }
}

/// Orders of a run in which no program starts.
fn no_orders() -> Orders {
    let nobody = Program {
        command: Vec::new(),
        environment: Default::default(),
        folder: "/logs".to_owned(),
        awaits_simulator: false,
        host: None,
    };
    Orders {
        machine: None,
        start_shift_ns: 0,
        network: Network::default(),
        has_ipv6: false,
        timer_slack_ns: 0,
        tap: None,
        transfer: Transfer { names: Vec::new(), size_bytes: 0, seed: 0, zeros: false, discard: false, timeout_ns: 0 },
        files: Vec::new(),
        server: nobody.clone(),
        client: nobody,
        listen: Listen { transport: Transport::Udp, port: 0, timeout_ns: 0 },
        log_limit_bytes: 1 << 20,
        cpus: Default::default(),
        cross_traffic: None,
        sampling: None,
        profile_period_ns: None,
    }
}
