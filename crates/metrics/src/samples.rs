//! Many values in bounded memory: exact as long as they are few, then to three digits.

use crate::log_bins::log_bins;

/// Values kept one by one; 4 MiB of them.
const EXACT_VALUES: usize = 1 << 20;
/// Bits of a value that a bucket keeps: a relative width of 2^-11, so a middle at most 0.025 % off.
const MANTISSA_BITS: u32 = 11;
const BUCKETS: usize = ((64 - MANTISSA_BITS as usize) + 1) << MANTISSA_BITS;

/// Whole numbers: times in ns, sizes in bytes.
#[derive(Clone, Default)]
pub(crate) struct Samples {
    /// Values below 2^32 (4.3 s in ns), which nearly all are: half the memory.
    small: Vec<u32>,
    large: Vec<u64>,
    /// Counts by bucket of all values, once they are too many.
    buckets: Option<Vec<u64>>,
    count: u64,
    minimum: Option<u64>,
    maximum: Option<u64>,
    mean: f64,
    /// Sum of squared distances from the mean (Welford).
    squares: f64,
}

impl Samples {
    pub(crate) fn add(&mut self, value: u64) {
        self.count += 1;
        self.minimum = Some(self.minimum.map_or(value, |minimum| minimum.min(value)));
        self.maximum = Some(self.maximum.map_or(value, |maximum| maximum.max(value)));
        let distance = value as f64 - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value as f64 - self.mean);
        if let Some(buckets) = &mut self.buckets {
            buckets[bucket(value)] += 1;
        } else if self.small.len() + self.large.len() < EXACT_VALUES {
            match u32::try_from(value) {
                Ok(value) => self.small.push(value),
                Err(_) => self.large.push(value),
            }
        } else {
            let mut buckets = vec![0; BUCKETS];
            let small = std::mem::take(&mut self.small).into_iter().map(u64::from);
            for value in small.chain(std::mem::take(&mut self.large)).chain([value]) {
                buckets[bucket(value)] += 1;
            }
            self.buckets = Some(buckets);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn minimum(&self) -> Option<u64> {
        self.minimum
    }

    pub(crate) fn maximum(&self) -> Option<u64> {
        self.maximum
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Standard deviation of the sample (divided by n − 1). `None` with fewer than two values.
    pub(crate) fn standard_deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// Whether medians and bins are exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.buckets.is_none()
    }

    /// The middle value, or the mean of the middle two, rounded down.
    pub(crate) fn median(&mut self) -> Option<u64> {
        let upper = self.at(self.count / 2)?;
        if self.count % 2 == 1 {
            return Some(upper);
        }
        Some(self.at(self.count / 2 - 1)?.midpoint(upper))
    }

    /// The value with this many values before it, in ascending order.
    fn at(&mut self, place: u64) -> Option<u64> {
        let Some(buckets) = &self.buckets else {
            self.sort();
            let place = place as usize;
            let small = self.small.get(place).map(|value| u64::from(*value));
            return small.or_else(|| self.large.get(place - self.small.len()).copied());
        };
        let mut before = 0;
        let found = buckets.iter().position(|count| {
            before += count;
            before > place
        })?;
        Some(middle(found))
    }

    /// The value below which this share of the values lies; the nearest rank.
    pub(crate) fn quantile(&mut self, share: f64) -> Option<u64> {
        let rank = (share * self.count as f64).ceil() as u64;
        self.at(rank.saturating_sub(1))
    }

    /// Bins of the values, as [`log_bins`] makes them.
    pub(crate) fn log_bins(&mut self) -> Vec<(u64, u64)> {
        let Some(buckets) = &self.buckets else {
            self.sort();
            let small = self.small.iter().map(|value| u64::from(*value));
            return log_bins(small.chain(self.large.iter().copied()).map(|value| (value, 1)));
        };
        let counted = buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        log_bins(counted.map(|(bucket, count)| (middle(bucket), *count)))
    }

    fn sort(&mut self) {
        if !self.small.is_sorted() {
            self.small.sort_unstable();
        }
        self.large.sort_unstable();
    }
}

/// Values below 2^11 have a bucket each; above, 2^11 of them share a factor of two.
fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(MANTISSA_BITS + 1);
    ((shift as usize) << MANTISSA_BITS) + (value >> shift) as usize
}

/// The middle of the values in a bucket.
fn middle(bucket: usize) -> u64 {
    let per_shift = 1_usize << MANTISSA_BITS;
    if bucket < 2 * per_shift {
        return bucket as u64;
    }
    let shift = bucket / per_shift - 1;
    let lowest = ((bucket - shift * per_shift) as u64) << shift;
    lowest + ((1_u64 << shift) - 1) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(values: &[u64]) -> Samples {
        let mut samples = Samples::default();
        values.iter().for_each(|value| samples.add(*value));
        samples
    }

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(samples(&[]).median(), None);
        assert_eq!(samples(&[7]).median(), Some(7));
        assert_eq!(samples(&[4, 1]).median(), Some(2));
        assert_eq!(samples(&[100, 1, 4]).median(), Some(4));
        assert_eq!(samples(&[u64::MAX, u64::MAX]).median(), Some(u64::MAX));
    }

    #[test]
    fn large_and_small_values_are_one_order() {
        let mut values = samples(&[1 << 40, 3, u64::from(u32::MAX), 1 << 32]);
        assert_eq!(
            (0..5).map(|place| values.at(place)).collect::<Vec<_>>(),
            [Some(3), Some(u64::from(u32::MAX)), Some(1 << 32), Some(1 << 40), None]
        );
        assert_eq!(values.log_bins().iter().map(|(_, count)| count).sum::<u64>(), 4);
    }

    #[test]
    fn many_values_keep_three_digits() {
        let mut many = Samples::default();
        let count = EXACT_VALUES as u64 + 1_001;
        (0..count).for_each(|value| many.add(value * 1_000));
        assert!(!many.is_exact());
        let median = many.median().unwrap() as f64;
        let expected = (count / 2) as f64 * 1e3;
        assert!((median / expected - 1.0).abs() < 3e-4, "{median}");
        assert_eq!(many.log_bins().iter().map(|(_, count)| count).sum::<u64>(), count);
        assert_eq!((many.minimum(), many.maximum()), (Some(0), Some((count - 1) * 1_000)));
    }

    #[test]
    fn one_value_more_than_fit_is_not_exact() {
        let mut many = Samples::default();
        (0..EXACT_VALUES as u64).for_each(|value| many.add(value));
        assert!(many.is_exact());
        many.add(0);
        assert!(!many.is_exact());
        assert_eq!(many.count(), EXACT_VALUES as u64 + 1);
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut values = samples(&[10, 20, 30, 40]);
        assert_eq!([0.0, 0.25, 0.26, 0.95, 1.0].map(|share| values.quantile(share).unwrap()), [10, 10, 20, 40, 40]);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_middle_and_is_narrow(value: u64) {
            let place = bucket(value);
            prop_assert!(place < BUCKETS);
            prop_assert_eq!(bucket(middle(place)), place);
            prop_assert!(middle(place).abs_diff(value) as f64 <= value as f64 / 2048.0);
        }
    }
}
