//! How far apart the clocks of several hosts were during a run, and how well that is known: part of `path.json`.

use std::collections::BTreeMap;

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::nanoseconds;

/// A time between two clocks means something where its error is at most this part of it.
const LARGEST_ERROR_PART: u64 = 10;
/// How much clocks of usual computers drift at most where nothing is known of it: crystals are made for 50 parts in a million each.
const UNKNOWN_DRIFT_PPM: u64 = 100;

/// The clocks of a run on several hosts. Times in the capture are those of the server's host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClocksSeen {
    /// The clocks whose times were brought to the server's, by the role of their host.
    pub compared: BTreeMap<String, ClockSeen>,
    /// What sets the clock of each host, by its role.
    pub kept: BTreeMap<String, TimekeepingSeen>,
}

/// One clock beside the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockSeen {
    /// What was found before the run.
    pub before: OffsetSeen,
    /// What was found after it; `None` where no packet came back then.
    pub after: Option<OffsetSeen>,
    /// How times were corrected.
    pub correction: Correction,
    /// A corrected time is at most this far from the server's clock.
    #[serde(rename = "uncertainty_ns", with = "nanoseconds")]
    pub uncertainty: Duration,
}

/// How times were corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// Times were corrected by an offset that changes steadily from the one before the run to the one after it.
    Linear,
    /// Times were corrected by the offset before the run.
    Constant,
}

/// The offset between two clocks, from packets exchanged between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffsetSeen {
    /// When, by this clock, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The server's clock less this one.
    pub server_ahead_ns: i64,
    /// The truth is at most this far from it: half of the shortest round trip.
    #[serde(rename = "uncertainty_ns", with = "nanoseconds")]
    pub uncertainty: Duration,
    /// Packets that came back.
    pub exchanges: u64,
}

/// What is known of how a host's clock is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimekeepingSeen {
    /// Whether the kernel takes it for synchronised.
    pub is_synchronised: bool,
    /// Its largest error as the kernel estimates it.
    #[serde(rename = "largest_error_ns", with = "nanoseconds")]
    pub largest_error: Duration,
    /// Programs that set it.
    pub kept_by: Vec<String>,
    /// The clocks of network cards that the host has.
    pub ptp_clocks: Vec<String>,
}

impl ClockSeen {
    /// What is known of a clock, from what was found before and after a run that took at most `length`.
    pub fn of(before: OffsetSeen, after: Option<OffsetSeen>, length: Duration) -> Self {
        match after.filter(|after| after.at_ns > before.at_ns) {
            Some(after) => Self {
                before,
                after: Some(after),
                correction: Correction::Linear,
                uncertainty: before.uncertainty.max(after.uncertainty),
            },
            None => {
                let drift = Duration::from_nanos(length.as_nanos() / 1_000_000 * UNKNOWN_DRIFT_PPM);
                let nanoseconds = before.uncertainty.as_nanos().saturating_add(drift.as_nanos());
                let uncertainty = Duration::from_nanos(nanoseconds);
                Self { before, after: None, correction: Correction::Constant, uncertainty }
            }
        }
    }

    /// Nanoseconds by which a time of this clock is to be changed to be one of the server's.
    pub fn server_ahead_at(&self, time_ns: u64) -> i64 {
        let Some(after) = self.after.filter(|_| self.correction == Correction::Linear) else {
            return self.before.server_ahead_ns;
        };
        let length = i128::from(after.at_ns.saturating_sub(self.before.at_ns)).max(1);
        let passed = i128::from(time_ns) - i128::from(self.before.at_ns);
        let change = i128::from(after.server_ahead_ns) - i128::from(self.before.server_ahead_ns);
        let ahead = i128::from(self.before.server_ahead_ns) + (change * passed).div_euclid(length);
        i64::try_from(ahead).unwrap_or(self.before.server_ahead_ns)
    }

    /// Nanoseconds by which the clocks drifted apart between both comparisons. `None` without the second one.
    pub fn drift_ns(&self) -> Option<i64> {
        Some(self.after?.server_ahead_ns.saturating_sub(self.before.server_ahead_ns))
    }

    /// Whether that is more than the comparisons' own errors explain.
    fn drifts(&self) -> bool {
        let errors =
            |after: OffsetSeen| after.uncertainty.as_nanos().saturating_add(self.before.uncertainty.as_nanos());
        self.after.zip(self.drift_ns()).is_some_and(|(after, drift)| drift.unsigned_abs() > errors(after))
    }
}

impl ClocksSeen {
    /// A time between two taps can be wrong by so much.
    pub fn uncertainty(&self) -> Duration {
        let all = self.compared.values().map(|clock| clock.uncertainty.as_nanos());
        Duration::from_nanos(all.fold(0, u64::saturating_add))
    }

    /// Why times between the taps mean nothing, where the shortest of them is `shortest`; `None` where they do.
    pub fn why_not_between_taps(&self, shortest: Duration) -> Option<String> {
        let uncertainty = self.uncertainty();
        (uncertainty.as_nanos().saturating_mul(LARGEST_ERROR_PART) > shortest.as_nanos()).then(|| {
            format!(
                "the clocks of the hosts are known to {} only, and the shortest time between the taps is {}: expected an error of at \
                 most a tenth of it",
                microseconds(uncertainty),
                microseconds(shortest)
            )
        })
    }

