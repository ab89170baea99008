//! From what the forwarder in the guest answered to what a record says of the path.

use quiclab_agent_protocol::forwarder::{Drop, ForwarderReport};
use quiclab_experiment::run::Run;
use quiclab_path::{loss::rule_report::RuleReport, spec::StageSettings};
use quiclab_record::{DropSeen, ForwarderSeen, PathSeen};
use quiclab_units::{Duration, shown};

use crate::collect::RunFailure;

/// The path of a run whose packets the agent moved, for this reason. Behind its stages the kernel may have disciplines.
pub fn path(report: &ForwarderReport, why: Option<&str>, behind: PathSeen) -> PathSeen {
    PathSeen {
        to_client: [&report.to_client[..], &behind.to_client].concat(),
        to_server: [&report.to_server[..], &behind.to_server].concat(),
        offloads: behind.offloads,
        forwarder: Some(ForwarderSeen {
            why: why.unwrap_or("unknown").to_owned(),
            is_realtime: report.is_realtime,
            lateness: report.lateness,
            super_packets: report.super_packets,
        }),
        dropped: report.drops.iter().map(|drop| dropped(drop, report)).collect(),
        dropped_not_listed: report.drops_not_listed,
    }
}

/// The first rule of the path that lost fewer or more datagrams than the experiment allows.
pub fn loss_fault(run: &Run, report: &ForwarderReport) -> Option<RunFailure> {
    let settings = &run.settings;
    let both = [
        ("to_client", settings.stages_to_client(), &report.to_client),
        ("to_server", settings.stages_to_server(), &report.to_server),
    ];
    both.into_iter().find_map(|(direction, stages, reports)| {
        stages.into_iter().find_map(|stage| {
            let StageSettings::ContentLoss(settings) = &stage.settings else { return None };
            let report = RuleReport {
                rule: settings.drop.to_string(),
                counts: reports.iter().find(|one| one.name == stage.name)?.rule_counts(),
                at_least: settings.at_least_drops.map(u64::from),
                at_most: settings.at_most_drops.map(u64::from),
            };
            Some(RunFailure::LossRule { direction, stage: stage.name, fault: report.fault()? })
        })
    })
}

fn dropped(drop: &Drop, report: &ForwarderReport) -> DropSeen {
    let (direction, stages) = match drop.to_client {
        true => ("to_client", &report.to_client),
        false => ("to_server", &report.to_server),
    };
    DropSeen {
        time: Duration::from_nanos(drop.time_ns),
        direction: direction.to_owned(),
        stage: stages.get(drop.stage as usize).map_or_else(|| drop.stage.to_string(), |stage| stage.name.clone()),
        cause: drop.cause.clone(),
        packet: drop.packet,
        bytes: drop.bytes,
        connection: drop.connection,
        datagram: drop.datagram,
        held: drop.words.as_deref().map(|words| shown(words).to_string()),
    }
}
