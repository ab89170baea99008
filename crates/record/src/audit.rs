//! From a record to the auditor's laws: which stages its run asked for, what they counted, and how exact its times are.
//!
//! Only the settings of the stages are read here, as the run file has them. The code that delays and drops packets is not asked.

use std::path::Path;

use quiclab_audit::{Account, AuditReport, AuditedPath, Limit, ListedDrop, Rules, Stage, StageKind, Timing, audit};
use quiclab_experiment::{TestbedName, run::Run};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::SENDING_CLIENT;
use quiclab_path::{
    jitter::Order,
    queue,
    spec::{StageSettings, StageSpec},
};
use quiclab_units::Duration;
use quiclab_wire::CaptureError;

use crate::{Observed, RecordError, StageSeen, TapRole, layout::CAPTURE_FILE, wire_role};

/// Compares the packets of the record in `folder` with what its path promised.
///
/// # Errors
/// Where the capture cannot be read.
pub fn audit_record(folder: &Path, run: &Run, observed: &Observed) -> Result<AuditReport, RecordError> {
    if let Some(why) = why_not(run, observed) {
        return Ok(AuditReport::nothing(why));
    }
    let file = folder.join(CAPTURE_FILE);
    let open = || open_unlinked(&file).map_err(|source| CaptureError::Read { byte_offset: 0, source });
    audit(open, &audited_path(run, observed)).map_err(|error| RecordError::Capture {
        path: file.clone(),
        message: error.to_string(),
        folder: folder.to_path_buf(),
    })
}

/// Why nothing of a run can be audited; `None` where something can.
fn why_not(run: &Run, observed: &Observed) -> Option<String> {
    if !run.settings.tap.enabled {
        return Some("tap.enabled is false: no packets were captured".to_owned());
    }
    if observed.testbed == TestbedName::Hosts.as_str() {
        return Some(
            "on the testbed hosts several clocks stamp the packets, and what the cards between the taps do to them is not known".to_owned(),
        );
    }
    for role in [TapRole::Sender, TapRole::BehindBottleneck] {
        let name = role.interface_name();
        let Some(tap) = observed.taps.iter().find(|tap| tap.role == role) else {
            return Some(format!("the record has no tap {name}"));
        };
        if tap.packets_lost > 0 {
            return Some(format!("the tap {name} lost {} packets, so nobody knows what passed it", tap.packets_lost));
        }
        if tap.super_packets.is_some() {
            return Some(
                "with hosts.offloads on, taps see super-packets, which quiclab cuts afterwards: their packets never were on the path".to_owned(),
            );
        }
    }
    None
}

fn audited_path(run: &Run, observed: &Observed) -> AuditedPath {
    let sender = run.settings.workload.sender.role();
    let sender_is_server = wire_role(sender) == quiclab_wire::Role::Server;
    let tap = |role: TapRole| {
        let name = if role == TapRole::Sender && !sender_is_server { SENDING_CLIENT } else { role.interface_name() };
        (name.to_owned(), observed.interface_of(role).unwrap_or_default())
    };
    let [to_client, to_server] = [
        (run.settings.stages_to_client(), &observed.path.to_client, "to_client"),
        (run.settings.stages_to_server(), &observed.path.to_server, "to_server"),
    ]
    .map(|(stages, seen, direction)| Rules {
        account: account(&stages, seen, direction, observed),
        stages: stages.iter().map(promise).collect(),
    });
    AuditedPath {
        taps: [tap(TapRole::Sender), tap(TapRole::BehindBottleneck)],
        sender_is_server,
        server_port: observed.server_port,
        timing: timing(observed),
        directions: [to_client, to_server],
    }
}

/// How exact times are on the testbed of a record.
fn timing(observed: &Observed) -> Timing {
    if observed.testbed == TestbedName::Sim.as_str() {
        return Timing {
            is_exact: true,
            rounds_each_packet: false,
            in_words: "virtual time, in which taps and stages share every nanosecond: 0 ns".to_owned(),
        };
    }
    // The taps and the stages read the same clock, which nobody set during the run: the agent fails a run in which somebody does.
    let in_kernel = observed.path.forwarder.is_none();
    let rounding =
        if in_kernel { ", and the kernel rounds the time of each packet at a rate down by less than 2 ns" } else { "" };
    Timing {
        is_exact: false,
        rounds_each_packet: in_kernel,
        in_words: format!(
            "one clock for taps and stages; a packet is at the first tap before its stages and at the second one after them, so none can \
             be early: 0 ns{rounding}"
        ),
    }
}