    /// What to look at before trusting times between the taps.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |(role, clock): (&String, &ClockSeen)| match (clock.after, clock.drift_ns()) {
            (None, _) => Some(format!(
                "the clock of the {role}'s host was not compared after the run, so its drift is not known: its times are corrected by \
                 the offset before the run, and can be wrong by {}",
                microseconds(clock.uncertainty)
            )),
            (Some(_), Some(drift)) if clock.drifts() => Some(format!(
                "the clock of the {role}'s host and the server's drifted apart by {} during the run, more than the error of comparing \
                 them; the times are corrected as if they had drifted steadily",
                microseconds(Duration::from_nanos(drift.unsigned_abs()))
            )),
            _ => None,
        };
        self.compared.iter().filter_map(warning).collect()
    }

    /// All of it in a few sentences.
    pub fn in_words(&self) -> Vec<String> {
        let compared = self.compared.iter().map(|(role, clock)| {
            let drift = match clock.drift_ns() {
                Some(drift) => format!("drifted by {:.1} \u{b5}s until the end", drift as f64 / 1e3),
                None => "was not compared again".to_owned(),
            };
            format!(
                "The clock of the {role}'s host was {:.1} \u{b5}s behind the server's, {drift}, and is known to {}.",
                clock.before.server_ahead_ns as f64 / 1e3,
                microseconds(clock.uncertainty)
            )
        });
        let kept = self.kept.iter().map(|(role, kept)| {
            let by = match &kept.kept_by[..] {
                [] => "by no program that is known".to_owned(),
                programs => format!("by {}", programs.join(" and ")),
            };
            let state = if kept.is_synchronised { "synchronised" } else { "not synchronised" };
            format!("The clock of the {role}'s host is set {by}, and is {state} by its kernel's account.")
        });
        compared.chain(kept).collect()
    }
}

fn microseconds(time: Duration) -> String {
    format!("{:.1} \u{b5}s", time.as_nanos() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(at_ns: u64, server_ahead_ns: i64, uncertainty_ns: u64) -> OffsetSeen {
        OffsetSeen { at_ns, server_ahead_ns, uncertainty: Duration::from_nanos(uncertainty_ns), exchanges: 200 }
    }

    fn clocks(clock: ClockSeen) -> ClocksSeen {
        ClocksSeen { compared: [("client".to_owned(), clock)].into(), kept: BTreeMap::new() }
    }

    #[test]
    fn a_clock_that_drifts_steadily_is_corrected_at_every_moment() {
        let run = Duration::from_secs(1);
        for [first, last] in [[500, 1_500], [1_500, 500], [-70, -70], [-500, 500]] {
            let clock = ClockSeen::of(offset(1_000, first, 10), Some(offset(3_000, last, 20)), run);
            let at = |time| clock.server_ahead_at(time);
            assert_eq!([at(1_000), at(2_000), at(3_000)], [first, (first + last) / 2, last]);
            assert_eq!((clock.uncertainty.as_nanos(), clock.drift_ns()), (20, Some(last - first)));
        }
    }

    #[test]
    fn without_a_second_comparison_the_drift_of_usual_crystals_counts_as_error() {
        let clock = ClockSeen::of(offset(1_000, 7, 10_000), None, Duration::from_secs(2));
        assert_eq!((clock.correction, clock.server_ahead_at(9_000_000_000)), (Correction::Constant, 7));
        assert_eq!(clock.uncertainty, Duration::from_micros(210));
        let warnings = clocks(clock).warnings();
        assert!(warnings[0].contains("not compared after the run") && warnings[0].contains("210.0"), "{warnings:?}");
    }

    #[test]
    fn a_drift_is_a_warning_where_it_exceeds_the_error_of_both_comparisons() {
        let warnings = |drift| {
            let clock = ClockSeen::of(offset(0, 0, 40), Some(offset(9, drift, 60)), Duration::from_secs(1));
            clocks(clock).warnings()
        };
        assert_eq!((warnings(100).len(), warnings(-100).len()), (0, 0));
        assert!(warnings(-101)[0].contains("drifted apart"));
    }

    #[test]
    fn a_time_between_taps_may_be_wrong_by_a_tenth_and_no_more() {
        let clock = ClockSeen::of(offset(0, 0, 1_000), Some(offset(9, 0, 1_000)), Duration::from_secs(1));
        let why = |shortest| clocks(clock.clone()).why_not_between_taps(Duration::from_nanos(shortest));
        assert_eq!(why(10_000), None);
        assert!(why(9_999).unwrap().contains("at most a tenth"));
    }

    #[test]
    fn words_say_offset_drift_and_what_sets_the_clocks() {
        let clock =
            ClockSeen::of(offset(0, 1_500_000, 40_000), Some(offset(9, 1_500_500, 60_000)), Duration::from_secs(1));
        let mut clocks = clocks(clock);
        let kept = |kept_by: &[&str]| TimekeepingSeen {
            is_synchronised: !kept_by.is_empty(),
            largest_error: Duration::ZERO,
            kept_by: kept_by.iter().map(|one| (*one).to_owned()).collect(),
            ptp_clocks: Vec::new(),
        };
        clocks.kept = [("client".to_owned(), kept(&[])), ("server".to_owned(), kept(&["ptp4l", "phc2sys"]))].into();
        let words = clocks.in_words().join("\n");
        for part in
            ["1500.0 \u{b5}s behind", "drifted by 0.5 \u{b5}s", "known to 60.0", "by no program", "ptp4l and phc2sys"]
        {
            assert!(words.contains(part), "{part}: {words}");
        }
    }
}
