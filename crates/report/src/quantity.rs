//! What a metric is called in a verdict, and the unit of its numbers.

use quiclab_experiment::LOST_BYTES;

use crate::{columns::COLUMNS, number::number};

/// A metric as people read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// Name of the quantity in words.
    pub words: String,
    /// Unit of the quantity; empty for shares and counts.
    pub unit: String,
    /// What a value is divided by to be in that unit.
    pub divisor: f64,
}

impl Shown {
    /// A metric of a run of stacks: as the tables have it. The name itself where no table has it.
    pub fn of_metric(metric: &str) -> Self {
        if metric == LOST_BYTES {
            let words = "lost CRYPTO and STREAM bytes".to_owned();
            return Self { words, unit: "bytes".to_owned(), divisor: 1.0 };
        }
        let Some(column) = COLUMNS.iter().find(|column| column.metric == metric) else {
            return Self { words: metric.to_owned(), unit: String::new(), divisor: 1.0 };
        };
        let (words, unit) = name_and_unit(column.heading);
        Self { words: words.trim_start_matches('\u{a0}').to_owned(), unit: unit.to_owned(), divisor: column.divisor }
    }

    /// A value without its unit.
    pub fn value(&self, value: f64) -> String {
        number(value / self.divisor)
    }

    /// The unit with a space in front of it, or nothing.
    pub fn unit_behind(&self) -> String {
        if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) }
    }
}

/// The parts of a column's heading. A share needs no unit.
pub(crate) fn name_and_unit(heading: &str) -> (&str, &str) {
    const UNITS: [&str; 6] = ["packets", "Mbit/s", "ms", "s", "\u{b5}s", "bytes"];
    match heading.rsplit_once(", ") {
        Some((name, "share")) => (name, ""),
        Some((name, unit)) if UNITS.contains(&unit) => (name, unit),
        _ => (heading, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::Shown;

    #[test]
    fn a_metric_has_the_words_and_the_unit_of_its_column() {
        let shown = Shown::of_metric("goodput_wire_bps");
        assert_eq!((shown.words.as_str(), shown.value(36_123_456.0).as_str()), ("goodput on the wire", "36.12"));
        assert_eq!(shown.unit_behind(), " Mbit/s");
        let share = Shown::of_metric("train_share_of_packets_1");
        assert_eq!((share.words.as_str(), share.unit_behind().as_str()), ("packets in trains of 1", ""));
        assert_eq!(Shown::of_metric("no_such_metric").words, "no_such_metric");
    }
}
