//! docs/reference/metrics.md names everything that `metrics.json` can hold, and nothing else.

use std::collections::BTreeSet;

use quiclab_metrics::{Better, RunMetrics, WarningCode, metric_facts};

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

#[test]
fn the_reference_of_comparisons_has_the_direction_of_every_metric_that_has_one() {
    const COMPARISONS: &str = include_str!("../../../docs/reference/ab.md");
    let (_, section) = COMPARISONS.split_once("## Which direction is better").unwrap();
    let documented: BTreeSet<String> =
        section.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
    let row = |name: &String| {
        let facts = metric_facts(name).unwrap();
        let better = match facts.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => return None,
        };
        // Of a part of the transfer, the row of the whole says it.
        (facts.name == name).then(|| format!("| `{name}` | {better} | {} |", if facts.is_primary { "yes" } else { "" }))
    };
    assert_eq!(documented, fields("metrics").iter().filter_map(row).collect());
}
