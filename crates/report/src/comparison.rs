//! Two sets of results, held against each other: the same settings on two testbeds, or before and after a change.

use std::fmt::Write as _;

use quiclab_experiment::run::{HostModel, Settings};
use quiclab_metrics::{Distributions, Summary, difference_by_chance, distribution_distance};
use serde_json::{Value, json};

use crate::{
    columns::{COLUMNS, Column, NOTHING, Place},
    groups::Group,
    input::ReportInput,
    json::statistics,
    terminal::{DEFAULT_WIDTH, table},
};

/// Runs of the same settings in two sets of results.
struct Pair<'a> {
    label: String,
    one: &'a Group<'a>,
    other: &'a Group<'a>,
}

/// Every group of `one` with every group of `other` that has the same settings, but for those that only models of hosts have; and what
/// has no counterpart.
struct Comparison<'a> {
    pairs: Vec<Pair<'a>>,
    alone: [Vec<&'a str>; 2],
}

impl<'a> Comparison<'a> {
    /// `None` where there is no pair.
    fn of(one: &'a [Group<'a>], other: &'a [Group<'a>]) -> Option<Self> {
        let are_pair = |left: &Group, right: &Group| without_model(left.settings) == without_model(right.settings);
        let mut pairs = Vec::new();
        for left in one {
            for right in other.iter().filter(|right| are_pair(left, right)) {
                // The longer one also says what the hosts are like.
                let label = if left.label.len() > right.label.len() { &left.label } else { &right.label };
                pairs.push(Pair { label: label.clone(), one: left, other: right });
            }
        }
        let lonely = |own: &'a [Group<'a>], others: &[Group]| {
            let groups = own.iter().filter(|group| !others.iter().any(|other| are_pair(group, other)));
            groups.map(|group| group.label.as_str()).collect()
        };
        (!pairs.is_empty()).then(|| Self { alone: [lonely(one, other), lonely(other, one)], pairs })
    }
}

impl Pair<'_> {
    /// Distance of two distributions, over all runs of each side.
    fn distance(&self, part: impl Fn(&Distributions) -> Vec<(u64, u64)>) -> Option<f64> {
        let all =
            |group: &Group| group.runs.iter().flat_map(|run| part(&run.metrics.distributions)).collect::<Vec<_>>();
        distribution_distance(all(self.one), all(self.other))
    }

    fn gaps(&self) -> Option<f64> {
        self.distance(|distributions| distributions.gaps_ns.clone())
    }

    /// Of packets, by the length of the train they are in.
    fn trains(&self) -> Option<f64> {
        let packets = |(length, count): &(u64, u64)| (*length, length * count);
        self.distance(|distributions| distributions.trains.iter().map(packets).collect())
    }

    fn summaries(&self, column: &Column) -> [Option<Summary>; 2] {
        [self.one.summary(column), self.other.summary(column)]
    }
}

/// By how much the mean of `other` is above that of `one`, as a share of it; `None` where that is 0.
fn relative_difference(one: &Summary, other: &Summary) -> Option<f64> {
    (one.mean != 0.0).then(|| other.mean / one.mean - 1.0)
}

/// A table for each pair: distances of distributions, and the metrics with how often chance alone would have them so far apart. `None`
/// where no settings are in both.
pub fn render_comparison_terminal(one: &ReportInput, other: &ReportInput, width: Option<u16>) -> Option<String> {
    let groups = [Group::all(one), Group::all(other)];
    let comparison = Comparison::of(&groups[0], &groups[1])?;
    let mut text = format!("A  {}\nB  {}\n", title(one), title(other));
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.place == Place::Brief).collect();
    for pair in &comparison.pairs {
        let _ = writeln!(text, "\n{}: {} and {} runs", pair.label, pair.one.runs.len(), pair.other.runs.len());
        let mut rows = Vec::new();
        for column in &columns {
            let summaries = pair.summaries(column);
            let [left, right] = [0, 1].map(|side| column.cell(summaries[side].as_ref()));
            let both = summaries[0].as_ref().zip(summaries[1].as_ref());
            let difference = both.and_then(|(one, other)| relative_difference(one, other));
            let chance = both.and_then(|(one, other)| difference_by_chance(one, other));
            let difference = difference.map_or_else(|| NOTHING.to_owned(), |share| format!("{:+.1} %", share * 100.0));
            let chance = chance.map_or_else(|| NOTHING.to_owned(), chance_in_words);
            rows.push(vec![column.heading.to_owned(), left, right, difference, chance]);
        }
        let headings = ["", "A", "B", "B against A", "by chance"];
        let _ = writeln!(text, "{}", table(headings.into_iter(), &rows, width.unwrap_or(DEFAULT_WIDTH)));
        let distance =
            |distance: Option<f64>| distance.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(
            text,
            "distance of the gaps {}, of the packets by the length of their trains {} (0: the same, 1: nothing in common)",
            distance(pair.gaps()),
            distance(pair.trains())
        );
    }
    for (letter, alone) in ["A", "B"].into_iter().zip(&comparison.alone) {
        for label in alone {
            let _ = writeln!(text, "\nonly in {letter}: {label}");
        }
    }
    Some(text)
}

/// The same as JSON, with every metric.
pub fn render_comparison_json(one: &ReportInput, other: &ReportInput) -> Option<String> {
    let groups = [Group::all(one), Group::all(other)];
    let comparison = Comparison::of(&groups[0], &groups[1])?;
    let pairs: Vec<_> = comparison
        .pairs
        .iter()
        .map(|pair| {
            let metrics: serde_json::Map<String, Value> = COLUMNS
                .iter()
                .map(|column| {
                    let [left, right] = pair.summaries(column);
                    let both = left.as_ref().zip(right.as_ref());
                    let row = json!({
                        "one": left.as_ref().map(statistics),
                        "other": right.as_ref().map(statistics),
                        "relative_difference": both.and_then(|(one, other)| relative_difference(one, other)),
                        "by_chance": both.and_then(|(one, other)| difference_by_chance(one, other)),
                    });
                    (column.metric.to_owned(), row)
                })
                .collect();
            json!({
                "label": pair.label,
                "runs": [pair.one.runs.len(), pair.other.runs.len()],
                "gap_distance": pair.gaps(),
                "train_distance": pair.trains(),
                "metrics": metrics,
            })
        })
        .collect();
    let [only_in_one, only_in_other] = &comparison.alone;
    let all = json!({
        "one": title(one),
        "other": title(other),
        "pairs": pairs,
        "only_in_one": only_in_one,
        "only_in_other": only_in_other,
    });
    Some(format!("{all:#}\n"))
}

fn title(input: &ReportInput) -> String {
    format!("{}: {}", input.experiment, input.command)
}

/// Settings as they are without what only models of hosts have.
fn without_model(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    settings.hosts.model = HostModel::default();
    settings
}

fn chance_in_words(chance: f64) -> String {
    if chance < 0.001 { "< 0.001".to_owned() } else { format!("{chance:.3}") }
}
