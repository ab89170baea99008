//! What the bottleneck dropped.

use super::{Figure, goodput, of_groups, style};
use crate::{groups::Group, plot::Axis};

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = of_groups(groups, Axis::linear("dropped packets"));
    plot.add("measured", style::colour(0), goodput::bars(groups, "drops_packets"));
    plot.add("published", style::INK, goodput::published(groups, "drops_packets"));
    Figure {
        id: "drops".to_owned(),
        title: "Drops at the bottleneck".to_owned(),
        caption: "Packets that the bottleneck's queue dropped, according to its counters; mean and standard deviation \
                  over the runs."
            .to_owned(),
        plot,
    }
}
