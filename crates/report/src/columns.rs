//! The columns of every table: a new one is an entry of [`COLUMNS`].

use quiclab_metrics::{Metrics, Summary};

/// One metric as it is shown.
pub(crate) struct Column {
    /// Its name in `metrics.json`.
    pub metric: &'static str,
    /// What stands above it, with the unit.
    pub heading: &'static str,
    /// Its value in the unit of `metrics.json`.
    pub value: fn(&Metrics) -> Option<f64>,
    /// What the value is divided by to be shown.
    pub divisor: f64,
    /// Digits behind the point.
    pub decimals: usize,
    /// Whether the table in the terminal has it.
    pub brief: bool,
}

/// What stands where there is no value.
pub(crate) const NOTHING: &str = "\u{2013}";

const MEGA: f64 = 1e6;
const MICRO_OF_NANO: f64 = 1e3;

/// Names of the metrics that a report shows, for those who name them elsewhere.
pub fn metric_names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.metric)
}

/// In the order of the tables.
pub(crate) const COLUMNS: &[Column] = &[
    column("gap_share_below_100us", "gaps below 0.1 ms, share", |metrics| metrics.gap_share_below_100us, 1.0, 3, true),
    column(
        "train_share_of_packets_1",
        "packets in trains of 1, share",
        |metrics| metrics.train_share_of_packets_1,
        1.0,
        3,
        true,
    ),
    column(
        "train_share_of_packets_le_5",
        "packets in trains \u{2264} 5, share",
        |metrics| metrics.train_share_of_packets_le_5,
        1.0,
        4,
        true,
    ),
    column(
        "train_share_of_trains_le_5",
        "trains \u{2264} 5, share of trains",
        |metrics| metrics.train_share_of_trains_le_5,
        1.0,
        4,
        false,
    ),
    column("train_max_packets", "longest train, packets", |metrics| count(metrics.train_max_packets), 1.0, 1, true),
    column("drops_packets", "drops, packets", |metrics| count(metrics.drops_packets), 1.0, 1, true),
    column("goodput_wire_bps", "goodput on the wire, Mbit/s", |metrics| metrics.goodput_wire_bps, MEGA, 2, true),
    column("goodput_process_bps", "goodput by process, Mbit/s", |metrics| metrics.goodput_process_bps, MEGA, 2, true),
    column("cpu_busy_share", "guest busy, share", |metrics| metrics.cpu_busy_share, 1.0, 2, false),
    column("packets_sent", "packets sent", |metrics| count(metrics.packets_sent), 1.0, 0, false),
    column("gap_median_ns", "median gap, \u{b5}s", |metrics| count(metrics.gap_median_ns), MICRO_OF_NANO, 1, false),
    column("duration_ns", "first to last packet, s", |metrics| count(metrics.duration_ns), 1e9, 3, false),
];

const fn column(
    metric: &'static str,
    heading: &'static str,
    value: fn(&Metrics) -> Option<f64>,
    divisor: f64,
    decimals: usize,
    brief: bool,
) -> Column {
    Column { metric, heading, value, divisor, decimals, brief }
}

fn count(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

impl Column {
    /// A value as it is shown.
    pub fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }

    /// A published value with all the digits that were published; [`NOTHING`] where there is none.
    pub fn published(&self, value: Option<f64>) -> String {
        value.map_or_else(|| NOTHING.to_owned(), |value| (value / self.divisor).to_string())
    }

    /// Mean ± standard deviation; the mean alone of a single value.
    pub fn cell(&self, summary: Option<&Summary>) -> String {
        let Some(summary) = summary else { return NOTHING.to_owned() };
        let mean = self.number(summary.mean);
        summary
            .standard_deviation
            .map_or_else(|| mean.clone(), |deviation| format!("{mean} \u{b1} {}", self.number(deviation)))
    }
}

#[cfg(test)]
mod tests {
    use quiclab_metrics::RunMetrics;

    use super::*;

    #[test]
    fn every_metric_has_its_column() {
        let all: serde_json::Value = serde_json::from_str(&RunMetrics::empty().to_json()).unwrap();
        let mut names: Vec<_> = all["metrics"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut shown: Vec<_> = COLUMNS.iter().map(|column| column.metric).collect();
        names.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, names);
    }

    #[test]
    fn a_cell_holds_mean_and_deviation_in_its_unit() {
        let goodput = COLUMNS.iter().find(|column| column.metric == "goodput_wire_bps").unwrap();
        // Mean 36, sample standard deviation sqrt((1 + 0 + 1) / 2) = 1.
        let summary = Summary::of([35e6, 36e6, 37e6]).unwrap();
        assert_eq!(goodput.cell(Some(&summary)), "36.00 \u{b1} 1.00");
        assert_eq!(goodput.cell(Summary::of([35e6]).as_ref()), "35.00");
        assert_eq!(goodput.cell(None), NOTHING);
        assert_eq!(goodput.published(Some(37.47e6)), "37.47");
        assert_eq!(goodput.published(None), NOTHING);
    }
}
