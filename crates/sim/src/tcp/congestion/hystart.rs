//! Slow start, and its end before a loss: HyStart++ (RFC 9406).

#[cfg(test)]
mod literal;

use quiclab_units::Duration;

use super::Acked;

/// How a window grows before the first loss.
#[derive(Clone, Debug)]
pub struct SlowStart {
    /// Segments that an acknowledgment may add at most: 1 (RFC 5681, section 3.1), more with appropriate byte counting (RFC 3465); `L` of RFC 9406.
    most_per_acknowledgment: f64,
    hystart: Option<HyStart>,
}

/// What an acknowledgment in slow start does.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    /// Added to the window.
    pub segments: f64,
    /// Whether slow start is over.
    pub is_over: bool,
}

impl SlowStart {
    /// A segment more for each one that is acknowledged, at most so many for an acknowledgment.
    pub fn standard(most_per_acknowledgment: f64) -> Self {
        Self { most_per_acknowledgment, hystart: None }
    }

    /// Makes a slow start with HyStart++. `is_paced` lets an acknowledgment add as many as it acknowledges (RFC 9406, section 4.3).
    pub fn hystart(is_paced: bool) -> Self {
        let most_per_acknowledgment = if is_paced { f64::INFINITY } else { MOST_UNPACED };
        Self { most_per_acknowledgment, hystart: Some(HyStart::default()) }
    }

    /// Slow start begins anew. HyStart++ is for the first one only (RFC 9406, section 4.3).
    pub(crate) fn restart(&mut self) {
        self.hystart = None;
    }

    /// Grows `window` where slow start goes on; false where it is over. Sets `threshold` where it ends with this acknowledgment.
    pub(crate) fn grow(&mut self, acked: &Acked, window: &mut f64, threshold: &mut f64) -> bool {
        if *window >= *threshold {
            return false;
        }
        let growth = self.growth(acked);
        *window += growth.segments;
        if growth.is_over {
            *threshold = *window;
        }
        true
    }

    fn growth(&mut self, acked: &Acked) -> Growth {
        let segments = (acked.newly as f64).min(self.most_per_acknowledgment);
        match &mut self.hystart {
            None => Growth { segments, is_over: false },
            Some(hystart) => hystart.growth(acked, segments),
        }
    }
}

/// `L` where packets are not paced.
const MOST_UNPACED: f64 = 8.0;
/// `MIN_RTT_THRESH` and `MAX_RTT_THRESH`.
const THRESHOLDS: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];
/// `MIN_RTT_DIVISOR`.
const RTT_DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE`.
const SAMPLES: u32 = 8;
/// `CSS_GROWTH_DIVISOR`.
const GROWTH_DIVISOR: f64 = 4.0;
/// `CSS_ROUNDS`.
const CONSERVATIVE_ROUNDS: u32 = 5;

/// RFC 9406, section 4.2. Times in nanoseconds; the largest number stands for infinity.
#[derive(Clone, Debug)]
struct HyStart {
    /// `windowEnd`: a round ends when this segment has been acknowledged.
    window_end: u64,
    /// `lastRoundMinRTT`.
    least_of_last_round: u64,
    /// `currentRoundMinRTT`.
    least_of_round: u64,
    /// `rttSampleCount`.
    samples: u32,
    /// `cssBaselineMinRtt` and the rounds so far, in Conservative Slow Start; `None` outside of it.
    conservative: Option<(u64, u32)>,
}

impl Default for HyStart {
    fn default() -> Self {
        Self { window_end: 0, least_of_last_round: u64::MAX, least_of_round: u64::MAX, samples: 0, conservative: None }
    }
}

impl HyStart {
    fn growth(&mut self, acked: &Acked, segments: f64) -> Growth {
        let mut is_over = false;
        if acked.acknowledged > self.window_end {
            // A round is over, and the next one ends with what has been sent by now.
            self.window_end = acked.highest;
            self.least_of_last_round = self.least_of_round;
            self.least_of_round = u64::MAX;
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                is_over = *rounds >= CONSERVATIVE_ROUNDS;
            }
        }
        if let Some(rtt) = acked.rtt {
            self.least_of_round = self.least_of_round.min(rtt.as_nanos());
            self.samples += 1;
        }
        match self.conservative {
            None => {
                if self.samples >= SAMPLES && self.least_of_round != u64::MAX && self.least_of_last_round != u64::MAX {
                    let [least, most] = THRESHOLDS.map(Duration::as_nanos);
                    let threshold = (self.least_of_last_round / RTT_DIVISOR).clamp(least, most);
                    if self.least_of_round >= self.least_of_last_round + threshold {
                        self.conservative = Some((self.least_of_round, 0));
                    }
                }
                Growth { segments, is_over: false }
            }
            Some((baseline, _)) => {
                // The delay has gone: it was no queue.
                if self.samples >= SAMPLES && self.least_of_round < baseline {
                    self.conservative = None;
                }
                Growth { segments: segments / GROWTH_DIVISOR, is_over }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of ten acknowledgments of one segment each with these round-trip times in milliseconds; how much each round adds.
    fn rounds(rtts: &[u64]) -> (Vec<f64>, Option<usize>) {
        let mut slow_start = SlowStart::hystart(false);
        let (mut added, mut over, mut acknowledged) = (Vec::new(), None, 0);
        for (round, rtt) in rtts.iter().enumerate() {
            let highest = acknowledged + 20;
            let mut sum = 0.0;
            for _ in 0..10 {
                acknowledged += 1;
                let growth = slow_start.growth(&Acked {
                    newly: 1,
                    rtt: Some(Duration::from_millis(*rtt)),
                    acknowledged,
                    highest: highest - 10,
                    is_limited_by_window: true,
                    ..Acked::default()
                });
                sum += growth.segments;
                if growth.is_over && over.is_none() {
                    over = Some(round);
                }
            }
            added.push(sum);
        }
        (added, over)
    }

    #[test]
    fn a_delay_of_an_eighth_begins_conservative_growth_and_five_rounds_end_it() {
        // RFC 9406, section 4.2.
        // 40 ms, then 45 ms: an eighth more. The eighth sample of the second round decides.
        let (added, over) = rounds(&[40, 45, 45, 45, 45, 45, 45, 45]);
        assert_eq!(added[..3], [10.0, 8.0 + 2.0 / 4.0, 2.5]);
        assert_eq!(over, Some(6));
    }

    #[test]
    fn a_smaller_delay_does_not_and_one_that_goes_away_is_forgotten() {
        // RFC 9406, section 4.2.
        assert_eq!(rounds(&[40, 44, 48, 52, 56]).1, None);
        let (added, over) = rounds(&[40, 45, 44, 44, 44]);
        assert_eq!(over, None);
        assert_eq!(added[3], 10.0);
    }

    #[test]
    fn the_threshold_is_between_4_and_16_ms() {
        // RFC 9406, section 4.2.
        assert!(rounds(&[8, 11, 11]).0[2] > 9.0);
        assert!(rounds(&[8, 12, 12]).0[2] < 3.0);
        assert!(rounds(&[400, 415, 415]).0[2] > 9.0);
        assert!(rounds(&[400, 416, 416]).0[2] < 3.0);
    }
}
