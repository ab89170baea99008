//! Why packets left together.

use super::{Figure, goodput::column, of_groups, style};
use crate::{
    groups::Group,
    plot::{Axis, Bars},
};

/// Metric of each cause, and its name in the legend.
pub(crate) const CAUSES: [(&str, &str); 8] = [
    ("burst_share_start_up", "start-up"),
    ("burst_share_recovery_end", "end of recovery"),
    ("burst_share_late_timer", "late timer"),
    ("burst_share_batch", "batch (GSO, sendmmsg, qdisc)"),
    ("burst_share_application_pause", "application pause"),
    ("burst_share_bucket", "full bucket of the pacer"),
    ("burst_share_ack", "ACK"),
    ("burst_share_unknown", "unknown"),
];

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
    if metric == "burst_share_unknown" { "#999999" } else { style::colour(place) }
}

/// Mean over the runs of bursty packets times the share of this cause among them.
pub(crate) fn of_all_packets(group: &Group, metric: &str) -> Option<f64> {
    let (bursty, cause) = (column("burst_share_of_packets"), column(metric));
    let shares: Vec<f64> = group
        .runs
        .iter()
        .filter_map(|run| {
            let metrics = &run.metrics.metrics;
            let bursty = (bursty.value)(metrics)?;
            // Without bursts there are no causes: none of all packets.
            Some(bursty * (cause.value)(metrics).unwrap_or(0.0))
        })
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
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
