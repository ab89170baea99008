//! What metrics of a scenario are called.

use quiclab_experiment::scenario::{Labels, MetricName};

use crate::quantity::Shown;

/// How a metric is shown, with the name of its group of flows.
pub(super) fn shown(metric: &str, labels: &Labels) -> Shown {
    let name = MetricName::new(metric);
    let mut words = name.in_words();
    if let Some(group) = name.group {
        words = format!("{words} of {}", labels.group(group));
    }
    let quantity = name.quantity();
    Shown { words, unit: quantity.unit().to_owned(), divisor: quantity.divisor() }
}

/// How a metric is called in the heading of a table, with its unit.
pub(super) fn heading(metric: &str, labels: &Labels) -> String {
    let Shown { words, unit, .. } = shown(metric, labels);
    if unit.is_empty() { words } else { format!("{words}, {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_words_and_the_unit() {
        let groups = [("paced".to_owned(), "Paced Reno".to_owned())].into();
        let labels = Labels { groups, ..Labels::default() };
        assert_eq!(heading("goodput_bps.paced", &labels), "goodput of Paced Reno, Mbit/s");
        assert_eq!(heading("goodput_bps.plain", &labels), "goodput of plain, Mbit/s");
        assert_eq!(heading("fairness_by_rtt", &labels), "Jain's fairness index of rate \u{d7} RTT");
        assert_eq!(heading("first_loss_s", &labels), "time of the first loss, s");
    }
}
