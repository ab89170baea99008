//! What a column is, and how it shows values.

use quiclab_metrics::{Metrics, Summary};

/// One metric as it is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Name of the metric in `metrics.json`.
    pub metric: &'static str,
    /// The heading, with the unit.
    pub heading: &'static str,
    /// The metric's value in the unit of `metrics.json`.
    pub value: Value,
    /// What the value is divided by to be shown.
    pub divisor: f64,
    /// Digits behind the point.
    pub decimals: usize,
    /// The tables that have the column.
    pub place: Place,
}

/// The tables that have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// All tables, also those of the terminal.
    Brief,
    /// The tables of pages and files.
    Main,
    /// The tables that have every metric.
    Detail,
    /// The table of the phases of a transfer.
    Phase,
    /// The table of handshakes.
    Handshake,
    /// The table of what hosts did.
    Host,
}

/// What stands where there is no value.
pub(crate) const NOTHING: &str = "\u{2013}";

pub(super) const MEGA: f64 = 1e6;
pub(super) const MICRO_OF_NANO: f64 = 1e3;
pub(super) const MILLI_OF_NANO: f64 = 1e6;

/// How a value is read from the metrics of a run.
pub(super) type Value = fn(&Metrics) -> Option<f64>;

pub(super) fn count(value: Option<u64>) -> Option<f64> {
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
