//! What the bottleneck dropped.

use plotly::Plot;

use super::{Figure, goodput, style};
use crate::groups::Group;

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    let marker = plotly::common::Marker::new().color(style::colour(0));
    plot.add_trace(goodput::bars(groups, "drops_packets", "measured", marker));
    plot.add_trace(goodput::published(groups, "drops_packets", "published"));
    let y = style::axis("dropped packets").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(style::bar_layout(y));
    Figure {
        id: "drops".to_owned(),
        title: "Drops at the bottleneck".to_owned(),
        caption: "Packets that the bottleneck's queue dropped, according to its counters; mean and standard deviation \
                  over the runs."
            .to_owned(),
        plot,
    }
}
