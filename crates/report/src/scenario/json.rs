//! A scenario as JSON, for programs.

use serde_json::{Map, Value, json};

use super::{
    findings::scenario_findings,
    group::{Group, metric_names},
    report::ScenarioReport,
};
use crate::json::statistics;

/// Version of the layout. Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 1;

/// Groups with their settings, statistics and series, runs with their metrics, what came of expectations, failures. Series are those of each
/// group's first run; `runs.parquet` has every run.
pub fn render_scenario_json(report: &ScenarioReport) -> String {
    let groups = Group::all(report);
    let all = json!({
        "schema": SCHEMA,
        "experiment": report.experiment,
        "title": report.title,
        "source": report.source,
        "command": report.command,
        "simulator": report.simulator,
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
        "expectations": scenario_findings(report),
        "failures": report.failures.iter().map(|row| json!({ "run": row.folder, "message": row.message })).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn group(group: &Group) -> Value {
    let metrics: Map<_, _> = metric_names(std::slice::from_ref(group))
        .into_iter()
        .map(|metric| (metric.to_owned(), group.summary(metric).as_ref().map_or(Value::Null, statistics)))
        .collect();
    let runs = group.runs.iter().map(|run| {
        json!({
            "record": run.folder,
            "id": run.id,
            "repetition": run.repetition,
            "seed": run.seed,
            "is_whole": run.is_whole,
            "events": run.events,
            "metrics": run.metrics,
        })
    });
    json!({
        "label": group.label,
        "settings": group.settings,
        "metrics": metrics,
        "runs": runs.collect::<Vec<_>>(),
        "series": group.runs.first().map(|run| &run.series),
    })
}
