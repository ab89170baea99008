//! What repetitions look like besides scattered around a mean, and whether there were enough of them: warnings about groups of runs.

use std::collections::BTreeSet;

use quiclab_experiment::{Until, run::is_sample};
use quiclab_metrics::{Drift, Modes, Precision, holm, outliers};

use super::group::{Group, GroupWarning};
use crate::{
    input::{ReportInput, RunRow},
    number::number,
    quantity::Shown,
};

/// The chance of a warning of drift in a report without any, however many settings and metrics it has.
const DRIFT_ALPHA: f64 = 0.01;
/// Looked at in every report.
const USUAL: &str = "goodput_wire_bps";

/// Values of a metric in the order in which they were measured.
struct Series {
    group: usize,
    shown: Shown,
    values: Vec<f64>,
    drift: Option<Drift>,
}

/// The warnings about each group, in the order of the groups: of runs in real time outliers, drift and two modes; of all, whether the repetitions
/// ended before the metric was known well enough.
pub(crate) fn warnings(groups: &[Group], input: &ReportInput) -> Vec<Vec<GroupWarning>> {
    let mut all: Vec<Vec<GroupWarning>> = groups.iter().map(|_| Vec::new()).collect();
    let mut series = series(groups, &metrics(input));
    let p_values: Vec<_> = series.iter().map(|one| one.drift.map_or(1.0, |drift| drift.p)).collect();
    for (one, p) in series.iter_mut().zip(holm(&p_values)) {
        let found = &mut all[one.group];
        found.extend(outlier(one));
        found.extend(one.drift.filter(|_| p <= DRIFT_ALPHA).map(|drift| drifting(one, drift)));
        found.extend(Modes::of(&one.values).map(|modes| in_two(one, modes)));
    }
    if let Some(until) = &input.until {
        for (group, found) in groups.iter().zip(&mut all) {
            found.extend(not_enough(&group.values(&until.metric), group.runs.len(), until));
        }
    }
    all
}

/// The metrics that somebody looks at.
fn metrics(input: &ReportInput) -> BTreeSet<&str> {
    let expected = input.expectations.iter().filter(|one| !one.is_of_losses()).map(|one| one.metric.as_str());
    let until = input.until.iter().map(|until| until.metric.as_str());
    [USUAL].into_iter().chain(expected).chain(until).collect()
}

fn series(groups: &[Group], metrics: &BTreeSet<&str>) -> Vec<Series> {
    let of_group = |(place, group): (usize, &Group)| {
        let mut runs: Vec<&RunRow> = group.runs.clone();
        if runs.iter().any(|run| !is_sample(&run.versions)) {
            return Vec::new();
        }
        // Without a time, the order of the plan, in which repetitions follow each other.
        runs.sort_by_key(|run| run.started_unix_ms);
        let of_metric = |metric: &&str| {
            let values: Vec<_> = runs.iter().filter_map(|run| run.metrics.metrics.value(metric).flatten()).collect();
            Series { group: place, shown: Shown::of_metric(metric), drift: Drift::of(&values), values }
        };
        metrics.iter().map(of_metric).collect()
    };
    groups.iter().enumerate().flat_map(of_group).collect()
}

fn outlier(series: &Series) -> Option<GroupWarning> {
    let Series { shown, values, .. } = series;
    let places = outliers(values);
    let first = *places.first()?;
    let found = places.iter().map(|place| shown.value(values[*place])).collect::<Vec<_>>().join(", ");
    let why = match (first, places.len()) {
        (0, 1) => "; it was the first one: caches may have been cold, or the machine woke up".to_owned(),
        _ => String::new(),
    };
    let message = format!(
        "{}: {found}{} far from the others (ten standard deviations or more by their median absolute deviation){why}; \
         look at what the machine did, and repeat on a quiet one",
        shown.words,
        shown.unit_behind()
    );
    Some(GroupWarning { code: "outliers".to_owned(), message, runs: places.len() })
}

fn drifting(series: &Series, drift: Drift) -> GroupWarning {
    let Series { shown, values, .. } = series;
    let word = if drift.change < 0.0 { "fell" } else { "rose" };
    let message = format!(
        "{} {word} by about {}{} from the first run to the last (Mann-Kendall, tau {:.2}, p {}): the machine changed while \
         it measured; runs of different settings are interleaved, so compare them, but do not trust the mean",
        shown.words,
        shown.value(drift.change.abs()),
        shown.unit_behind(),
        drift.tau,
        number(drift.p)
    );
    GroupWarning { code: "drift".to_owned(), message, runs: values.len() }
}

fn in_two(series: &Series, modes: Modes) -> GroupWarning {
    let Series { shown, values, .. } = series;
    let Modes { dip, counts, centres } = modes;
    let message = format!(
        "{} has two modes: around {} in {} runs and around {}{} in {} (dip {}, p below 0.01): the mean is the value of \
         neither",
        shown.words,
        shown.value(centres[0]),
        counts[0],
        shown.value(centres[1]),
        shown.unit_behind(),
        counts[1],
        number(dip)
    );
    GroupWarning { code: "two_modes".to_owned(), message, runs: values.len() }
}

fn not_enough(values: &[f64], runs: usize, until: &Until) -> Option<GroupWarning> {
    let Until { metric, width, at_most, .. } = until;
    let words = Shown::of_metric(metric).words;
    let found = match Precision::of(values) {
        Some(precision) if precision.half_width <= *width => return None,
        Some(precision) => {
            format!("is known to \u{b1} {} % of the mean", number(precision.half_width * 100.0))
        }
        None => format!("has {} values", values.len()),
    };
    let why = if runs >= *at_most as usize {
        format!("at_most = {at_most} ended the repetition")
    } else {
        "runs failed, or the repetition was interrupted".to_owned()
    };
    let message = format!(
        "{words} {found} after {runs} runs (95 % interval), expected \u{b1} {} %: {why}",
        number(until.percent())
    );
    Some(GroupWarning { code: "interval_too_wide".to_owned(), message, runs })
}
