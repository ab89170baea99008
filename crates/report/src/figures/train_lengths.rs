//! How long packet trains are.

use std::collections::BTreeMap;

use crate::{
    groups::Group,
    plot::{Axis, Figure, Line, Mark, Plot, style},
};

/// Number of groups up to which the share of trains is drawn as well.
const MOST_WITH_TRAINS: usize = 6;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut thresholds: Vec<_> = groups.iter().map(|group| group.settings.analysis.train_threshold).collect();
    thresholds.sort();
    thresholds.dedup();
    let thresholds: Vec<_> = thresholds.iter().map(ToString::to_string).collect();
    Figure {
        id: "train-lengths".to_owned(),
        title: "Packet trains".to_owned(),
        caption: format!(
            "Share of packets that left in trains of at most this length. A train is a run of packets with gaps below \
             {}.",
            thresholds.join(" or ")
        ),
        plot: plot(groups, "share of packets", |length, trains| length * trains),
    }
}

/// `None` of so many groups that nobody could tell their curves apart.
pub(super) fn of_trains(groups: &[Group]) -> Option<Figure> {
    (groups.len() <= MOST_WITH_TRAINS).then(|| Figure {
        id: "train-counts".to_owned(),
        title: "Packet trains, each counted once".to_owned(),
        caption: "Share of trains of at most this length, which hides how many packets the long ones have.".to_owned(),
        plot: plot(groups, "share of trains", |_, trains| trains),
    })
}

/// The share up to each length of train, where a number of trains of one length weighs as `weight` says.
fn plot(groups: &[Group], title: &str, weight: impl Fn(u64, u64) -> u64) -> Plot {
    let x = Axis::logarithmic("length of the train, packets");
    let mut plot = Plot::new(x, Axis::between(title, 0.0, 1.02));
    for (place, group) in groups.iter().enumerate() {
        let mut weights: BTreeMap<u64, u64> = BTreeMap::new();
        for (length, trains) in group.runs.iter().flat_map(|run| &run.metrics.distributions.trains) {
            *weights.entry(*length).or_default() += weight(*length, *trains);
        }
        let total: u64 = weights.values().sum();
        let mut below = 0;
        let shares = weights.into_iter().map(|(length, weight)| {
            below += weight;
            (length as f64, below as f64 / total as f64)
        });
        let line = Line::of_place(place, shares.collect()).stepped().marks(Mark::SmallDot);
        plot.add(&group.label, style::colour(place), line);
    }
    plot
}
