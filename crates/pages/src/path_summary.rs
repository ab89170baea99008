//! What a record says of its path, for reports.

use quiclab_experiment::{
    TestbedName,
    run::{Forwarder, Run},
};
use quiclab_path::spec::{StageSettings, StageSpec};
use quiclab_record::{ClocksSeen, Observed, StageSeen, StampsSeen};
use quiclab_report::{DropSummary, Mover, PathSummary, StageSummary};

/// The path of a run.
pub fn summary(run: &Run, observed: &Observed) -> PathSummary {
    let settings = &run.settings;
    let directions = [
        ("to_client", settings.stages_to_client(), &observed.path.to_client),
        ("to_server", settings.stages_to_server(), &observed.path.to_server),
    ];
    let stages = directions.iter().flat_map(|(direction, asked, seen)| {
        seen.iter().map(move |stage| stage_summary(direction, asked.iter().find(|one| one.name == stage.name), stage))
    });
    let drops = observed.path.dropped.iter().map(|drop| DropSummary {
        time_ns: drop.time.as_nanos(),
        place: format!("{}.{}", drop.direction, drop.stage),
        cause: drop.cause.clone(),
        held: drop.held.clone().filter(|held| !held.is_empty()),
    });
    PathSummary {
        mover: mover(run, observed),
        clocks: clocks(observed),
        stages: stages.collect(),
        drops: drops.collect(),
        drops_not_listed: observed.path.dropped_not_listed,
    }
}

/// Clocks of several hosts, and what stamped the packets there.
fn clocks(observed: &Observed) -> Vec<String> {
    let clocks = observed.clocks.iter().flat_map(ClocksSeen::in_words);
    let stamps = observed.taps.iter().filter_map(|tap| {
        let StampsSeen { by, why } = tap.stamps.as_ref()?;
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Some(format!("Packets at the tap {} have {by} time stamps{why}.", tap.role.interface_name()))
    });
    clocks.chain(stamps).collect()
}

fn mover(run: &Run, observed: &Observed) -> Mover {
    if let Some(seen) = &observed.path.forwarder {
        return Mover::Forwarder { why: seen.why.clone(), is_realtime: seen.is_realtime, lateness: seen.lateness };
    }
    if observed.testbed == TestbedName::Sim.as_str() {
        return Mover::Simulator;
    }
    Mover::Kernel(match run.settings.path.forwarder {
        Forwarder::Kernel => "path.forwarder = \"kernel\" asks for it".to_owned(),
        _ => "its queueing disciplines do every stage exactly".to_owned(),
    })
}

fn stage_summary(direction: &str, asked: Option<&StageSpec>, seen: &StageSeen) -> StageSummary {
    let rule = asked.and_then(|stage| match &stage.settings {
        StageSettings::ContentLoss(settings) => Some(settings.drop.to_string()),
        _ => None,
    });
    StageSummary { place: format!("{direction}.{}", seen.name), rule, seen: seen.clone() }
}
