//! Why packets left together, over the runs of a group.

use crate::{columns::column_of, groups::Group};

/// Metric of the packets of which nothing shows a cause.
pub(crate) const UNKNOWN: &str = "burst_share_unknown";

/// Metric of each cause, and its name in the legend.
pub(crate) const CAUSES: [(&str, &str); 8] = [
    ("burst_share_start_up", "start-up"),
    ("burst_share_recovery_end", "end of recovery"),
    ("burst_share_late_timer", "late timer"),
    ("burst_share_batch", "batch (GSO, sendmmsg, qdisc)"),
    ("burst_share_application_pause", "application pause"),
    ("burst_share_bucket", "full bucket of the pacer"),
    ("burst_share_ack", "ACK"),
    (UNKNOWN, "unknown"),
];

/// Mean over the runs of bursty packets times the share of this cause among them.
pub(crate) fn of_all_packets(group: &Group, metric: &str) -> Option<f64> {
    let (bursty, cause) = (column_of("burst_share_of_packets"), column_of(metric));
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
