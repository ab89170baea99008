//! Records of flows of models, as reports show them.

use std::path::Path;

use anyhow::{Result, bail};
use quiclab_experiment::scenario::{FigureSpec, Labels, MetricName, TIME};
use quiclab_record::{End, ModelsRecord};
use quiclab_report::{AnyReport, ScenarioReport, ScenarioRow};
use quiclab_sim::measures::SERIES;

/// The index of results of models, in versions that kept them in a journal.
const FORMER_INDEX: &str = "scenario.json";
/// The journal of those versions.
const FORMER_JOURNAL: &str = "runs.jsonl";

/// The last version that reads these, for messages. The release number did not change with the layout.
const FORMER_VERSION: &str = "a build of quiclab 0.1.0 from before 23 November 2026";

/// True for a folder with results of models in the layout of earlier versions.
pub fn is_former(folder: &Path) -> bool {
    [FORMER_INDEX, FORMER_JOURNAL].iter().any(|name| folder.join(name).is_file())
}

/// Refuses results of models in the layout of earlier versions.
///
/// # Errors
/// What they are, and how to get them again.
pub fn no_longer_read(folder: &Path) -> Result<()> {
    if is_former(folder) {
        let folder = folder.display();
        bail!(
            "{folder}: found {FORMER_INDEX} or {FORMER_JOURNAL}: results of an earlier version, which kept no records of models\n\
             hint: rm -r {folder}, and run the experiment again: the same settings and seeds give the same numbers; to \
             read these results, use {FORMER_VERSION}"
        );
    }
    Ok(())
}

/// A record as a row of a report.
pub fn row(record: ModelsRecord) -> ScenarioRow {
    let ModelsRecord { folder, run, metrics, .. } = record;
    ScenarioRow {
        folder: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        id: run.id,
        repetition: run.run.repetition,
        seed: run.run.seed,
        settings: run.run.settings.texts(),
        is_whole: metrics.end == End::InTime,
        events: metrics.events,
        metrics: metrics.metrics.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        series: metrics.series,
    }
}

/// The report of a single record: its numbers, and every series over time.
pub fn report_of_one(record: ModelsRecord, command: String) -> AnyReport {
    let experiment = record.run.run.experiment.clone();
    let simulator = record.run.versions.get("simulator").cloned().unwrap_or_default();
    let groups: Vec<_> = record.run.run.settings.flows.keys().cloned().collect();
    let row = row(record);
    let figure = |series: &str| {
        let of = |name: &&String| {
            let MetricName { base, group } = MetricName::new(name);
            base == series && group.is_none_or(|group| groups.iter().any(|known| known == group))
        };
        let y: Vec<_> = row.series.keys().filter(of).cloned().collect();
        let title = MetricName::new(series).in_words();
        (!y.is_empty()).then_some(FigureSpec::over_time(title, y))
    };
    // The series of groups are in the figure of their sum, where there is one.
    let is_base = |name: &MetricName| name.base != TIME && (name.group.is_none() || !SERIES.contains(&name.base));
    let bases = SERIES.iter().map(|name| MetricName::new(name)).filter(is_base);
    let figures = bases.filter_map(|name| figure(name.base)).collect();
    AnyReport::Models(Box::new(ScenarioReport {
        experiment,
        title: format!("one run, {}", row.folder),
        source: None,
        command,
        simulator,
        runs: vec![row],
        failures: Vec::new(),
        expectations: Vec::new(),
        looks: None,
        figures,
        labels: Labels::default(),
    }))
}
