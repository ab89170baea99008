//! Scenarios of models: from their settings to what was measured.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use quiclab_experiment::scenario::{
    CongestionControl, Flows, FlowsPacing, QueueKind, Recovery, ScenarioRun, ScenarioSettings, WorkloadKind,
};
use quiclab_path::queue::{Limit, codel::CoDelSettings, fq_codel::FqCoDelSettings, pie::PieSettings, red::RedSettings};
use quiclab_sim::{
    measures,
    scenario::{Congestion, Group, Queue, Scenario, ScenarioError},
    simulation::Stopped,
    tcp::{
        congestion::hystart::SlowStart,
        receiver::ReceiverSettings,
        sender::{self, PacingSettings, SenderSettings},
    },
    topology::Hop,
    workload::Workload,
};
use quiclab_units::{ByteCount, Duration, Rate, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a simulated run leaves. All of it follows from its settings, its seed and the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedRun {
    /// Its identity: [`run_id`].
    pub id: String,
    /// Which repetition it is, from 1.
    pub repetition: u32,
    /// Its seed.
    pub seed: u64,
    /// Every setting as text.
    pub settings: BTreeMap<String, String>,
    /// Whether it came to its end.
    pub end: End,
    /// Events that were handled.
    pub events: u64,
    /// The metrics that could be measured.
    pub metrics: BTreeMap<String, f64>,
    /// What was seen at the end of each interval.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All of its time was simulated.
    InTime,
    /// It had `scenario.events` events; what was measured is of the time before.
    TooManyEvents,
}

/// Why a run left nothing.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// It makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It took too long, which no other machine can be asked to repeat.
    #[error(
        "stopped after {limit} of real time\nhint: raise scenario.time_limit, or simulate less time or fewer flows"
    )]
    TimeLimit {
        /// `scenario.time_limit`.
        limit: Duration,
    },
    /// Somebody wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// The identity of a run: equal ones give equal bytes.
