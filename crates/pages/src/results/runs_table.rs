//! `runs.parquet`: a row for each run of a folder, with every setting and every metric.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::Result;
use quiclab_experiment::{AnyRun, id_of_folder, run::Versions};
use quiclab_metrics::{Metrics, Withheld};
use quiclab_record::{Measured, ModelsMetrics};
use quiclab_trace::{RunColumn, write_runs};
use quiclab_units::{ByteCount, Duration, Rate};
use serde_json::Value;

/// Name of the file in the folder of a report.
pub const RUNS_FILE: &str = "runs.parquet";

/// A row.
pub struct TableRow<'a> {
    /// Name of the record; of a failed run, the name that it would have had.
    pub record: &'a str,
    /// The run.
    pub run: &'a AnyRun,
    /// What it was made with.
    pub versions: &'a Versions,
    /// Metrics of the run, or why it failed.
    pub outcome: Result<&'a Measured, &'a str>,
}

/// Writes the table.
///
/// # Errors
/// Where it cannot be written.
pub fn write(folder: &Path, rows: &[TableRow]) -> Result<()> {
    Ok(write_runs(&folder.join(RUNS_FILE), &columns(rows))?)
}

fn columns(rows: &[TableRow]) -> Vec<(String, RunColumn)> {
    let mut columns = about(rows);
    for version in rows.iter().flat_map(|row| row.versions.keys()).collect::<BTreeSet<_>>() {
        let texts = rows.iter().map(|row| row.versions.get(version).cloned()).collect();
        columns.push((format!("versions.{version}"), RunColumn::Texts(texts)));
    }
    let settings: Vec<_> = rows.iter().map(|row| row.run.setting_list()).collect();
    let texts: Vec<BTreeMap<_, _>> = settings
        .iter()
        .map(|settings| settings.iter().map(|(key, text)| (key.as_str(), text.as_ref())).collect())
        .collect();
    for key in in_order(&settings) {
        let texts = texts.iter().map(|texts| texts.get(key).copied().flatten().cloned()).collect();
        columns.extend(setting(key, texts));
    }
    columns.extend(metrics(rows));
    columns
}

/// The keys of all rows, each once: those of the first row in its order, and what others have besides.
fn in_order(settings: &[Vec<(String, Option<String>)>]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    settings.iter().flatten().map(|(key, _)| key.as_str()).filter(|key| seen.insert(*key)).collect()
}

/// Which runs they are, and what came of them.
fn about(rows: &[TableRow]) -> Vec<(String, RunColumn)> {
    let texts = |value: &dyn Fn(&TableRow) -> Option<String>| RunColumn::Texts(rows.iter().map(value).collect());
    let wholes = |value: &dyn Fn(&TableRow) -> Option<u64>| {
        RunColumn::Wholes(rows.iter().map(|row| value(row).and_then(|value| i64::try_from(value).ok())).collect())
    };
    let columns = [
        ("record", texts(&|row| Some(row.record.to_owned()))),
        ("id", texts(&|row| Some(id_of(row)))),
        ("experiment", texts(&|row| Some(row.run.experiment().to_owned()))),
        ("testbed", texts(&|row| row.versions.get("testbed").cloned())),
        ("repetition", wholes(&|row| Some(u64::from(row.run.repetition())))),
        ("seed", wholes(&|row| Some(row.run.seed()))),
        (
            "start_shift_ns",
            wholes(&|row| match row.run {
                AnyRun::Transfer(run) => Some(run.start_shift.as_nanos()),
                AnyRun::Models(_) => None,
            }),
        ),
        ("failure", texts(&|row| row.outcome.err().map(str::to_owned))),
        ("warnings", wholes(&|row| row.outcome.ok().map(|measured| measured.warnings().len() as u64))),
        ("warning_codes", texts(&|row| row.outcome.ok().map(warning_codes))),
        ("withheld", texts(&|row| row.outcome.ok().map(withheld))),
    ];
    columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect()
}

fn id_of(row: &TableRow) -> String {
    id_of_folder(row.record).map_or_else(|| row.run.id(row.versions), str::to_owned)
}

