//! `gap_*`: time between consecutive packets.

use quiclab_units::{Duration, Time};

use crate::needs::MOST_UNMET;
use crate::output::RunMetrics;
use crate::samples::Samples;
use crate::warnings::WarningCode;

/// The bound in `gap_share_below_100us`. Fixed by the name, whatever the train threshold is.
pub const SHORT_GAP: Duration = Duration::from_nanos(100_000);

/// The gaps of one sender.
#[derive(Clone, Default)]
pub(crate) struct GapMeter {
    previous: Option<Time>,
    gaps: Samples,
    short: u64,
    backwards: u64,
}

/// What comes before a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// It is the first.
    None,
    /// It is earlier than the packet before it.
    Backwards,
    /// The time since the packet before it, in ns.
    Of(u64),
}

impl GapMeter {
    pub(crate) fn on_packet(&mut self, time: Time) -> Gap {
        let Some(previous) = self.previous.replace(time) else {
            return Gap::None;
        };
        let Some(gap) = time.checked_since(previous) else {
            self.backwards += 1;
            return Gap::Backwards;
        };
        self.gaps.add(gap.as_nanos());
        self.short += u64::from(gap < SHORT_GAP);
        Gap::Of(gap.as_nanos())
    }

    /// Packets that are earlier than the one before them.
    pub(crate) fn backwards(&self) -> u64 {
        self.backwards
    }

    /// How many of them there are.
    pub(crate) fn backwards_in_words(&self, packets: u64) -> String {
        format!(
            "{} of {packets} packets have an earlier time than the previous packet; their gaps do not count: were \
             several captures merged, or was the clock set?",
            self.backwards
        )
    }

    pub(crate) fn finish(mut self, packets: u64, run: &mut RunMetrics) {
        // More of them cost metrics, and the warning says which.
        if self.backwards > 0 && self.backwards as f64 <= MOST_UNMET * packets as f64 {
            run.warn(WarningCode::TimeBackwards, self.backwards_in_words(packets));
        }
        let count = self.gaps.count();
        run.metrics.gap_median_ns = self.gaps.median();
        run.metrics.gap_share_below_100us = (count > 0).then(|| self.short as f64 / count as f64);
        run.metrics.gap_coefficient_of_variation = self
            .gaps
            .standard_deviation()
            .zip(self.gaps.mean())
            .filter(|(_, mean)| *mean > 0.0)
            .map(|(sd, mean)| sd / mean);
        run.distributions.gaps_ns = self.gaps.log_bins();
        if !self.gaps.is_exact() {
            run.warn(
                WarningCode::MedianRounded,
                "there are so many gaps that their median and distribution are rounded to 0.03 %".to_owned(),
            );
        }
    }
}