/// What a stage may do to packets, by its settings.
fn promise(stage: &StageSpec) -> Stage {
    let wait = |at_least, is_constant, keeps_order| StageKind::Wait { at_least, is_constant, keeps_order };
    let jitter = |order: Order| wait(Duration::ZERO, false, order == Order::Kept);
    let hold = |limit| StageKind::Hold { at_least: Duration::ZERO, limit, counts_held: false, keeps_order: true };
    let kind = match &stage.settings {
        StageSettings::Rate(settings) => StageKind::Pace {
            bits_per_second: settings.rate.as_bits_per_second(),
            burst_bytes: settings.burst.map(|burst| burst.as_bytes()),
        },
        StageSettings::RateTrace(_) => StageKind::PaceUnknown {
            why: "the record does not say when its trace began by the clock of the taps".to_owned(),
        },
        StageSettings::Delay(settings) => wait(settings.delay, true, true),
        StageSettings::DelayTrace(settings) => {
            let shortest = settings.steps.0.iter().map(|(_, delay)| *delay).min();
            wait(shortest.unwrap_or_default(), false, true)
        }
        StageSettings::UniformJitter(settings) => jitter(settings.order),
        StageSettings::ExponentialJitter(settings) => jitter(settings.order),
        StageSettings::NormalJitter(settings) => jitter(settings.order),
        StageSettings::NetemQueue(settings) => StageKind::Hold {
            at_least: settings.delay,
            limit: Limit::Packets(u64::from(settings.limit_packets)),
            counts_held: true,
            keeps_order: true,
        },
        StageSettings::DropTail(settings) => hold(limit(settings.limit)),
        StageSettings::DropHead(settings) => hold(limit(settings.limit)),
        StageSettings::Red(settings) => hold(limit(settings.limit)),
        StageSettings::CoDel(settings) => hold(limit(settings.limit)),
        StageSettings::Pie(settings) => hold(limit(settings.limit)),
        StageSettings::FqCoDel(settings) => StageKind::Hold {
            at_least: Duration::ZERO,
            limit: Limit::Packets(u64::from(settings.limit_packets)),
            counts_held: false,
            keeps_order: false,
        },
        StageSettings::IndependentLoss(_)
        | StageSettings::LimitedLoss(_)
        | StageSettings::BurstLoss(_)
        | StageSettings::ListedLoss(_)
        | StageSettings::RuleLoss(_)
        | StageSettings::ContentLoss(_) => StageKind::Lose,
        StageSettings::Reorder(_) => wait(Duration::ZERO, false, false),
        StageSettings::Duplicate(_) => StageKind::Copy,
        StageSettings::BitErrors(_) | StageSettings::Corrupt(_) => StageKind::Change,
        StageSettings::Rebind(_) => StageKind::Translate,
    };
    Stage { name: stage.name.clone(), kind }
}

fn limit(limit: queue::Limit) -> Limit {
    match limit {
        queue::Limit::Packets(packets) => Limit::Packets(packets),
        queue::Limit::Bytes(bytes) => Limit::Bytes(bytes),
    }
}

/// What the stages of a direction counted; `None` where the run asked for stages and nobody reported any.
fn account(stages: &[StageSpec], seen: &[StageSeen], direction: &str, observed: &Observed) -> Option<Account> {
    if seen.is_empty() && !stages.is_empty() {
        return None;
    }
    let sum = |name: &str| seen.iter().filter_map(|stage| stage.counts.get(name)).sum::<u64>();
    let dropped = seen.iter().map(StageSeen::all_drops).sum();
    let copies = stages.iter().any(|stage| matches!(stage.settings, StageSettings::Duplicate(_)));
    // The kernel's disciplines do not count their copies.
    let counts_copies = observed.kernel_release.is_none() || observed.path.forwarder.is_some();
    let listed = observed.path.dropped.iter().filter(|drop| drop.direction == direction);
    let listed: Vec<_> =
        listed.map(|drop| ListedDrop { packet: drop.packet, bytes: drop.bytes, stage: drop.stage.clone() }).collect();
    let is_final = observed.drained || observed.testbed == TestbedName::Sim.as_str();
    Some(Account {
        dropped,
        waiting: seen.iter().map(|stage| stage.packets_waiting).sum(),
        copied: (counts_copies || !copies).then(|| sum("copied")),
        marked: sum("marked"),
        changed: sum("corrupted"),
        listed: (listed.len() as u64 == dropped).then_some(listed),
        is_not_final: (!is_final).then(|| "packets were on their way when the counters were read".to_owned()),
    })
}
