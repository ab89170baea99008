//! The report of a scenario: many runs of models, their metrics, and curves over time or over a setting.

mod figure;
mod html;
mod json;
mod markdown;
mod terminal;
mod transfers;

use std::collections::BTreeMap;

use quiclab_experiment::{
    Expectation,
    scenario::{FigureSpec, Labels, metric_in_words, quantity_of},
};
use quiclab_metrics::Summary;

use crate::{
    figures::Figure,
    findings::{Finding, InterimAnalyses, Repeated, Shown, judge_all, number},
    input::FailureRow,
    plot,
};

pub use html::render_scenario_html;
pub use json::render_scenario_json;
pub use markdown::render_scenario_markdown;
pub use terminal::render_scenario_terminal;
pub(crate) use transfers::transfer_figures;

/// Everything the report of a scenario shows. Equal inputs give equal bytes.
#[derive(Clone, Debug)]
pub struct ScenarioReport {
    /// Name of the experiment, for example `tcp-pacing/fig03`.
    pub experiment: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// The command that makes the runs again.
    pub command: String,
    /// The simulator that made them.
    pub simulator: String,
    /// The runs, in the order of the plan.
    pub runs: Vec<ScenarioRow>,
    /// What failed.
    pub failures: Vec<FailureRow>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// When the results were evaluated, where runs were repeated until claims were decided; `None`: once.
    pub looks: Option<InterimAnalyses>,
    /// The pictures that the file asks for.
    pub figures: Vec<FigureSpec>,
    /// What settings, their values and groups of flows are called.
    pub labels: Labels,
}

/// One run.
#[derive(Clone, Debug)]
pub struct ScenarioRow {
    /// Name of its record.
    pub folder: String,
    /// Its identity.
    pub id: String,
    /// Which repetition it is, from 1.
    pub repetition: u32,
    /// Its seed.
    pub seed: u64,
    /// Every setting as text.
    pub settings: BTreeMap<String, String>,
    /// Whether all of its time was simulated.
    pub is_whole: bool,
    /// Events that were handled.
    pub events: u64,
    /// The metrics that could be measured.
    pub metrics: BTreeMap<String, f64>,
    /// What was seen at the end of each interval.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

/// All runs with the same settings.
struct Group<'a> {
    label: String,
    settings: &'a BTreeMap<String, String>,
    runs: Vec<&'a ScenarioRow>,
}

impl<'a> Group<'a> {
    /// All groups of a report, in the order in which their first runs stand.
    fn all(report: &'a ScenarioReport) -> Vec<Self> {
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

    fn summary(&self, metric: &str) -> Option<Summary> {
        Summary::of(self.runs.iter().filter_map(|run| run.metrics.get(metric).copied()))
    }

    /// Mean and standard deviation, in the unit of the metric's name or, of rates, in Mbit/s.
    fn cell(&self, metric: &str) -> String {
        let divisor = quantity_of(metric).divisor();
        let Some(summary) = self.summary(metric) else { return crate::columns::NOTHING.to_owned() };
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

/// Every picture that has something to show: its name, and the text of its SVG file.
pub fn render_scenario_figures(report: &ScenarioReport) -> Vec<(String, String)> {
    let groups = Group::all(report);
    figures(report, &groups).map(|figure| (figure.id.clone(), plot::file(&figure))).collect()
}

/// The pictures, in the order of the file.
fn figures(report: &ScenarioReport, groups: &[Group]) -> impl Iterator<Item = Figure> {
    let all = report.figures.iter().enumerate();
    all.flat_map(|(number, spec)| figure::draw(number, spec, groups, &report.labels))
}

/// The settings of all groups of runs, in the order of the findings.
pub(crate) fn scenario_groups(report: &ScenarioReport) -> impl Iterator<Item = &BTreeMap<String, String>> {
    Group::all(report).into_iter().map(|group| group.settings)
}

/// What came of the expectations.
pub fn scenario_findings(report: &ScenarioReport) -> Vec<Finding> {
    let groups = Group::all(report);
    let settings: Vec<_> = groups.iter().map(|group| group.settings).collect();
    let found = judge_all(&report.expectations, &groups, &settings, report.looks);
    found.into_iter().map(|one| Finding { shown: shown(&one.metric, &report.labels), ..one }).collect()
}

/// Metrics of all groups, in order of name.
fn metric_names<'a>(groups: &[Group<'a>]) -> Vec<&'a str> {
    let names = groups.iter().flat_map(|group| group.runs.iter().copied()).flat_map(|run| run.metrics.keys());
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// How a metric is shown, with the name of its group of flows.
fn shown(metric: &str, labels: &Labels) -> Shown {
    let mut words = metric_in_words(metric);
    if let Some((_, group)) = metric.split_once('.') {
        words = format!("{words} of {}", labels.group(group));
    }
    let quantity = quantity_of(metric);
    Shown { words, unit: quantity.unit().to_owned(), divisor: quantity.divisor() }
}

/// How a metric is called in the heading of a table, with its unit.
fn heading(metric: &str, labels: &Labels) -> String {
    let Shown { words, unit, .. } = shown(metric, labels);
    if unit.is_empty() { words } else { format!("{words}, {unit}") }
}

#[cfg(test)]
mod tests {
    use super::{Labels, heading};

    #[test]
    fn a_heading_has_words_and_the_unit() {
        let groups = [("paced".to_owned(), "Paced Reno".to_owned())].into();
        let labels = Labels { groups, ..Labels::default() };
        assert_eq!(heading("goodput_bps.paced", &labels), "goodput of Paced Reno, Mbit/s");
        assert_eq!(heading("goodput_bps.plain", &labels), "goodput of plain, Mbit/s");
        assert_eq!(heading("fairness_by_rtt", &labels), "Jain's fairness index of rate \u{d7} RTT");
        assert_eq!(heading("first_loss_s", &labels), "time of the first loss, s");
    }
}
