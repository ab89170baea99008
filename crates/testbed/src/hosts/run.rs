//! Performs one run on several hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    hosts::{Answer, HostFacts, Part, PlaceOfHost, Readiness, Request},
    orders::{HostFiles, Orders},
    report::Outcome,
    slot,
};
use quiclab_experiment::run::{Run, Versions};
use quiclab_record::{OffsetSeen, Seen};
use quiclab_units::Duration;

use super::{
    NAME,
    clocks::{self, Compared},
    inventory::{Inventory, Role},
    merge::{self, Corrections, Handed},
    talk::{Limit, Reply, Sessions, Trouble},
};
use crate::{
    collect::RunFailure,
    hash::Hasher,
    netns::{
        collected::{SLOT, collect},
        host::Algorithms,
        plain::{PlainStack, names},
        run::{built, orders_by},
        tcp,
    },
    perform::{Host, HostUse, Sides},
    testbed::{Attempt, CLOCK_VERSION, Place, TESTBED_VERSION, WALL_CLOCK},
};

/// The places of the hosts in the inventory.
#[derive(Clone, Copy)]
pub(super) struct Cast {
    /// The host with the server.
    pub server: usize,
    wire: Option<usize>,
    /// The host with the client.
    pub client: usize,
    /// The host at a mirror port.
    pub sniffer: Option<usize>,
}

impl Cast {
    /// Finds who is who by what the hosts do.
    ///
    /// # Errors
    /// Without a server or a client.
    pub fn of(places: &[PlaceOfHost]) -> Result<Self> {
        let find = |is: fn(&PlaceOfHost) -> bool| places.iter().position(is);
        Ok(Self {
            server: find(PlaceOfHost::has_server).context("no host with the server")?,
            wire: find(|place| matches!(place, PlaceOfHost::Wire { .. })),
            client: find(PlaceOfHost::has_client).context("no host with the client")?,
            sniffer: find(|place| matches!(place, PlaceOfHost::Sniffer { .. })),
        })
    }

    /// The host that shapes the path.
    fn shaping(self) -> usize {
        self.wire.unwrap_or(self.server)
    }
}

/// What the kernels of the hosts that need it lack: the disciplines of the path and of the server.
pub(super) fn lacks(inventory: &Inventory, sessions: &Sessions) -> BTreeSet<String> {
    let hosts = inventory.hosts.iter().zip(&sessions.facts);
    let shaping = hosts.filter(|(entry, _)| matches!(entry.role, Role::Server | Role::Wire));
    shaping.flat_map(|(_, facts)| facts.missing_disciplines.iter().cloned()).collect()
}

/// What the hosts are told, with TCP as the kernels of both endpoints have it.
fn orders_of(run: &Run, sides: Sides<PlainStack>, inventory: &Inventory, sessions: &Sessions) -> Result<Orders> {
    let mut orders = orders_by(run, sides, &lacks(inventory, sessions))?;
    let common = |of: fn(&HostFacts) -> &[String]| {
        let hosts = inventory.hosts.iter().zip(&sessions.facts);
        let endpoints = hosts.filter(|(entry, _)| matches!(entry.role, Role::Server | Role::Client));
        let sets = endpoints.map(|(_, facts)| of(facts));
        let sets = sets.map(|names| names.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|one, other| &one & &other).unwrap_or_default()
    };
    let known =
        Algorithms { available: common(|facts| &facts.tcp_available), allowed: common(|facts| &facts.tcp_allowed) };
    tcp::choose(run, sides.server.manifest, &known, &mut orders)?;
    Ok(orders)
}

