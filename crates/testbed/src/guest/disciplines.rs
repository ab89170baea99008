//! From settings to the queueing disciplines of the guest.

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    forwarder::Forwarder,
    network::{Clock, Discipline, Fq, Network},
};
use quiclab_experiment::run::{self, Sender};
use quiclab_path::spec::{StageSettings, longest_delay};
use quiclab_units::Duration;

use super::path::{self, Direction, PathBackend};
use crate::contract::SERVER_PORT;

/// MTU of interfaces whose order says nothing else.
const USUAL_MTU: u32 = 1500;

/// The network of a run.
///
/// # Errors
/// Where the kernel has no room for a value, or is to move packets and does not do exactly what a stage of the path asks for.
pub fn network(run: &run::Run) -> Result<Network> {
    network_by(run, path::choose(&run.settings).map_err(anyhow::Error::msg)?)
}

/// The network of a run whose packets are moved in this way.
///
/// # Errors
/// Where the kernel has no room for a value.
pub fn network_by(run: &run::Run, way: PathBackend) -> Result<Network> {
    let settings = &run.settings;
    let [stages_to_client, stages_to_server] = [settings.stages_to_client(), settings.stages_to_server()];
    let longest = longest_delay(&stages_to_client) + longest_delay(&stages_to_server);
    let ([to_client, to_server], forwarder) = match way {
        PathBackend::Kernel(directions) => (directions, None),
        PathBackend::User { .. } => {
            let behind = Direction { disciplines: path::batches_behind_forwarder(settings), ..Direction::default() };
            let mut stages = stages_to_client.iter().chain(&stages_to_server);
            let asks_for_content = stages.any(|stage| matches!(stage.settings, StageSettings::ContentLoss(_)));
            let forwarder = Forwarder {
                to_client: stages_to_client,
                to_server: stages_to_server,
                seed: run.seed,
                reads_packets_of_port: asks_for_content.then_some(SERVER_PORT),
                real_time: None,
            };
            ([Direction::default(), behind], Some(forwarder))
        }
    };
    let of_sender = |end| if settings.workload.sender == end { own(settings) } else { Ok(Vec::new()) };
    let disciplines = |direction: Vec<(String, Discipline)>| direction.into_iter().map(|(_, one)| one).collect();
    Ok(Network {
        to_client: disciplines(to_client.disciplines),
        to_server: disciplines(to_server.disciplines),
        server: of_sender(Sender::Server)?,
        client: of_sender(Sender::Client)?,
        drops_to_server: to_server.drops,
        longest_delay_ns: longest.as_nanos(),
        forwarder,
        mtu: Some(settings.path.mtu).filter(|mtu| *mtu != USUAL_MTU),
        tcp_congestion_control: None,
        super_packets: settings.hosts.offloads == run::Offloads::On,
    })
}

/// The measured sender's own disciplines, the outer one first; none where its interface has no queue at all.
fn own(settings: &run::Settings) -> Result<Vec<Discipline>> {
    let outer = settings.segment_pacing().map(|clock| Discipline::GsoPace { clock: clock_of(clock) });
    let own = match settings.hosts.qdisc() {
        run::Qdisc::None => None,
        run::Qdisc::PfifoFast => Some(Discipline::PfifoFast),
        run::Qdisc::FqCodel => Some(Discipline::FqCodel),
        run::Qdisc::Fq(parameters) => Some(Discipline::Fq(fq(&parameters)?)),
        run::Qdisc::Etf { delta, deadline } => {
            Some(Discipline::Etf { delta_ns: in_kernel("hosts.etf_delta", delta.as_nanos(), &delta)?, deadline })
        }
    };
    Ok(outer.into_iter().chain(own).collect())
}

fn fq(parameters: &run::FairQueueing) -> Result<Fq> {
    let bytes = |key, size: &Option<quiclab_units::ByteCount>| {
        size.map(|size| in_kernel(key, size.as_bytes(), &size)).transpose()
    };
    let time = |key, time: &Option<Duration>, unit: u64| {
        time.map(|time| in_kernel(key, time.as_nanos() / unit, &time)).transpose()
    };
    let rate = parameters.maximum_rate;
    Ok(Fq {
        flow_limit_packets: Some(parameters.flow_limit_packets),
        limit_packets: parameters.limit_packets,
        quantum_bytes: bytes("hosts.fq_quantum", &parameters.quantum)?,
        initial_quantum_bytes: bytes("hosts.fq_initial_quantum", &parameters.initial_quantum)?,
        maximum_bytes_per_second: rate
            .map(|rate| in_kernel("hosts.fq_maximum_rate", rate.as_bits_per_second() / 8, &rate))
            .transpose()?,
        horizon_us: time("hosts.fq_horizon", &parameters.horizon, 1000)?,
        timer_slack_ns: time("hosts.fq_timer_slack", &parameters.timer_slack, 1)?,
    })
}

/// The clock in the agent's words.
fn clock_of(clock: run::Clock) -> Clock {
    match clock {
        run::Clock::Monotonic => Clock::Monotonic,
        run::Clock::Tai => Clock::Tai,
    }
}

/// A number in the width that the kernel has for it.
fn in_kernel<T: TryFrom<u64>>(key: &str, number: u64, value: &impl std::fmt::Display) -> Result<T> {
    let bits = 8 * size_of::<T>();
    T::try_from(number).ok().with_context(|| {
        format!("{key}: found {value}, which does not fit into the {bits} bits that the kernel has for it\nhint: use a smaller value")
    })
}