pub fn run_id(run: &ScenarioRun) -> String {
    let mut digest = Sha256::new();
    let settings = toml::to_string(&run.settings).expect("every setting has a TOML form");
    for part in [quiclab_sim::VERSION, include_str!("scenarios.rs"), &settings, &run.seed.to_string()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Simulates a run, until `stop` is set.
///
/// # Errors
/// A scenario that makes no sense, a limit of time that was reached, an interruption.
pub fn simulate(run: &ScenarioRun, stop: &AtomicBool) -> Result<SimulatedRun, SimulateError> {
    let scenario = scenario(&run.settings, run.seed);
    let limit = run.settings.scenario.time_limit;
    let patience = std::time::Duration::from_nanos(limit.as_nanos());
    let start = Instant::now();
    let is_stopped = || stop.load(Ordering::Relaxed);
    let outcome = scenario.run_while(&mut || !is_stopped() && start.elapsed() < patience)?;
    let end = match outcome.stopped {
        Stopped::InTime | Stopped::Quiet => End::InTime,
        Stopped::Budget => End::TooManyEvents,
        Stopped::Told if is_stopped() => return Err(SimulateError::Interrupted),
        Stopped::Told => return Err(SimulateError::TimeLimit { limit }),
    };
    Ok(SimulatedRun {
        id: run_id(run),
        repetition: run.repetition,
        seed: run.seed,
        settings: run.settings.texts(),
        end,
        events: outcome.events,
        metrics: measures::metrics(&scenario, &outcome),
        series: measures::series(&scenario, &outcome),
    })
}

/// What the simulator is told.
fn scenario(settings: &ScenarioSettings, seed: u64) -> Scenario {
    let bottleneck = &settings.bottleneck;
    let hop = Hop { rate: bottleneck.rate, back_rate: bottleneck.back_rate, delay: bottleneck.delay };
    let side = bottleneck.rate.as_bits_per_second() as f64 * bottleneck.side_factor;
    Scenario {
        hops: vec![(hop, queue(settings)); bottleneck.hops as usize],
        side_rate: Rate::from_bits_per_second(side.round() as u64),
        groups: settings.flows.iter().map(|(name, flows)| group(name, flows, settings)).collect(),
        duration: settings.scenario.duration,
        interval: settings.scenario.interval,
        warm_up: settings.scenario.warm_up,
        seed,
        budget: settings.scenario.events,
    }
}

fn queue(settings: &ScenarioSettings) -> Queue {
    let bottleneck = &settings.bottleneck;
    let room = bottleneck.buffer_packets;
    let limit = Limit::Packets(room);
    let largest = settings.flows.values().map(|flows| bytes(flows.packet)).max().unwrap_or_default();
    let codel = CoDelSettings {
        target: bottleneck.target.unwrap_or(CoDelSettings::default().target),
        interval: bottleneck.codel_interval,
        largest_packet_bytes: largest,
    };
    match bottleneck.queue {
        QueueKind::DropTail => Queue::DropTail(limit),
        QueueKind::DropHead => Queue::DropHead(limit),
        QueueKind::Red => {
            let packet_seconds = f64::from(largest) * 8.0 / bottleneck.rate.as_bits_per_second() as f64;
            let red = RedSettings {
                weight: bottleneck.red_weight,
                least_threshold: bottleneck.red_minimum * room as f64,
                most_threshold: bottleneck.red_maximum * room as f64,
                most_probability: bottleneck.red_probability,
                is_gentle: bottleneck.red_gentle,
                packet_time: Duration::from_nanos((packet_seconds * 1e9).ceil() as u64),
            };
            Queue::Red(red, limit)
        }
        QueueKind::Codel => Queue::CoDel(codel, limit),
        QueueKind::FqCodel => {
            Queue::FqCoDel(FqCoDelSettings { limit_packets: room, codel, ..FqCoDelSettings::default() })
        }
        QueueKind::Pie => {
            let usual = PieSettings::default();
            Queue::Pie(PieSettings { target: bottleneck.target.unwrap_or(usual.target), ..usual }, limit)
        }
    }
}

fn group(name: &str, flows: &Flows, settings: &ScenarioSettings) -> Group {
    let last = flows.last_hop.unwrap_or(settings.bottleneck.hops);
    let crossed = u64::from(last - flows.first_hop + 1) * settings.bottleneck.delay.as_nanos();
    // Checked with the file: an even number, and no less than what the hops take.
    let sides = flows.rtt.as_nanos() / 2 - crossed;
    let left = sides / 2;
    Group {
        name: name.to_owned(),
        flows: flows.count,
        sender: SenderSettings {
            packet_bytes: bytes(flows.packet),
            largest_window: flows.largest_window.unwrap_or(SenderSettings::default().largest_window),
            recovery: match flows.recovery {
                Recovery::Reno => sender::Recovery::Reno,
                Recovery::NewReno => sender::Recovery::NewReno,
                Recovery::Sack => sender::Recovery::Selective,
            },
            pacing: (flows.pacing == FlowsPacing::Rtt)
                .then_some(PacingSettings { gain: flows.pacing_gain, burst: flows.pacing_burst }),
            ecn: flows.ecn,
            ..SenderSettings::default()
        },
        congestion: congestion(flows),
        receiver: ReceiverSettings {
            delayed_acknowledgment: Some(flows.delayed_acknowledgment).filter(|wait| *wait != Duration::ZERO),
            acknowledgment_bytes: bytes(flows.acknowledgment),
        },
        hops: flows.first_hop as usize - 1..last as usize,
        side_delays: [Duration::from_nanos(left), Duration::from_nanos(sides - left)],
        workload: workload(flows),
        begin_within: flows.begin_within,
    }
}

fn congestion(flows: &Flows) -> Congestion {
    let initial_window = flows.initial_window;
    let is_paced = flows.pacing == FlowsPacing::Rtt;
    let slow_start = if flows.hystart { SlowStart::hystart(is_paced) } else { SlowStart::standard(1.0) };
    match flows.congestion_control {
        CongestionControl::Reno => Congestion::Reno { initial_window, slow_start },
        CongestionControl::Cubic => Congestion::Cubic { initial_window, slow_start },
        CongestionControl::Bbr => Congestion::Bbr { initial_window },
    }
}

fn workload(flows: &Flows) -> Workload {
    match flows.workload {
        WorkloadKind::Long => Workload::Long,
        WorkloadKind::Transfers => {
            Workload::Transfers { segments: u64::from(flows.transfer_segments), think: flows.think }
        }
        WorkloadKind::OnOff => Workload::OnOff { on: flows.on, off: flows.off },
        WorkloadKind::Arrivals => {
            let begin = Time::from_nanos(0);
            let transfers = flows.arrivals.iter().map(|(time, segments)| (begin + time.0, *segments));
            Workload::Arrivals { transfers: transfers.collect() }
        }
    }
}

/// Checked with the file: at most 65 535.
fn bytes(count: ByteCount) -> u32 {
    count.as_bytes() as u32
}
