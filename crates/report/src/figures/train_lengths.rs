//! How long packet trains are.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{LineShape, Marker, Mode, Visible},
    layout::AxisType,
};

use super::{Figure, style};
use crate::groups::Group;

/// Of so many groups the share of trains is drawn as well.
const MOST_WITH_TRAINS: usize = 6;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    // A legend with twice as many names as stacks would leave no room for the picture.
    let has_trains = groups.len() <= MOST_WITH_TRAINS;
    for (place, group) in groups.iter().enumerate() {
        let name = style::name(&group.label);
        plot.add_trace(trace(group, place, |length, trains| length * trains).name(&name));
        if has_trains {
            plot.add_trace(
                trace(group, place, |_, trains| trains)
                    .name(format!("{name}, share of trains"))
                    .opacity(0.5)
                    .visible(Visible::LegendOnly),
            );
        }
    }
    let x = style::axis("length of the train, packets").type_(AxisType::Log);
    let y = style::axis("share of packets").range(vec![0.0, 1.02]);
    plot.set_layout(style::curve_layout(x, y, if has_trains { 2 * groups.len() } else { groups.len() }));
    let mut thresholds: Vec<_> = groups.iter().map(|group| group.settings.analysis.train_threshold).collect();
    thresholds.sort();
    thresholds.dedup();
    let thresholds: Vec<_> = thresholds.iter().map(ToString::to_string).collect();
    Figure {
        id: "train-lengths".to_owned(),
        title: "Packet trains".to_owned(),
        caption: format!(
            "Share of packets that left in trains of at most this length. A train is a run of packets with gaps below \
             {}.{}",
            thresholds.join(" or "),
            if has_trains {
                " Click its name to show the share of trains, which hides how many packets the long ones have."
            } else {
                ""
            }
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
