//! Performs one run: orders to the agent, its answer to the files of a record.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_agent_protocol::{
    activity::Sampling,
    forwarder::{LARGEST_SUPER_PACKET_BYTES, RealTime},
    orders::{Cpus, HostFiles, Orders},
    slot,
};
use quiclab_experiment::{
    run::{CpuList, Hosts, IpVersion, Offloads, Run, Versions},
    stack::Contract,
};
use quiclab_record::Seen;
use quiclab_units::ByteCount;

use super::{
    NAME,
    collected::{SLOT, collect},
    host::Facts,
    path::choose,
    plain::PlainStack,
    servant::{Answer, ask},
    tcp,
};
use crate::{
    collect::RunFailure,
    guest::{disciplines::network_by, orders},
    hash,
    perform::{Host, Side, Sides},
    stack::BuiltStack,
    testbed::{Attempt, CLOCK_VERSION, Place, TESTBED_VERSION, WALL_CLOCK},
};

/// Most bytes that each endpoint may log. They are in memory until the run ends.
const LOG_LIMIT: ByteCount = ByteCount::from_bytes(256 << 20);
/// How long a step of what the hosts do is.
const SAMPLE_STEP_NS: u64 = 100_000_000;

/// What a run between these stacks is made with: part of its identity.
///
/// # Errors
/// Where a part cannot be read.
pub(super) fn versions(run: &Run, sides: Sides<PlainStack>, facts: &Facts) -> Result<Versions> {
    // As on the virtual testbed, repetitions are made with the same versions.
    let first = Run { seed: 0, start_shift: Default::default(), ..run.clone() };
    let orders = slot::encode_orders(&orders_of(&first, sides, facts)?)?;
    let mut versions = Versions::from([
        (TESTBED_VERSION.into(), NAME.into()),
        (CLOCK_VERSION.into(), WALL_CLOCK.into()),
        ("orders".into(), hash::Hasher::default().part(&orders).short()),
        ("agent".into(), facts.agent_digest.clone()),
        ("kernel".into(), facts.kernel.clone()),
        ("cpus".into(), facts.cpus.clone()),
        ("socket_buffers".into(), facts.socket_buffers()),
        ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
    ]);
    // Most machines have none, and earlier versions did not look for it.
    let polls = Some(facts.busy_poll()).filter(|polls| polls != "0 0");
    versions.extend(polls.map(|polls| ("busy_poll".into(), polls)));
    let Sides { server, client } = sides;
    let sides = Sides { server: built(server), client: built(client) };
    for (role, side) in sides.different() {
        side.add_versions(role, &mut versions)?;
    }
    Ok(versions)
}

/// Performs `run` and writes what happened.
///
/// # Errors
/// Where the agent cannot be started, something cannot be written, or an interruption.
pub(super) fn perform(
    run: &Run,
    sides: Sides<PlainStack>,
    facts: &Facts,
    place: Place,
    host: &Host,
) -> Result<Attempt> {
    let mut orders = orders_of(run, sides, facts)?;
    orders.server.host = Some(files(sides.server.stack)?);
    orders.client.host = Some(files(sides.client.stack)?);
    let slot_path = place.work.join(SLOT);
    let broken = |why, host_use| Attempt { failure: Some(RunFailure::Agent(why)), seen: None, host_use };
    let host_use = match ask(&facts.agent, &orders, place.work, &slot_path, host)? {
        Answer::Results(host_use) => host_use,
        Answer::Broken(why, host_use) => return Ok(broken(why, host_use)),
    };
    let collected = collect(NAME, run, &orders, &facts.missing, place, "what it says of the hosts")?;
    Ok(match collected {
        Ok((failure, observed)) => Attempt { failure, seen: Some(Seen::Transfer(Box::new(observed))), host_use },
        Err(why) => broken(why, host_use),
    })
}

/// What the agent is told, without the places of files on this machine, which change nothing.
fn orders_of(run: &Run, sides: Sides<PlainStack>, facts: &Facts) -> Result<Orders> {
    let mut orders = orders_by(run, sides, &facts.missing)?;
    tcp::choose(run, sides.server.manifest, &facts.tcp, &mut orders)?;
    Ok(orders)
}

/// The same for kernels that lack these disciplines, with TCP as they have it.
///
/// # Errors
/// Where the path cannot be made, or a setting is that of a whole machine.
pub(crate) fn orders_by(run: &Run, sides: Sides<PlainStack>, lacks: &BTreeSet<String>) -> Result<Orders> {
    let way = choose(&run.settings, lacks).map_err(anyhow::Error::msg)?;
    let mut network = network_by(run, way)?;
    if let Some(forwarder) = &mut network.forwarder {
        let largest_frame_bytes = match run.settings.hosts.offloads {
            Offloads::Off => run.settings.path.largest_frame_bytes(),
            Offloads::On => LARGEST_SUPER_PACKET_BYTES,
        };
        forwarder.real_time = Some(RealTime { largest_frame_bytes, ..RealTime::default() });
    }
    let orders = orders::of_run(run, network, sides.server.manifest, sides.client.manifest, LOG_LIMIT)?;
    if orders.machine.as_ref().is_some_and(|machine| machine.tcp_hystart.is_some()) {
        bail!(
            "stack.hystart: {} is TCP in the kernel, where this holds for the whole machine; expected the default\nhint: --testbed vm",
            sides.server.manifest.name
        );
    }
    // Images of the QUIC Interop Runner set up addresses of both families.
    let is_image = |side: Side<PlainStack>| side.manifest.guest.contract == Contract::InteropRunner;
    let has_ipv6 = run.settings.path.ip == IpVersion::V6 || is_image(sides.server) || is_image(sides.client);
    // What holds for a whole machine is not changed on one that does other things as well.
    let sampling = Some(Sampling { step_ns: SAMPLE_STEP_NS, system_calls: run.settings.tap.system_calls });
    Ok(Orders { machine: None, sampling, has_ipv6, cpus: cpus(&run.settings.hosts), ..orders })
}

fn cpus(hosts: &Hosts) -> Cpus {
    let numbers = |list: &Option<CpuList>| list.as_ref().map_or_else(Vec::new, |list| list.numbers().to_vec());
    Cpus {
        server: numbers(&hosts.server_cpus),
        client: numbers(&hosts.client_cpus),
        forwarder: numbers(&hosts.forwarder_cpus),
    }
}

/// Where the agent finds the files of a stack. It looks for them from another root, where links and relative paths lead elsewhere.
fn files(stack: &PlainStack) -> Result<HostFiles> {
    let text = |path: &Path| -> Result<Option<String>> {
        let path = fs::canonicalize(path).with_context(|| path.display().to_string())?;
        let text = path.to_str().with_context(|| format!("{}: expected a path in UTF-8", path.display()))?;
        Ok(Some(text.to_owned()))
    };
    Ok(HostFiles { root: text(&stack.root)?, stack: text(&stack.files)? })
}

pub(crate) fn built<'a>(side: Side<'a, PlainStack>) -> Side<'a, BuiltStack> {
    Side { manifest: side.manifest, stack: &side.stack.built }
}
