//! Senders side by side: who sends smoothly, who builds queues, who causes drops, who is fast, and where bursts come from.

use quiclab_experiment::run::Settings;
use quiclab_metrics::Metrics;

use crate::{
    burst_causes::{CAUSES, of_all_packets},
    columns::NOTHING,
    groups::Group,
    input::ReportInput,
};

/// One thing that senders are ranked by.
pub(crate) struct Criterion {
    /// The heading, with the unit.
    pub heading: &'static str,
    /// The criterion's value of one run.
    value: fn(&Metrics, &Settings) -> Option<f64>,
    /// Whether more is better.
    more_is_better: bool,
    /// Digits behind the point.
    decimals: usize,
}

/// What senders are ranked by, in the order of the table.
pub(crate) const CRITERIA: [Criterion; 4] = [
    Criterion {
        heading: "packets in trains > 5, share",
        value: |metrics, _| metrics.burst_share_of_packets,
        more_is_better: false,
        decimals: 3,
    },
    Criterion {
        heading: "median RTT above the path's, ms",
        value: |metrics, settings| {
            let delays = settings.path.round_trip().as_nanos();
            metrics.rtt_median_ns.map(|median| (median as f64 - delays as f64) / 1e6)
        },
        more_is_better: false,
        decimals: 2,
    },
    Criterion {
        heading: "drops, packets",
        value: |metrics, _| metrics.drops_packets.map(|drops| drops as f64),
        more_is_better: false,
        decimals: 1,
    },
    Criterion {
        heading: "goodput on the wire, Mbit/s",
        value: |metrics, _| metrics.goodput_wire_bps.map(|goodput| goodput / 1e6),
        more_is_better: true,
        decimals: 2,
    },
];

/// The senders at one path, best first.
pub(crate) struct Ranking {
    /// The path in words.
    pub path: String,
    /// The senders by the mean of their places; equal ones in the order of the report.
    pub rows: Vec<Ranked>,
}

/// One sender.
pub(crate) struct Ranked {
    /// Name of the sender's group.
    pub label: String,
    /// Mean over the runs, and place among all from 1, by criterion; `None` where nothing was measured, which ranks last.
    pub places: [(Option<f64>, usize); CRITERIA.len()],
    /// The mean of the places.
    pub mean_place: f64,
    /// Why most of its bursty packets left together, and the share of all packets that did; `None` without bursts.
    pub cause: Option<(&'static str, f64)>,
}

impl Criterion {
    /// A value with its place.
    pub fn cell(&self, (value, place): (Option<f64>, usize)) -> String {
        value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.*} ({place})", self.decimals))
    }
}

impl Ranked {
    /// The cause of its bursts in words.
    pub fn cause_cell(&self) -> String {
        self.cause.map_or_else(|| NOTHING.to_owned(), |(name, share)| format!("{name}, {share:.3}"))
    }
}

/// One ranking for each path; none where the experiment asks for none.
pub(crate) fn rankings(input: &ReportInput, groups: &[Group]) -> Vec<Ranking> {
    if !input.ranking {
        return Vec::new();
    }
    let mut paths: Vec<(String, Vec<&Group>)> = Vec::new();
    for group in groups {
        let path = group.settings.path_described();
        match paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, members)) => members.push(group),
            None => paths.push((path, vec![group])),
        }
    }
    paths.into_iter().map(|(path, members)| Ranking { path, rows: ranked(&members) }).collect()
}

fn ranked(groups: &[&Group]) -> Vec<Ranked> {
    let places = CRITERIA.each_ref().map(|criterion| {
        let means: Vec<_> = groups.iter().map(|group| mean(group, criterion)).collect();
        let better = |one: f64, other: f64| if criterion.more_is_better { one > other } else { one < other };
        let place = |value: &Option<f64>| match value {
            // Equal values share a place.
            Some(value) => 1 + means.iter().flatten().filter(|other| better(**other, *value)).count(),
            None => means.len(),
        };
        means.iter().map(|value| (*value, place(value))).collect::<Vec<_>>()
    });
    let row = |(number, group): (usize, &&Group)| {
        let own = places.each_ref().map(|of_criterion| of_criterion[number]);
        let mean_place = own.iter().map(|(_, place)| *place as f64).sum::<f64>() / CRITERIA.len() as f64;
        let causes = CAUSES.iter().filter_map(|(metric, name)| Some((*name, of_all_packets(group, metric)?)));
        let cause = causes.filter(|(_, share)| *share > 0.0).max_by(|one, other| one.1.total_cmp(&other.1));
        Ranked { label: group.label.clone(), places: own, mean_place, cause }
    };
    let mut rows: Vec<_> = groups.iter().enumerate().map(row).collect();
    rows.sort_by(|one, other| one.mean_place.total_cmp(&other.mean_place));
    rows
}

fn mean(group: &Group, criterion: &Criterion) -> Option<f64> {
    let values = group.runs.iter().filter_map(|run| (criterion.value)(&run.metrics.metrics, group.settings));
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
