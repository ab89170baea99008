//! How long packet trains are.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{LineShape, Marker, Mode, Visible},
    layout::AxisType,
};

use super::{Figure, style};
use crate::groups::Group;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    for (place, group) in groups.iter().enumerate() {
        let name = style::name(&group.label);
        plot.add_trace(trace(group, place, |length, trains| length * trains).name(&name));
        plot.add_trace(
            trace(group, place, |_, trains| trains)
                .name(format!("{name}, share of trains"))
                .opacity(0.5)
                .visible(Visible::LegendOnly),
        );
    }
    let x = style::axis("length of the train, packets").type_(AxisType::Log);
    let y = style::axis("share of packets").range(vec![0.0, 1.02]);
    plot.set_layout(style::layout(x, y));
    let mut thresholds: Vec<_> = groups.iter().map(|group| group.settings.analysis.train_threshold).collect();
    thresholds.sort();
    thresholds.dedup();
    let thresholds: Vec<_> = thresholds.iter().map(ToString::to_string).collect();
    Figure {
        id: "train-lengths".to_owned(),
        title: "Packet trains".to_owned(),
        caption: format!(
            "Share of packets that left in trains of at most so many packets. A train is a run of packets with gaps below {}. \
             The share of trains, which hides how many packets a long one holds, appears by a click on its name.",
            thresholds.join(" or ")
        ),
        plot,
    }
}

/// The share up to each length of train, where a number of trains of one length weighs as `weight` says.
fn trace(group: &Group, place: usize, weight: impl Fn(u64, u64) -> u64) -> Box<Scatter<u64, f64>> {
    let mut weights: BTreeMap<u64, u64> = BTreeMap::new();
    for (length, trains) in group.runs.iter().flat_map(|run| &run.metrics.distributions.trains) {
        *weights.entry(*length).or_default() += weight(*length, *trains);
    }
    let total: u64 = weights.values().sum();
    let mut below = 0;
    let shares = weights.values().map(|weight| {
        below += weight;
        below as f64 / total as f64
    });
    let shares = shares.collect();
    Scatter::new(weights.into_keys().collect(), shares)
        .mode(Mode::LinesMarkers)
        .marker(Marker::new().size(4).color(style::colour(place)))
        .line(style::line(place).shape(LineShape::Hv))
        .hover_template("%{y:.4f} in trains of at most %{x}")
}
