//! Flows of models: from a run's settings to what was seen and measured of it.

use std::{sync::atomic::Ordering, time::Instant};

use anyhow::Result;
use nix::sys::resource::{UsageWho, getrusage};
use quiclab_experiment::{
    run::{Versions, word},
    scenario::{
        CongestionControl, Flows, FlowsPacing, QueueKind, Recovery, ScenarioRun, ScenarioSettings, WorkloadKind,
    },
};
use quiclab_metrics::{Warning, Withheld};
use quiclab_path::{
    probability::Probability,
    queue::{Limit, codel::CoDelSettings, fq_codel::FqCoDelSettings, pie::PieSettings, red::RedSettings},
};
use quiclab_record::{
    BottleneckSeen, End, GroupSeen, ModelsMetrics, ModelsObserved, Seen,
    layout::{MODELS_METRICS_SCHEMA, MODELS_PATH_SCHEMA},
};
use quiclab_sim::{
    measures::{self, TransferCount},
    scenario::{Congestion, FlowOutcome, Group, Outcome, Queue, Scenario},
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

use crate::{
    collect::RunFailure,
    hash,
    perform::{Host, HostUse, Interrupted},
    testbed::{Attempt, TESTBED_VERSION},
};

/// Code of the warning of a run that ended early.
const ENDED_EARLY: &str = "ended_early";
/// Code of the warning of transfers that had not ended.
const TRANSFERS_UNFINISHED: &str = "transfers_unfinished";

/// What a run is made with: part of its identity.
pub fn versions(run: &ScenarioRun) -> Versions {
    // As for transfers, what the simulator is told beyond the settings follows from this program's code. Of one seed, so that repetitions are
    // made with the same versions; the seed is in the identity anyway.
    let orders = format!("{:?}", scenario(&run.settings, 0));
    Versions::from([
        (TESTBED_VERSION.to_owned(), super::testbed::NAME.to_owned()),
        ("orders".to_owned(), hash::Hasher::default().part(orders.as_bytes()).short()),
        ("simulator".to_owned(), quiclab_sim::VERSION.to_owned()),
        ("quiclab".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ])
}

/// Simulates `run`. One that makes no sense, or takes longer than `scenario.time_limit`, fails.
///
/// # Errors
/// [`Interrupted`], by request or where the host's patience ends.
pub fn perform(run: &ScenarioRun, host: &Host) -> Result<Attempt> {
    let scenario = scenario(&run.settings, run.seed);
    let limit = run.settings.scenario.time_limit;
    let (start, used_before) = (Instant::now(), thread_time());
    let is_stopped = || host.stop.load(Ordering::Relaxed);
    let time_limit = std::time::Duration::from_nanos(limit.as_nanos());
    let least = time_limit.min(host.timeout);
    let failed = |why: String| Attempt {
        failure: Some(RunFailure::Simulation(why)),
        seen: None,
        host_use: host_use(used_before),
    };
    let outcome = match scenario.run_while(&mut || !is_stopped() && start.elapsed() < least) {
        Ok(outcome) => outcome,
        Err(error) => return Ok(failed(error.to_string())),
    };
    let end = match outcome.stopped {
        Stopped::InTime | Stopped::Quiet => End::InTime,
        Stopped::Budget => End::TooManyEvents,
        Stopped::Cancelled if is_stopped() => return Err(Interrupted::ByRequest.into()),
        Stopped::Cancelled if host.timeout < time_limit => return Err(Interrupted::ByDeadline(host.timeout).into()),
        Stopped::Cancelled => {
            let hint = "hint: raise scenario.time_limit, or simulate less time or fewer flows";
            return Ok(failed(format!("stopped after {limit} of real time\n{hint}")));
        }
    };
    let seen = Seen::Models(observed(&scenario, &outcome, run), Box::new(measured(&scenario, &outcome, end)));
    Ok(Attempt { failure: None, seen: Some(seen), host_use: host_use(used_before) })
}

/// What the bottlenecks and the senders counted.
fn observed(scenario: &Scenario, outcome: &Outcome, run: &ScenarioRun) -> ModelsObserved {
    let queue = word(&run.settings.bottleneck.queue);
    let last = outcome.samples.last();
    let bottlenecks = last.iter().flat_map(|sample| &sample.hops).map(|hop| BottleneckSeen {
        queue: queue.clone(),
        packets_passed: hop.forwarded,
        packets_dropped: hop.dropped,
        packets_marked: hop.marked,
        packets_waiting: hop.queue_packets,
    });
    let groups = scenario.groups.iter().enumerate().map(|(number, group)| {
        let flows = outcome.flows.iter().filter(|flow| flow.group == number);
        let sum = |count: fn(&FlowOutcome) -> u64| flows.clone().map(count).sum();
        let seen = GroupSeen {
            flows: group.flows,
            segments_sent: sum(|flow| flow.counters.sent),
            segments_retransmitted: sum(|flow| flow.counters.retransmitted),
            segments_delivered: sum(|flow| flow.delivered),
            timeouts: sum(|flow| flow.counters.timeouts),
        };
        (group.name.clone(), seen)
    });
    ModelsObserved {
        schema: MODELS_PATH_SCHEMA,
        testbed: super::testbed::NAME.to_owned(),
        counted_until_ns: last.map(|sample| sample.time.as_nanos()),
        bottlenecks: bottlenecks.collect(),
        groups: groups.collect(),
    }
}

fn measured(scenario: &Scenario, outcome: &Outcome, end: End) -> ModelsMetrics {
    let metrics = measures::metrics(scenario, outcome);
    let groups = scenario.groups.iter().map(|group| group.name.as_str());
    let withheld = measures::missing(groups.clone(), &metrics)
        .into_iter()
        .map(|(reason, metrics)| Withheld { reason: reason.to_owned(), metrics });
    let early = (end == End::TooManyEvents).then(|| {
        let until = outcome.samples.last().map(|sample| sample.time.as_nanos()).unwrap_or_default();
        Warning {
            code: ENDED_EARLY.to_owned(),
            message: format!(
                "the run ended after {} of {}, because it reached scenario.events; its metrics cover the time until then",
                Duration::from_nanos(until),
                scenario.duration
            ),
        }
    });
    ModelsMetrics {
        schema: MODELS_METRICS_SCHEMA,
        withheld: withheld.collect(),
        metrics: measures::names(groups).into_iter().map(|name| (name.clone(), metrics.get(&name).copied())).collect(),
        warnings: early.into_iter().chain(unfinished(scenario, outcome)).collect(),
        end,
        events: outcome.events,
        series: measures::series(scenario, outcome),
    }
}

/// A warning for each group of which transfers that count had not ended: these are the ones that take long.
fn unfinished(scenario: &Scenario, outcome: &Outcome) -> Vec<Warning> {
    let counts = measures::transfer_counts(scenario, outcome);
    let warning = |(group, count): (&str, TransferCount)| {
        let all = count.ended + count.unfinished;
        let consequence =
            if count.is_biased() { "their times are withheld" } else { "the times are those of the others" };
        Warning {
            code: TRANSFERS_UNFINISHED.to_owned(),
            message: format!(
                "{group}: {} of {all} transfers had not ended when the run ended, so {consequence}; use a longer \
                 scenario.duration, or a scenario.transfers_begin_by well before its end",
                count.unfinished
            ),
        }
    };
    counts.into_iter().filter(|(_, count)| count.unfinished > 0).map(warning).collect()
}

/// CPU time of this thread, user and system.
fn thread_time() -> std::time::Duration {
    let used = getrusage(UsageWho::RUSAGE_THREAD);
    let time = |value: nix::sys::time::TimeVal| {
        std::time::Duration::new(value.tv_sec().unsigned_abs(), value.tv_usec() as u32 * 1000)
    };
    used.map_or_else(|_| std::time::Duration::ZERO, |used| time(used.user_time()) + time(used.system_time()))
}

/// What this thread has used since, and the memory of this process: all workers share it.
fn host_use(before: std::time::Duration) -> HostUse {
    let resident = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |used| used.max_rss() as u64 * 1024);
    HostUse { cpu_seconds: thread_time().saturating_sub(before).as_secs_f64(), resident_bytes: resident }
}

/// What the simulator is told.
fn scenario(settings: &ScenarioSettings, seed: u64) -> Scenario {
    let bottleneck = &settings.bottleneck;
    let hop = Hop { rate: bottleneck.rate, back_rate: bottleneck.back_rate, delay: bottleneck.delay };
    let side = bottleneck.rate.as_bits_per_second() as f64 * bottleneck.side_factor;
    Scenario {
        hops: vec![(hop, queue(settings)); bottleneck.hops as usize],
        // Checked with the file: from 0 and less than 1.
        loss: Probability::try_from(bottleneck.loss).unwrap_or_default(),
        side_rate: Rate::from_bits_per_second(side.round() as u64),
        groups: settings.flows.iter().map(|(name, flows)| group(name, flows, settings)).collect(),
        duration: settings.scenario.duration,
        interval: settings.scenario.interval,
        warm_up: settings.scenario.warm_up,
        transfers_begin_by: settings.scenario.transfers_begin_by,
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
            timestamps: flows.timestamps,
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
        CongestionControl::Bbr3 => Congestion::Bbr3 { initial_window },
    }
}

fn workload(flows: &Flows) -> Workload {
    match flows.workload {
        WorkloadKind::Long => Workload::Long,
        WorkloadKind::Transfers => {
            let segments = u64::from(flows.transfer_segments);
            Workload::Transfers { segments, think: flows.think, count: flows.transfers }
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
