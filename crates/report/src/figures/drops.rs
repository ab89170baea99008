//! What the bottleneck dropped.

use super::by_group::{bars, of_groups, published};
use crate::{
    groups::Group,
    plot::{Axis, Figure, style},
};

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = of_groups(groups, Axis::linear("dropped packets"));
    plot.add("measured", style::colour(0), bars(groups, "drops_packets"));
    plot.add("published", style::INK, published(groups, "drops_packets"));
    Figure {
        id: "drops".to_owned(),
        title: "Drops at the bottleneck".to_owned(),
        caption: "Packets that the bottleneck's queue dropped, according to its counters; mean and standard deviation \
                  over the runs."
            .to_owned(),
        plot,
    }
}
