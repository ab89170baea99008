//! The runs of a scenario by their settings.

use std::collections::BTreeMap;

use quiclab_experiment::scenario::MetricName;
use quiclab_metrics::Summary;

use super::report::{ScenarioReport, ScenarioRow};
use crate::{columns::NOTHING, findings::Repeated, number::number};

/// All runs with the same settings.
pub(super) struct Group<'a> {
    pub label: String,
    pub settings: &'a BTreeMap<String, String>,
    pub runs: Vec<&'a ScenarioRow>,
}

impl<'a> Group<'a> {
    /// All groups of a report, in the order in which their first runs stand.
    pub(super) fn all(report: &'a ScenarioReport) -> Vec<Self> {
        let mut places: BTreeMap<&BTreeMap<String, String>, usize> = BTreeMap::new();
        let mut groups: Vec<Self> = Vec::new();
        for run in &report.runs {
            let place = *places.entry(&run.settings).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.runs.push(run),
                None => groups.push(Self { label: String::new(), settings: &run.settings, runs: vec![run] }),
            }
        }
        let texts: Vec<_> = groups.iter().map(|group| group.settings.clone()).collect();
        for (group, label) in groups.iter_mut().zip(report.labels.of_settings(&texts)) {
            group.label = label;
        }
        groups
    }

    pub(super) fn summary(&self, metric: &str) -> Option<Summary> {
        Summary::of(self.runs.iter().filter_map(|run| run.metrics.get(metric).copied()))
    }

    /// Mean and standard deviation, in the unit of the metric's name or, of rates, in Mbit/s.
    pub(super) fn cell(&self, metric: &str) -> String {
        let divisor = MetricName::new(metric).quantity().divisor();
        let Some(summary) = self.summary(metric) else { return NOTHING.to_owned() };
        let mean = number(summary.mean / divisor);
        match summary.standard_deviation {
            Some(deviation) if deviation > 0.0 => format!("{mean} \u{b1} {}", number(deviation / divisor)),
            _ => mean,
        }
    }
}

impl Repeated for Group<'_> {
    fn label(&self) -> &str {
        &self.label
    }

    fn repetitions(&self, metric: &str) -> Vec<(u32, f64)> {
        self.runs.iter().filter_map(|run| Some((run.repetition, *run.metrics.get(metric)?))).collect()
    }
}

/// The settings of all groups of runs, in the order of the findings.
pub(crate) fn scenario_groups(report: &ScenarioReport) -> impl Iterator<Item = &BTreeMap<String, String>> {
    Group::all(report).into_iter().map(|group| group.settings)
}

/// Metrics of all groups, in order of name.
pub(super) fn metric_names<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let names = groups.iter().flat_map(|group| group.runs.iter().copied()).flat_map(|run| run.metrics.keys());
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}
