//! What metrics and series are numbers of, and their names in words.

use std::fmt;

/// What a number counts or measures. Numbers of one kind can share an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bits per second; shown in Mbit/s.
    Rate,
    /// Seconds.
    Time,
    /// Nanoseconds; shown in ms.
    Nanoseconds,
    /// Packets.
    Packets,
    /// Segments.
    Segments,
    /// How often something happened.
    Count,
    /// A share, an index, a ratio: without a unit.
    Plain,
}

/// Metrics without a unit that count.
const COUNTS: [&str; 3] = ["timeouts", "transfers", "transfers_unfinished"];

/// Metrics and series whose names are not words yet, those of groups without `.GROUP`.
const WORDS: &[(&str, &str)] = &[
    ("utilisation", "utilisation of the bottleneck"),
    ("share", "share of the goodput"),
    ("drops_packets", "drops"),
    ("drop_share", "drop rate"),
    ("marks_packets", "marks"),
    ("queue_packets", "queue"),
    ("queue_mean_packets", "mean queue"),
    ("queue_delay_mean_s", "mean queueing delay"),
    ("fairness", "Jain's fairness index"),
    ("fairness_by_rtt", "Jain's fairness index of rate \u{d7} RTT"),
    ("fairness_cumulative", "cumulative fairness (Jain's index)"),
    ("fairness_by_rtt_cumulative", "cumulative fairness of rate \u{d7} RTT (Jain's index)"),
    ("fairness_of_intervals", "mean fairness of an interval (Jain's index)"),
    ("fairness_by_rtt_of_intervals", "mean fairness of rate \u{d7} RTT of an interval (Jain's index)"),
    ("first_loss_s", "time of the first loss"),
    ("first_loss_window_segments", "window at the first loss"),
    ("retransmitted_share", "share of retransmissions"),
    ("timeouts", "number of timeouts"),
    ("transfers", "number of finished transfers"),
    ("transfers_unfinished", "number of unfinished transfers"),
    ("transfer_time_mean_s", "mean time of a transfer"),
    ("transfer_time_over_ideal", "time of a transfer / ideal time"),
    ("transfer_time_over_others", "time of a transfer / time of the other groups' transfers"),
    ("window_segments", "congestion window"),
    ("window_sum_mean_segments", "mean sum of all congestion windows"),
    ("window_sum_segments", "sum of all congestion windows"),
];

/// The name of a metric or series of models: `goodput_bps.paced` is the goodput of the group `paced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricName<'a> {
    /// What is measured, such as `goodput_bps`.
    pub base: &'a str,
    /// The group of flows that it is of; `None` where it is of the whole run.
    pub group: Option<&'a str>,
}

/// How names end whose numbers have a unit.
const SUFFIXES: [(&str, Quantity); 5] = [
    ("_bps", Quantity::Rate),
    ("_s", Quantity::Time),
    ("_ns", Quantity::Nanoseconds),
    ("_packets", Quantity::Packets),
    ("_segments", Quantity::Segments),
];

impl<'a> MetricName<'a> {
    /// The parts of a name.
    pub fn new(name: &'a str) -> Self {
        match name.split_once('.') {
            Some((base, group)) => Self { base, group: Some(group) },
            None => Self { base: name, group: None },
        }
    }

    /// The quantity that the metric measures.
    pub fn quantity(self) -> Quantity {
        match SUFFIXES.into_iter().find(|(suffix, _)| self.base.ends_with(suffix)) {
            Some((_, quantity)) => quantity,
            None if COUNTS.contains(&self.base) => Quantity::Count,
            None => Quantity::Plain,
        }
    }

    /// The name in words, without unit and group: `goodput_bps.paced` is `goodput`.
    pub fn in_words(self) -> String {
        if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == self.base) {
            return (*words).to_owned();
        }
        let suffix = SUFFIXES.into_iter().find_map(|(suffix, _)| self.base.strip_suffix(suffix));
        suffix.unwrap_or(self.base).replace('_', " ")
    }
}

impl fmt::Display for MetricName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.base)?;
        self.group.map_or(Ok(()), |group| write!(formatter, ".{group}"))
    }
}

impl Quantity {
    /// The unit on an axis; empty without one.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate => "Mbit/s",
            Self::Time => "s",
            Self::Nanoseconds => "ms",
            Self::Packets => "packets",
            Self::Segments => "segments",
            Self::Count | Self::Plain => "",
        }
    }

    /// The number by which a value is divided to be in the unit of [`Quantity::unit`].
    pub fn divisor(self) -> f64 {
        match self {
            Self::Rate | Self::Nanoseconds => 1e6,
            _ => 1.0,
        }
    }

    /// The unit in a message.
    pub(super) fn unit_in_words(self) -> &'static str {
        match self {
            Self::Count => "a count",
            Self::Plain => "without a unit",
            _ => self.unit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_says_the_unit() {
        for (name, expected) in [
            ("goodput_bps.paced", Quantity::Rate),
            ("first_loss_s", Quantity::Time),
            ("handshake_client_first_byte_ns", Quantity::Nanoseconds),
            ("drops_packets", Quantity::Packets),
            ("window_segments.all", Quantity::Segments),
            ("timeouts.all", Quantity::Count),
            ("fairness_of_intervals", Quantity::Plain),
            ("share.b_s", Quantity::Plain),
        ] {
            assert_eq!(MetricName::new(name).quantity(), expected, "{name}");
            assert_eq!(MetricName::new(name).to_string(), name);
        }
    }

    #[test]
    fn a_name_in_words_has_no_key_and_no_unit_in_it() {
        assert_eq!(MetricName::new("goodput_bps.paced").in_words(), "goodput");
        assert_eq!(MetricName::new("transfer_time_over_ideal.a").in_words(), "time of a transfer / ideal time");
        assert_eq!(MetricName::new("some_new_metric_s").in_words(), "some new metric");
    }
}
