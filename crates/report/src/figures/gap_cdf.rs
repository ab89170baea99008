//! How long the gaps between packets are.

use std::collections::BTreeMap;

use super::scene::Scene;
use crate::{
    groups::{Group, name_alone},
    plot::{Axis, Dash, Figure, Line, Mark, Plot, style},
};

const TRAIN_THRESHOLD_MICROSECONDS: f64 = 100.0;

/// Name of the published curve.
const CURVE: &str = "gaps_us";

pub(super) fn draw(scene: &Scene) -> Option<Figure> {
    let groups = scene.groups;
    let x = Axis::logarithmic("gap between packets, \u{b5}s");
    let mut plot = Plot::new(x, Axis::between("share of gaps", 0.0, 1.0));
    plot.guides = vec![TRAIN_THRESHOLD_MICROSECONDS];
    for (place, group) in groups.iter().enumerate() {
        let line = Line::of_place(place, distribution(group)).stepped();
        plot.add(&group.label, style::colour(place), line);
    }
    let of_groups = groups.iter().enumerate().filter_map(|(place, group)| {
        Some((format!("{}, published", group.label), group.published?.curves.get(CURVE)?, place))
    });
    let alone = scene.alone.iter().enumerate();
    let alone = alone.filter_map(|(place, row)| Some((name_alone(row), row.curves.get(CURVE)?, groups.len() + place)));
    let published: Vec<_> = of_groups.chain(alone).collect();
    for (name, points, place) in &published {
        let line = Line::of_place(*place, (*points).clone()).dash(Dash::Dots).width(1.0).marks(Mark::SmallDiamond);
        plot.add(name, style::colour(*place), line);
    }
    Some(Figure {
        id: "gap-cdf".to_owned(),
        title: "Gaps between packets".to_owned(),
        caption: format!(
            "Share of gaps that are at most this long, at the sender's egress, all runs of a group together. The \
             dotted line is 0.1 ms; packets with smaller gaps form a train. For a sender that paces perfectly at 40 \
             Mbit/s, all gaps are near 0.3 ms.{}",
            if published.is_empty() { "" } else { " Published curves are thin, with a mark at each known point." }
        ),
        plot,
    })
}

/// Upper edges of the bins in microseconds, and the share of all gaps up to each.
fn distribution(group: &Group) -> Vec<(f64, f64)> {
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (edge, count) in group.runs.iter().flat_map(|run| &run.metrics.distributions.gaps_ns) {
        *bins.entry(*edge).or_default() += count;
    }
    let total: u64 = bins.values().sum();
    let mut below = 0;
    bins.iter()
        .map(|(edge, count)| {
            below += count;
            (*edge as f64 / 1e3, below as f64 / total as f64)
        })
        .collect()
}
