//! Everything as JSON, for programs.

use quiclab_metrics::Summary;
use serde_json::{Map, Value, json};

use crate::{
    columns::COLUMNS,
    findings::findings,
    groups::{self, Group, published_alone},
    input::ReportInput,
    notes::notes,
    verdicts::of_group,
};

/// Version of the layout. Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 1;

/// Groups with their settings and statistics, runs with their metrics, warnings, what came of expectations, failures. Values are in the units that
/// the names of the metrics say, not scaled as in the tables.
pub fn render_json(input: &ReportInput) -> String {
    let groups = groups::all(input);
    let all = json!({
        "schema": SCHEMA,
        "experiment": input.experiment,
        "title": input.title,
        "source": input.source,
        "command": input.command,
        "notes": notes(&groups),
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
        "published_alone": published_alone(input, &groups),
        "expectations": findings(input),
        "failures": input.failures.iter().map(|row| json!({ "record": row.folder, "message": row.message })).collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn group(group: &Group) -> Value {
    let metrics: Map<_, _> = COLUMNS
        .iter()
        .map(|column| (column.metric.to_owned(), group.summary(column).as_ref().map_or(Value::Null, statistics)))
        .collect();
    let warnings = group.warnings();
    let runs = group.runs.iter().map(|row| {
        json!({
            "record": row.folder,
            "repetition": row.run.repetition,
            "seed": row.run.seed,
            "versions": row.versions,
            "metrics": row.metrics.metrics,
            "withheld": row.metrics.withheld,
            "warnings": row.metrics.warnings,
        })
    });
    json!({
        "label": group.label,
        "server": group.settings.stack.server,
        "client": group.settings.stack.client,
        "settings": group.settings,
        "metrics": metrics,
        "published": group.published.map(|row| json!({ "values": row.values, "source": row.source })),
        "warnings": warnings.iter().map(|warning| {
            json!({ "code": warning.code, "message": warning.message, "runs": warning.runs })
        }).collect::<Vec<_>>(),
        "verdicts": of_group(group).into_iter().map(|one| {
            let verdict = &one.verdict;
            json!({
                "rule": verdict.rule, "text": verdict.text, "evidence": verdict.evidence, "at_ns": verdict.at_ns,
                "runs": one.runs, "judged": one.judged,
            })
        }).collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
    })
}

pub(crate) fn statistics(summary: &Summary) -> Value {
    json!({
        "count": summary.count,
        "mean": summary.mean,
        "standard_deviation": summary.standard_deviation,
        "median": summary.median,
        "minimum": summary.minimum,
        "maximum": summary.maximum,
    })
}
