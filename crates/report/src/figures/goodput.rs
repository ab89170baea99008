//! Goodput, measured both ways.

use super::by_group::{bars, of_groups, published};
use crate::{
    groups::Group,
    plot::{Axis, Bars, Figure, style},
};

/// Metrics of the two bars, their names, and whether they are hatched, so that the colour is not all that tells them apart.
const BARS: [(&str, &str, bool); 2] =
    [("goodput_wire_bps", "on the wire", false), ("goodput_process_bps", "by the client's lifetime", true)];

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = of_groups(groups, Axis::linear("goodput, Mbit/s"));
    for (place, (metric, name, is_hatched)) in BARS.into_iter().enumerate() {
        plot.add(name, style::colour(place), Bars { is_hatched, ..bars(groups, metric) });
    }
    plot.add("published, on the wire", style::INK, published(groups, "goodput_wire_bps"));
    Figure {
        id: "goodput".to_owned(),
        title: "Goodput".to_owned(),
        caption: "Application bytes per second; mean and standard deviation over the runs.".to_owned(),
        plot,
    }
}
