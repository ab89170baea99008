//! docs/reference/metrics.md names everything that `metrics.json` can hold, and nothing else.

use std::{collections::BTreeSet, fmt::Write, fs};

use quiclab_metrics::{Better, METRICS, Metric, Need, RunMetrics, WarningCode, find_metric};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
const REFERENCE: &str = include_str!("../../../../docs/reference/metrics.md");

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

/// Compares what a page lists with what there is.
#[track_caller]
fn compare(page: &str, documented: &BTreeSet<String>, expected: &BTreeSet<String>) {
    let list = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>().join("\n    ");
    let (missing, superfluous) = (list(expected, documented), list(documented, expected));
    assert!(documented == expected, "{page}: add\n    {missing}\nand remove\n    {superfluous}");
}

/// One line of Markdown for each metric, between a header and what follows the table.
fn rows(header: &str, row: impl Fn(&Metric) -> String) -> String {
    METRICS.iter().fold(format!("{header}\n"), |mut text, metric| {
        let _ = writeln!(text, "{}", row(metric));
        text
    })
}

fn definitions() -> String {
    rows("| name | unit | definition | null when |\n|---|---|---|---|", |metric| {
        let Metric { name, unit, null_when, .. } = metric;
        let definition: String = metric.definition.concat();
        format!("| `{name}` | {unit} | {} | {null_when} |", definition.trim())
    })
}

fn needs() -> String {
    let list = |needs: &[Need]| needs.iter().map(|need| format!("`{}`", need.name())).collect::<Vec<_>>().join(", ");
    rows("| metric | needs |\n|---|---|", |metric| match metric.needs {
        [] => format!("| `{}` | \u{2013} |", metric.name),
        needs => format!("| `{}` | {} |", metric.name, list(needs)),
    })
}

/// Compares the page with the code. With `UPDATE=1` in the environment the page is written instead.
#[test]
#[expect(clippy::disallowed_methods, reason = "whether to write the page is for whoever runs the test to say")]
fn the_tables_of_metrics_are_those_of_the_code() {
    const UPDATE: &str = "UPDATE=1 cargo test -p quiclab-metrics --test it the_tables_of_metrics";
    const END: &str = "<!-- end -->";
    let mut page = REFERENCE.to_owned();
    for (name, table) in [("metrics", definitions()), ("needs", needs())] {
        let begin = format!("<!-- {name}: generated; {UPDATE} -->\n");
        let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("{FILE}: missing {begin}"));
        let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{FILE}: missing {END} after {begin}"));
        page = format!("{before}{begin}\n{table}\n{END}{after}");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(FILE, page).unwrap();
        return;
    }
    assert!(page == REFERENCE, "{FILE} differs from the declarations in crates/metrics/src/metrics.rs; run {UPDATE}");
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_exists() {
    compare("docs/reference/metrics.md, Metrics", &table("Metrics"), &fields("metrics"));
}

#[test]
fn every_distribution_is_documented_and_every_documented_one_exists() {
    // Those that are left out when they are empty.
    let mut all = fields("distributions");
    all.extend(["bursts", "lateness_ns", "rtt_ns"].map(str::to_owned));
    compare("docs/reference/metrics.md, Distributions", &table("Distributions"), &all);
}

#[test]
fn every_warning_is_documented_and_every_documented_warning_exists() {
    let codes: BTreeSet<String> = WarningCode::ALL.iter().map(|code| code.name().to_owned()).collect();
    assert_eq!(codes.len(), WarningCode::ALL.len());
    compare("docs/reference/metrics.md, Warnings", &table("Warnings"), &codes);
}

#[test]
fn the_reference_of_comparisons_has_the_direction_of_every_metric_that_has_one() {
    const COMPARISONS: &str = include_str!("../../../../docs/reference/ab.md");
    let (_, section) = COMPARISONS.split_once("## Which direction is better").unwrap();
    let documented: BTreeSet<String> =
        section.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
    let row = |name: &String| {
        let metric = find_metric(name).unwrap();
        let better = match metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => return None,
        };
        // Of a part of the transfer, the row of the whole says it.
        (metric.name == name)
            .then(|| format!("| `{name}` | {better} | {} |", if metric.is_primary { "yes" } else { "" }))
    };
    let expected = fields("metrics").iter().filter_map(row).collect();
    compare("docs/reference/ab.md, Which direction is better", &documented, &expected);
}
