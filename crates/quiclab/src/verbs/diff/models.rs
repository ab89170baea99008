//! Where two records of models differ: they have no packets, so their metrics and series are compared.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::Result;
use quiclab_experiment::scenario::TIME;
use quiclab_record::{ModelsMetrics, ModelsRecord};
use serde_json::{Value, json};

use crate::terminal::output;

/// Metrics that differ are named up to this number; the others are counted.
const MOST_METRICS: usize = 12;

/// The first interval in which a series differs.
struct FirstDifference {
    /// Number of the interval, from 0.
    interval: usize,
    /// Its end in seconds; `None` where neither record has it.
    until_s: Option<f64>,
    /// The series that differ there, with both values.
    series: BTreeMap<String, [Option<f64>; 2]>,
}

/// Compares metrics and series. Returns 0 where all are the same, 1 where not. `made` is what the records were made with, as far as that
/// differs.
///
/// # Errors
/// Where nothing can be printed.
pub fn diff(
    as_json: bool,
    paths: [&Path; 2],
    records: [&ModelsRecord; 2],
    made: &BTreeMap<String, [String; 2]>,
) -> Result<u8> {
    let [one, other] = records.map(|record| &record.metrics);
    let metrics = differing_metrics(one, other);
    let first = first_difference(one, other);
    let is_same = metrics.is_empty() && first.is_none() && one.end == other.end && one.events == other.events;
    if as_json {
        let first = first
            .as_ref()
            .map(|first| json!({ "interval": first.interval + 1, "until_s": first.until_s, "series": first.series }));
        let all = json!({
            "one": paths[0].display().to_string(),
            "other": paths[1].display().to_string(),
            "made_with": made,
            "packets": Value::Null,
            "events": [one.events, other.events],
            "metrics": metrics,
            "first_difference": first,
        });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        return Ok(u8::from(!is_same));
    }
    let mut text = format!("A  {}\nB  {}\n", paths[0].display(), paths[1].display());
    for (name, [left, right]) in made {
        let _ = writeln!(text, "   {name}: A {left}, B {right}");
    }
    text.push_str("Models have no packets: comparing their metrics and the series of each interval\n");
    if is_same {
        let _ = writeln!(text, "all metrics and series are the same, after {} events", one.events);
        output::print(&text)?;
        return Ok(0);
    }
    let _ = writeln!(text, "{} and {} events", one.events, other.events);
    match &first {
        None => text.push_str("\nall series are the same\n"),
        Some(first) => {
            let until = first.until_s.map_or_else(String::new, |time| format!(", which ends at {time} s"));
            let _ = writeln!(text, "\nthe first interval that differs is number {}{until}", first.interval + 1);
            for (name, values) in &first.series {
                let _ = writeln!(text, "   {name}: {}", sides(values));
            }
        }
    }
    let _ = writeln!(text, "\n{} metrics differ", metrics.len());
    for (name, values) in metrics.iter().take(MOST_METRICS) {
        let _ = writeln!(text, "   {name}: {}", sides(values));
    }
    if let Some(more) = metrics.len().checked_sub(MOST_METRICS).filter(|more| *more > 0) {
        let _ = writeln!(text, "   and {more} more");
    }
    output::print(&text)?;
    Ok(1)
}

fn sides(values: &[Option<f64>; 2]) -> String {
    let [left, right] = values.map(|value| value.map_or_else(|| "null".to_owned(), |value| value.to_string()));
    format!("A {left}, B {right}")
}

fn differing_metrics(one: &ModelsMetrics, other: &ModelsMetrics) -> BTreeMap<String, [Option<f64>; 2]> {
    let names = one.metrics.keys().chain(other.metrics.keys());
    let values = names.map(|name| (name.clone(), [one, other].map(|side| side.metrics.get(name).copied().flatten())));
    values.filter(|(_, [left, right])| left != right).collect()
}

fn first_difference(one: &ModelsMetrics, other: &ModelsMetrics) -> Option<FirstDifference> {
    let names: Vec<_> =
        one.series.keys().chain(other.series.keys().filter(|name| !one.series.contains_key(*name))).collect();
    let at = |side: &ModelsMetrics, name: &str, interval: usize| {
        side.series.get(name).and_then(|values| values.get(interval).copied())
    };
    let lengths = [one, other].into_iter().flat_map(|side| side.series.values()).map(Vec::len);
    for interval in 0..lengths.max().unwrap_or(0) {
        let pairs = names.iter().map(|name| (*name, [at(one, name, interval), at(other, name, interval)]));
        let differing = pairs.filter(|(_, [left, right])| left != right);
        let series: BTreeMap<_, _> =
            differing.map(|(name, values)| (name.clone(), values.map(Option::flatten))).collect();
        if !series.is_empty() {
            let until_s = at(one, TIME, interval).or(at(other, TIME, interval)).flatten();
            return Some(FirstDifference { interval, until_s, series });
        }
    }
    None
}
