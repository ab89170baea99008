//! What a declaration of a metric says, and where to look it up.

use crate::{metrics::METRICS, needs::Need, pacing::phase_of};

/// Which direction of a metric is better for a sender that shares a path with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A larger number is better.
    Higher,
    /// A smaller number is better.
    Lower,
    /// Neither: a fact about the transfer.
    Neither,
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// How evenly packets leave.
    Pacing,
    /// Packets lost, dropped or sent again.
    Loss,
    /// Bytes per time.
    Goodput,
    /// Queues.
    Delay,
    /// How long it takes until bytes flow.
    Handshake,
    /// What was measured with.
    Other,
}

/// What is known of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its name in `metrics.json`.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// What it is, as Markdown: the lines of the comment at its declaration, each with a space in front.
    pub definition: &'static [&'static str],
    /// When it is null although what it needs is there, as Markdown.
    pub null_when: &'static str,
    /// What a capture must show for it.
    pub needs: &'static [Need],
    /// What it is about.
    pub theme: Theme,
    /// Which direction is better.
    pub better: Better,
    /// The smallest step that it can take, in its unit. Of a share of packets, that of a transfer of about 1 MiB.
    pub resolution: f64,
    /// Whether a comparison judges it by default. Few are, since each makes the others harder to show.
    pub is_primary: bool,
}

/// Difference of two shares that matters: one of a hundred packets.
const SHARE_THAT_MATTERS: f64 = 0.01;
/// Difference of two means that matters, as a share of the first.
const CHANGE_THAT_MATTERS: f64 = 0.01;

impl Metric {
    /// Whether two means, in the unit of the metric, differ by as much as matters to people: shares by one hundredth, counts of packets by one
    /// packet and one percent, everything else by one percent of `one`. In virtual time far smaller differences are shown to be there.
    pub fn matters(&self, one: f64, other: f64) -> bool {
        let difference = (other - one).abs();
        match self.unit {
            "0 to 1" => difference >= SHARE_THAT_MATTERS,
            "packets" => difference >= 1.0 && difference >= one.abs() * CHANGE_THAT_MATTERS,
            _ => difference > 0.0 && difference >= one.abs() * CHANGE_THAT_MATTERS,
        }
    }
}

/// Declares `Metrics`, with one field per metric and those of the phases, and `METRICS`. Each entry is
/// `name: type { unit, about, better, step, [judged: by_default,] needs, null }` with its definition as a comment.
macro_rules! metrics {
    ($(
        $(#[doc = $line:literal])+
        $name:ident: $kind:ty {
            unit: $unit:literal, about: $theme:expr, better: $better:expr, step: $step:expr, $(judged: $primary:ident,)?
            needs: $needs:expr, null: $null:literal
        }
    )+) => {
        /// One number per field; `None` (null) where it could not be measured, never 0. docs/reference/metrics.md has them as a table.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Metrics {
            $(
                $(#[doc = $line])+
                pub $name: Option<$kind>,
            )+
            /// Pacing in slow start: `slow_start_*`. The whole flow where slow start did not end.
            pub slow_start: PacingMetrics,
            /// Pacing after slow start: `steady_*`.
            pub steady: PacingMetrics,
        }

        impl Metrics {
            /// Name and number of each metric, in the order of `metrics.json`.
            pub(crate) fn entries(&self) -> Vec<(&'static str, Option<Number>)> {
                let mut entries = vec![$((stringify!($name), number(self.$name)),)+];
                self.slow_start.push_entries(crate::pacing::SLOW_START, &mut entries);
                self.steady.push_entries(crate::pacing::STEADY, &mut entries);
                entries
            }

            /// The number of the metric `name`; `None` where there is no metric of that name.
            pub(crate) fn number(&self, name: &str) -> Option<Option<Number>> {
                match name {
                    $(stringify!($name) => Some(number(self.$name)),)+
                    _ => match phase_of(name)? {
                        (Phase::SlowStart, name) => self.slow_start.number(name),
                        (Phase::Steady, name) => self.steady.number(name),
                    },
                }
            }

            /// Sets the metric `name`.
            ///
            /// # Errors
            /// A name that is not a metric's, or a number that is not of the metric's kind.
            pub(crate) fn set(&mut self, name: &str, to: Option<Number>) -> Result<(), UnfitEntry> {
                match name {
                    $(stringify!($name) => self.$name = measured(name, to)?,)+
                    _ => match phase_of(name) {
                        Some((Phase::SlowStart, of_phase)) => self.slow_start.set(name, of_phase, to)?,
                        Some((Phase::Steady, of_phase)) => self.steady.set(name, of_phase, to)?,
                        None => return Err(UnfitEntry::UnknownName { name: name.to_owned() }),
                    },
                }
                Ok(())
            }
        }

        /// Every metric of the whole flow, in the order of [`Metrics`].
        pub const METRICS: &[Metric] = &[$(
            Metric {
                name: stringify!($name),
                unit: $unit,
                definition: &[$($line),+],
                null_when: $null,
                needs: $needs,
                theme: $theme,
                better: $better,
                resolution: $step,
                is_primary: !concat!("", $(stringify!($primary))?).is_empty(),
            },
        )+];
    };
}
pub(crate) use metrics;

/// What is known of the metric `name`; `None` where there is none of that name. A metric of a part of the transfer is like that of the whole,
/// but judged only where that is asked for, and only pacing has a better direction there: how long slow start takes is a fact.
pub fn find_metric(name: &str) -> Option<Metric> {
    let find = |name: &str| METRICS.iter().find(|metric| metric.name == name).copied();
    let of_part = || {
        let (_, whole) = phase_of(name)?;
        let whole = find(whole)?;
        let better = if whole.theme == Theme::Pacing { whole.better } else { Better::Neither };
        Some(Metric { is_primary: false, better, ..whole })
    };
    find(name).or_else(of_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_of_a_part_is_like_that_of_the_whole_but_not_judged_by_default() {
        let part = find_metric("steady_train_max_packets").unwrap();
        assert_eq!((part.better, part.is_primary), (Better::Lower, false));
        assert!(find_metric("train_max_packets").unwrap().is_primary);
        assert_eq!(find_metric("slow_start_duration_ns").unwrap().better, Better::Neither);
        assert_eq!(find_metric("steady_nothing"), None);
    }

    #[test]
    fn what_matters_depends_on_the_unit() {
        let matters = |name: &str, one, other| find_metric(name).unwrap().matters(one, other);
        assert!(!matters("rtt_p95_ns", 58.0e6, 58.06e6) && matters("rtt_p95_ns", 58.0e6, 58.6e6));
        assert!(!matters("gap_share_below_100us", 0.002, 0.009) && matters("gap_share_below_100us", 0.002, 0.013));
        assert!(!matters("train_max_packets", 10.0, 10.8) && matters("train_max_packets", 10.0, 11.0));
        assert!(!matters("drops_packets", 300.0, 302.0) && matters("drops_packets", 0.0, 1.0));
        assert!(!matters("goodput_wire_bps", 0.0, 0.0) && matters("goodput_wire_bps", 0.0, 1.0));
    }

    #[test]
    fn what_is_judged_by_default_has_a_better_direction() {
        assert!(METRICS.iter().filter(|metric| metric.is_primary).all(|metric| metric.better != Better::Neither));
    }
}
