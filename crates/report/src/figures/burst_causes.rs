//! Why packets left together.

use super::by_group::of_groups;
use crate::{
    burst_causes::{CAUSES, UNKNOWN, of_all_packets},
    groups::Group,
    plot::{Axis, Bars, Figure, style},
};

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = of_groups(groups, Axis::linear("share of all packets"));
    plot.is_stacked = true;
    for (place, (metric, name)) in CAUSES.into_iter().enumerate() {
        let values = groups.iter().map(|group| of_all_packets(group, metric)).collect();
        plot.add(name, colour(place, metric), Bars { values, ..Bars::default() });
    }
    Figure {
        id: "burst-causes".to_owned(),
        title: "Why packets left together".to_owned(),
        caption: "Packets in trains of more than 5 packets by their most likely cause, as a share of all packets, \
                  mean over the runs. docs/concepts/bursts.md explains what counts as evidence."
            .to_owned(),
        plot,
    }
}

/// Grey where nothing is known; the other causes have a colour each.
fn colour(place: usize, metric: &str) -> &'static str {
    if metric == UNKNOWN { "#999999" } else { style::colour(place) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_cause_has_a_colour_of_its_own() {
        let colours = CAUSES.iter().enumerate().map(|(place, (metric, _))| colour(place, metric));
        assert_eq!(colours.collect::<BTreeSet<_>>().len(), CAUSES.len());
    }
}