/// Each once, in order, with commas between.
fn warning_codes(measured: &Measured) -> String {
    measured
        .warnings()
        .iter()
        .map(|warning| warning.code.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join(",")
}

/// `metric, metric: reason`, with semicolons between.
fn withheld(measured: &Measured) -> String {
    let all: &[Withheld] = match measured {
        Measured::Transfer(measured) => &measured.withheld,
        Measured::Models(measured) => &measured.withheld,
    };
    let reasons = all.iter().map(|withheld| format!("{}: {}", withheld.metrics.join(", "), withheld.reason));
    reasons.collect::<Vec<_>>().join("; ")
}

/// Reads a quantity as a number, if the text is one.
type Read = fn(&str) -> Option<u64>;

/// A setting: under its key as `--set` takes it, and a quantity also as a number, with its unit behind the key.
fn setting(key: &str, texts: Vec<Option<String>>) -> Vec<(String, RunColumn)> {
    let all = |is: &dyn Fn(&str) -> bool| {
        let mut there = texts.iter().flatten().peekable();
        there.peek().is_some() && there.all(|text| is(text))
    };
    if all(&|text| text.parse::<i64>().is_ok()) {
        let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        return vec![(key.to_owned(), RunColumn::Wholes(texts.iter().map(number).collect()))];
    }
    if all(&|text| text.parse::<bool>().is_ok()) {
        let truth = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        return vec![(key.to_owned(), RunColumn::Truths(texts.iter().map(truth).collect()))];
    }
    // The units of rates, sizes and times have no name in common, so at most one of them understands a text.
    let quantities: [(&str, Read); 3] = [
        ("bps", |text| text.parse::<Rate>().ok().map(Rate::as_bits_per_second)),
        ("bytes", |text| text.parse::<ByteCount>().ok().map(ByteCount::as_bytes)),
        ("ns", |text| text.parse::<Duration>().ok().map(Duration::as_nanos)),
    ];
    let mut columns = Vec::new();
    for (unit, read) in quantities {
        let number = |text: &Option<String>| read(text.as_ref()?).and_then(|number| i64::try_from(number).ok());
        let numbers: Vec<_> = texts.iter().map(number).collect();
        if numbers.iter().any(Option::is_some) {
            columns.push((format!("{key}_{unit}"), RunColumn::Wholes(numbers)));
        }
    }
    columns.insert(0, (key.to_owned(), RunColumn::Texts(texts)));
    columns
}

/// Every metric under its own name, which says the unit.
fn metrics(rows: &[TableRow]) -> Vec<(String, RunColumn)> {
    if rows.iter().any(|row| matches!(row.run, AnyRun::Models(_))) {
        return metrics_of_models(rows);
    }
    let json = |metrics: &Metrics| serde_json::to_value(metrics).unwrap_or_default();
    let measured: Vec<_> = rows.iter().map(|row| Some(json(&row.outcome.ok()?.of_transfer()?.metrics))).collect();
    let Value::Object(names) = json(&Metrics::default()) else { return Vec::new() };
    let value = |row: &Option<Value>, name: &str| row.as_ref()?.get(name).cloned();
    let column = |name: &str| {
        if is_whole(name) {
            let number = |row: &Option<Value>| value(row, name)?.as_i64();
            RunColumn::Wholes(measured.iter().map(number).collect())
        } else {
            let number = |row: &Option<Value>| value(row, name)?.as_f64();
            RunColumn::Numbers(measured.iter().map(number).collect())
        }
    };
    names.keys().map(|name| (name.clone(), column(name))).collect()
}

/// The number of events, and every metric that a run of models has.
fn metrics_of_models(rows: &[TableRow]) -> Vec<(String, RunColumn)> {
    let measured: Vec<_> = rows
        .iter()
        .map(|row| match row.outcome {
            Ok(Measured::Models(measured)) => Some(measured),
            _ => None,
        })
        .collect();
    let events = |measured: &Option<&Box<ModelsMetrics>>| i64::try_from((*measured)?.events).ok();
    let names: BTreeSet<_> = measured.iter().flatten().flat_map(|measured| measured.metrics.keys()).collect();
    let metric = |name: &String| {
        let value = |measured: &Option<&Box<ModelsMetrics>>| measured.as_ref()?.metrics.get(name).copied().flatten();
        (name.clone(), RunColumn::Numbers(measured.iter().map(value).collect()))
    };
    let events = ("events".to_owned(), RunColumn::Wholes(measured.iter().map(events).collect()));
    [events].into_iter().chain(names.into_iter().map(metric)).collect()
}

/// True for a metric that counts something: it takes no fraction.
fn is_whole(name: &str) -> bool {
    let half = Value::Object([(name.to_owned(), 0.5.into())].into_iter().collect());
    serde_json::from_value::<Metrics>(half).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_text_number_or_quantity_with_its_unit() {
        let texts = |values: &[&str]| {
            let values = values.iter().map(|text| Some((*text).to_owned()).filter(|text| text != "-"));
            values.collect::<Vec<_>>()
        };
        let text = |values: &[&str]| RunColumn::Texts(texts(values));
        assert_eq!(
            setting("path.rate", texts(&["40 Mbit/s", "-"])),
            [
                ("path.rate".to_owned(), text(&["40 Mbit/s", "-"])),
                ("path.rate_bps".to_owned(), RunColumn::Wholes(vec![Some(40_000_000), None]))
            ]
        );
        assert_eq!(
            setting("tap.snaplen", texts(&["full", "128 B"])),
            [
                ("tap.snaplen".to_owned(), text(&["full", "128 B"])),
                ("tap.snaplen_bytes".to_owned(), RunColumn::Wholes(vec![None, Some(128)]))
            ]
        );
        assert_eq!(
            setting("workload.files", texts(&["3", "-"])),
            [("workload.files".to_owned(), RunColumn::Wholes(vec![Some(3), None]))]
        );
        assert_eq!(
            setting("tap.qlog", texts(&["false", "true"])),
            [("tap.qlog".to_owned(), RunColumn::Truths(vec![Some(false), Some(true)]))]
        );
        assert_eq!(setting("stack.name", texts(&["quiche"])), [("stack.name".to_owned(), text(&["quiche"]))]);
        assert_eq!(setting("stack.hystart", texts(&["-"])), [("stack.hystart".to_owned(), text(&["-"]))]);
    }

    #[test]
    fn withheld_metrics_are_told_with_their_reason() {
        let mut measured: quiclab_metrics::RunMetrics = serde_json::from_value(serde_json::json!({
            "schema": quiclab_metrics::SCHEMA,
            "metrics": Metrics::default(),
            "distributions": quiclab_metrics::Distributions::default(),
            "warnings": [],
        }))
        .unwrap();
        let row = |metrics: &quiclab_metrics::RunMetrics| Measured::Transfer(Box::new(metrics.clone()));
        assert_eq!((withheld(&row(&measured)), warning_codes(&row(&measured))), (String::new(), String::new()));
        measured.withheld = [("no keys", ["stream_bytes", "packets_lost"]), ("no second tap", ["a", "b"])]
            .map(|(reason, metrics)| quiclab_metrics::Withheld {
                reason: reason.to_owned(),
                metrics: metrics.map(str::to_owned).into(),
            })
            .into();
        assert_eq!(withheld(&row(&measured)), "stream_bytes, packets_lost: no keys; a, b: no second tap");
    }

    #[test]
    fn counts_are_whole_and_shares_are_not() {
        assert!(is_whole("packets_sent") && is_whole("gap_median_ns"));
        assert!(!is_whole("goodput_wire_bps") && !is_whole("train_share_of_packets_1"));
        let names: Vec<String> = metrics(&[]).into_iter().map(|(name, _)| name).collect();
        let others: Vec<String> = about(&[]).into_iter().map(|(name, _)| name).collect();
        assert!(names.len() > 50 && others.iter().all(|other| !names.contains(other)));
    }
}
