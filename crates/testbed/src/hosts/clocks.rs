//! The clocks of the hosts around a run: compared before it and after it, and what a record says of them.

use std::collections::BTreeMap;

use quiclab_agent_protocol::hosts::{Answer, ClockFacts, Exchange, Request};
use quiclab_record::{ClockSeen, ClocksSeen, OffsetSeen, TimekeepingSeen};
use quiclab_units::Duration;

use super::{
    inventory::{Inventory, Role},
    offsets::offset,
    talk::{Limit, Reply, Sessions, Trouble},
};

/// Packets to compare clocks with: enough that one of them meets no other.
const EXCHANGES: u32 = 200;

/// The clock of the client's host, before a run and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    /// The clock before the run.
    pub before: OffsetSeen,
    /// The clock after the run; `None` where no packet came back.
    pub after: Option<OffsetSeen>,
}

/// Exchanges packets between the client's host and the server's over the path, which nothing shapes, while the sniffer listens. The server's
/// agent is to answer already. A role is absent where no packet came back to it.
pub(super) fn compare_all(
    sessions: &mut Sessions,
    client: usize,
    sniffer: Option<usize>,
    limit: Limit,
) -> Result<BTreeMap<Role, OffsetSeen>, Trouble> {
    if let Some(sniffer) = sniffer {
        sessions.tell(sniffer, &Request::Overhear)?;
        sessions.done(sniffer, limit)?;
    }
    let mut found = BTreeMap::new();
    let of_client = exchanges(sessions, client, &Request::Compare { exchanges: EXCHANGES }, limit)?;
    found.extend(seen(&of_client).map(|offset| (Role::Client, offset)));
    if let Some(sniffer) = sniffer {
        let overheard = exchanges(sessions, sniffer, &Request::Overheard, limit)?;
        found.extend(seen(&overheard).map(|offset| (Role::Sniffer, offset)));
    }
    Ok(found)
}

fn exchanges(sessions: &mut Sessions, host: usize, request: &Request, limit: Limit) -> Result<Vec<Exchange>, Trouble> {
    sessions.tell(host, request)?;
    match sessions.answer(host, limit)? {
        Reply::Answer(Answer::Exchanges { exchanges }) => Ok(exchanges),
        other => Err(sessions.unexpected(host, &other)),
    }
}

/// What is wrong where a sniffer hears nothing.
pub(super) fn unmirrored(sessions: &Sessions, sniffer: usize) -> String {
    format!(
        "{}: found none of the packets between server and client, expected to see them\nhint: set up the switch so that the port of this \
         host mirrors the port of the server, both ways",
        sessions.label(sniffer)
    )
}

/// What is wrong where no packet came back.
pub(super) fn unlinked(sessions: &Sessions, client: usize, server: usize) -> String {
    format!(
        "{}: found no packet that comes back from {}, expected the hosts' interfaces to be linked\nhint: check cables and interfaces; a \
         switch between them must pass frames of link-layer addresses that it has not seen before (port security, clouds and Wi-Fi do \
         not)",
        sessions.label(client),
        sessions.label(server)
    )
}

/// What packets say of two clocks.
fn seen(exchanges: &[Exchange]) -> Option<OffsetSeen> {
    let found = offset(exchanges)?;
    Some(OffsetSeen {
        at_ns: found.at_ns,
        server_ahead_ns: found.server_ahead_ns,
        uncertainty: Duration::from_nanos(found.uncertainty_ns),
        exchanges: found.exchanges as u64,
    })
}

/// What a record says of clocks that were compared, by the role of their host. `length`: of the run, at most.
pub(super) fn of_run(
    compared: BTreeMap<String, Compared>,
    length: Duration,
    inventory: &Inventory,
    sessions: &Sessions,
) -> ClocksSeen {
    let compared = compared.into_iter().map(|(role, one)| (role, ClockSeen::of(one.before, one.after, length)));
    let hosts = inventory.hosts.iter().zip(&sessions.facts);
    let kept = hosts.map(|(entry, facts)| (entry.role.to_string(), timekeeping(&facts.clock)));
    ClocksSeen { compared: compared.collect(), kept: kept.collect() }
}

fn timekeeping(facts: &ClockFacts) -> TimekeepingSeen {
    TimekeepingSeen {
        is_synchronised: facts.is_synchronised,
        largest_error: Duration::from_nanos(facts.largest_error_us.saturating_mul(1000)),
        kept_by: facts.kept_by.clone(),
        ptp_clocks: facts.ptp_clocks.clone(),
    }
}