/// What a run between these stacks is made with: part of its identity.
///
/// # Errors
/// Where a part cannot be read.
pub(super) fn versions(
    run: &Run,
    sides: Sides<PlainStack>,
    inventory: &Inventory,
    sessions: &Sessions,
    agent_digest: &str,
) -> Result<Versions> {
    // As on the other testbeds, repetitions are made with the same versions.
    let first = Run { seed: 0, start_shift: Default::default(), ..run.clone() };
    let orders = slot::encode_orders(&orders_of(&first, sides, inventory, sessions)?)?;
    let mut versions = Versions::from([
        (TESTBED_VERSION.into(), NAME.into()),
        (CLOCK_VERSION.into(), WALL_CLOCK.into()),
        ("orders".into(), Hasher::default().part(&orders).short()),
        ("agent".into(), agent_digest.chars().take(16).collect()),
        ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    for (entry, facts) in inventory.hosts.iter().zip(&sessions.facts) {
        let role = entry.role;
        versions.insert(format!("{role}_kernel"), facts.kernel.clone());
        versions.insert(format!("{role}_cpus"), cpus(&facts.cpus, &entry.cores));
        versions.insert(format!("{role}_socket_buffers"), facts.socket_buffers.clone());
        let place = inventory.place(entry);
        let cards = place.interfaces().into_iter().map(|name| {
            let card = facts.interfaces.iter().find(|card| card.name == name);
            card.and_then(|card| card.driver.clone()).unwrap_or_else(|| "unknown".to_owned())
        });
        versions.insert(format!("{role}_cards"), cards.collect::<Vec<_>>().join(" "));
    }
    let Sides { server, client } = sides;
    let sides = Sides { server: built(server), client: built(client) };
    for (role, side) in sides.different() {
        side.add_versions(role, &mut versions)?;
    }
    Ok(versions)
}

fn cpus(all: &str, cores: &[usize]) -> String {
    if cores.is_empty() { all.to_owned() } else { format!("{all}, cores {cores:?}") }
}

/// Performs `run` and writes what happened.
///
/// # Errors
/// Where something cannot be written here, or an interruption.
pub(super) fn perform(
    run: &Run,
    sides: Sides<PlainStack>,
    inventory: &Inventory,
    sessions: &mut Sessions,
    place: Place,
    host: &Host,
) -> Result<Attempt> {
    let lacks = lacks(inventory, sessions);
    let orders = orders_of(run, sides, inventory, sessions)?;
    let broken = |why| Attempt { failure: Some(RunFailure::Agent(why)), seen: None, host_use: HostUse::default() };
    sessions.spool_into(place.work, &orders);
    let start = Instant::now();
    let performed = Performance { orders: &orders, inventory, limit: Limit::of_run(host) }.perform(sides, sessions);
    let (handed, cast, outcome, clocks) = match performed {
        Ok(performed) => performed,
        Err(trouble) => {
            sessions.abort();
            return match trouble {
                Trouble::Here(error) => Err(error),
                Trouble::There(why) => Ok(broken(why)),
            };
        }
    };
    let report_of = |index: usize| &handed[index].manifest.report;
    let report = merge::report(
        outcome,
        report_of(cast.server),
        cast.wire.map(report_of),
        report_of(cast.client),
        cast.sniffer.map(report_of),
    );
    let server_cpu = report_of(cast.server).cpu_use;
    let slot_path = place.work.join(SLOT);
    let mut handed = handed;
    let length = Duration::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let clocks = clocks.map(|compared| clocks::of_run(compared, length, inventory, sessions));
    let clock_of = |role: Role| clocks.as_ref().and_then(|clocks| clocks.compared.get(&role.to_string()));
    let places: Vec<_> = inventory.hosts.iter().map(|entry| inventory.place(entry)).collect();
    let [server_mac, _] = macs(sessions, &places, cast)?;
    let corrections = Corrections {
        client: clock_of(Role::Client),
        sniffer: clock_of(Role::Sniffer),
        sniffed: cast.sniffer.map(|_| server_mac),
    };
    merge::write(&slot_path, report, &mut handed, corrections)?;
    let (failure, mut observed) = match collect(NAME, run, &orders, &lacks, place, "what the hosts did")? {
        Ok(collected) => collected,
        Err(why) => return Ok(broken(why)),
    };
    observed.clocks = clocks;
    // The client's report has that of the client's host alone.
    if server_cpu.is_none() {
        observed.server.cpu_use = None;
    }
    Ok(Attempt { failure, seen: Some(Seen::Transfer(Box::new(observed))), host_use: HostUse::default() })
}

/// What the performance of a run needs.
struct Performance<'a> {
    orders: &'a Orders,
    inventory: &'a Inventory,
    limit: Limit<'a>,
}

type Performed = (Vec<Handed>, Cast, Outcome, Option<BTreeMap<String, Compared>>);

impl Performance<'_> {
    fn perform(&self, sides: Sides<PlainStack>, sessions: &mut Sessions) -> Result<Performed, Trouble> {
        let limit = self.limit;
        (sessions.server_gone, sessions.path_failed) = (false, false);
        let places: Vec<_> = self.inventory.hosts.iter().map(|entry| self.inventory.place(entry)).collect();
        let cast = Cast::of(&places)?;
        let parts = self.parts(sides, sessions, &places, cast)?;
        sessions.all_do(limit, |host| Request::Begin(Box::new(parts[host].clone())))?;
        let before = self.compare_clocks(sessions, cast)?;
        sessions.all_do(limit, |_| Request::Shape)?;
        let outcome = self.transfer(sessions, cast)?;
        // In this order: a path that is no longer there changes nothing of what has arrived, and a sniffer sees all that others do.
        let in_order: Vec<_> =
            (0..places.len()).rev().filter(|host| Some(*host) != cast.sniffer).chain(cast.sniffer).collect();
        let after = match outcome {
            None => {
                for host in &in_order {
                    sessions.tell(*host, &Request::Settle)?;
                    sessions.done(*host, limit)?;
                }
                clocks::compare_all(sessions, cast.client, cast.sniffer, limit)?
            }
            // Something has failed, and the record is not measured.
            Some(_) => Default::default(),
        };
        let compared = before.into_iter().map(|(role, before)| {
            let after = after.get(&role).copied();
            (role.to_string(), Compared { before, after })
        });
        let clocks = Some(compared.collect());
        let mut handed: Vec<Option<Handed>> = places.iter().map(|_| None).collect();
        for host in in_order {
            sessions.tell(host, &Request::Finish)?;
            handed[host] = Some(loop {
                match sessions.answer(host, limit)? {
                    Reply::Results(manifest, blobs) => break Handed { manifest: *manifest, blobs },
                    Reply::Answer(Answer::ServerGone) => {}
                    other => return Err(sessions.unexpected(host, &other)),
                }
            });
        }
        let handed: Vec<_> = handed.into_iter().flatten().collect();
        let outcome = self.outcome(outcome, &handed, cast);
        Ok((handed, cast, outcome, clocks))
    }

    fn parts(
        &self,
        sides: Sides<PlainStack>,
        sessions: &Sessions,
        places: &[PlaceOfHost],
        cast: Cast,
    ) -> Result<Vec<Part>> {
        let [server_mac, client_mac] = macs(sessions, places, cast)?;
        let mut parts = Vec::new();
        for (host, place) in places.iter().enumerate() {
            let folder = |stack: &PlainStack| -> Result<HostFiles> {
                let above = &sessions.facts[host].folder;
                let [root, files] = names(&stack.built)?.map(|name| Some(format!("{above}/roots/{name}")));
                Ok(HostFiles { root, stack: files })
            };
            let mut orders = self.orders.clone();
            if place.has_server() {
                orders.server.host = Some(folder(sides.server.stack)?);
            }
            if place.has_client() {
                orders.client.host = Some(folder(sides.client.stack)?);
            }
            let cpus = self.inventory.hosts[host].cores.clone();
            let has_sniffer = cast.sniffer.is_some();
            parts.push(Part { place: place.clone(), orders, server_mac, client_mac, has_sniffer, cpus });
        }
        Ok(parts)
    }

    /// Packets over the path as it is before anything shapes it.
    fn compare_clocks(&self, sessions: &mut Sessions, cast: Cast) -> Result<BTreeMap<Role, OffsetSeen>, Trouble> {
        sessions.tell(cast.server, &Request::Echo)?;
        sessions.done(cast.server, self.limit)?;
        let found = clocks::compare_all(sessions, cast.client, cast.sniffer, self.limit)?;
        if !found.contains_key(&Role::Client) {
            return Err(Trouble::There(clocks::unlinked(sessions, cast.client, cast.server)));
        }
        match cast.sniffer.filter(|_| !found.contains_key(&Role::Sniffer)) {
            Some(sniffer) => Err(Trouble::There(clocks::unmirrored(sessions, sniffer))),
            None => Ok(found),
        }
    }

    /// The client's and the server's lives. The outcome as far as it is known without their reports.
    fn transfer(&self, sessions: &mut Sessions, cast: Cast) -> Result<Option<Outcome>, Trouble> {
        sessions.tell(cast.server, &Request::Listen)?;
        match sessions.answer(cast.server, self.limit)? {
            Reply::Answer(Answer::Started { readiness: Readiness::Listens }) => {}
            Reply::Answer(Answer::Started { readiness: Readiness::Ended }) => return Ok(Some(Outcome::ServerEnded)),
            Reply::Answer(Answer::Started { readiness: Readiness::Neither }) => {
                return Ok(Some(Outcome::NeverListened));
            }
            // It ended as soon as it listened.
            Reply::Answer(Answer::ServerGone) => return Ok(Some(Outcome::ServerEnded)),
            other => return Err(sessions.unexpected(cast.server, &other)),
        }
        sessions.tell(cast.shaping(), &Request::Forward)?;
        sessions.done(cast.shaping(), self.limit)?;
        sessions.tell(cast.server, &Request::Sample)?;
        sessions.done(cast.server, self.limit)?;
        sessions.tell(cast.client, &Request::Fetch)?;
        let mut is_stopped = false;
        loop {
            match sessions.next(self.limit)? {
                (host, Reply::Answer(Answer::Ended)) if host == cast.client => break,
                (_, Reply::Answer(Answer::ServerGone)) => {
                    if !is_stopped {
                        sessions.tell(cast.client, &Request::Stop)?;
                        is_stopped = true;
                    }
                }
                (host, other) => return Err(sessions.unexpected(host, &other)),
            }
        }
        if is_stopped {
            return Ok(sessions.server_gone.then_some(Outcome::ServerEnded));
        }
        sessions.tell(cast.server, &Request::StopSampling)?;
        sessions.done(cast.server, self.limit)?;
        sessions.tell(cast.shaping(), &Request::Drain)?;
        sessions.done(cast.shaping(), self.limit)?;
        Ok(None)
    }

    /// What became of the run, by what all hosts say.
    fn outcome(&self, known: Option<Outcome>, handed: &[Handed], cast: Cast) -> Outcome {
        let of = |host: usize| &handed[host].manifest.report;
        let mut all = handed.iter().map(|one| &one.manifest.report.outcome);
        if let Some(failed) = all.find(|outcome| matches!(outcome, Outcome::AgentFailed { .. })) {
            return failed.clone();
        }
        match known {
            // The server's host knows whether it ended with 127.
            Some(Outcome::ServerEnded) => match &of(cast.server).outcome {
                Outcome::Done => Outcome::ServerEnded,
                other => other.clone(),
            },
            Some(other) => other,
            None => of(cast.client).outcome.clone(),
        }
    }
}

/// Link-layer addresses of the server and of the client in a run.
pub(super) fn macs(sessions: &Sessions, places: &[PlaceOfHost], cast: Cast) -> Result<[[u8; 6]; 2]> {
    let mac_of = |role, host: usize| -> Result<[u8; 6]> {
        let interface = *places[host].interfaces().first().context("a host without an interface")?;
        let found = sessions.facts[host].interfaces.iter().find(|card| card.name == interface);
        Ok(mac(role, found.map_or("", |card| &card.mac)))
    };
    Ok([mac_of("server", cast.server)?, mac_of("client", cast.client)?])
}

/// A link-layer address of ours: the same for the same card, and another one for every other card and role.
fn mac(role: &str, card: &str) -> [u8; 6] {
    let digest = Hasher::default().part(role.as_bytes()).part(card.as_bytes()).hex();
    let byte = |place: usize| digest.get(2 * place..2 * place + 2).and_then(|text| u8::from_str_radix(text, 16).ok());
    // Locally administered, and of one host.
    std::array::from_fn(|place| if place == 0 { 0x02 } else { byte(place).unwrap_or(0) })
}
