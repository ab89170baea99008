//! docs/reference/metrics.md names everything that `metrics.json` can hold, and nothing else.

use std::collections::BTreeSet;

use quiclab_metrics::{RunMetrics, WarningCode};

const REFERENCE: &str = include_str!("../../../docs/reference/metrics.md");

/// Names in the first column of the table below this heading.
fn table(heading: &str) -> BTreeSet<String> {
    let section = REFERENCE.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn fields(of: &str) -> BTreeSet<String> {
    let json: serde_json::Value = serde_json::from_str(&RunMetrics::empty().to_json()).unwrap();
    json[of].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_exists() {
    assert_eq!(table("Metrics"), fields("metrics"));
}

#[test]
fn every_distribution_is_documented_and_every_documented_one_exists() {
    // Those that are left out when they are empty.
    let mut all = fields("distributions");
    all.extend(["bursts", "lateness_ns", "rtt_ns"].map(str::to_owned));
    assert_eq!(table("Distributions"), all);
}

#[test]
fn every_warning_is_documented_and_every_documented_warning_exists() {
    let codes: BTreeSet<String> = WarningCode::ALL.iter().map(|code| code.name().to_owned()).collect();
    assert_eq!(codes.len(), WarningCode::ALL.len());
    assert_eq!(table("Warnings"), codes);
}
