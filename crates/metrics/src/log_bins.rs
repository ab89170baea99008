//! Log-spaced bins with whole-number edges.

/// Bins per factor of ten: each edge is 5.9 % above the one before.
pub const BINS_PER_DECADE: usize = 40;
/// 10^19 is the last power of ten below 2^64.
const DECADES: u32 = 20;
const ONE: u128 = 1_000_000_000_000_000;
/// round(10^(k/40) x 10^15). Written down because powers of floating-point numbers differ in the last bit between machines.
const MANTISSAS: [u128; BINS_PER_DECADE] = [
    1_000_000_000_000_000,
    1_059_253_725_177_289,
    1_122_018_454_301_963,
    1_188_502_227_437_018,
    1_258_925_411_794_167,
    1_333_521_432_163_324,
    1_412_537_544_622_754,
    1_496_235_656_094_433,
    1_584_893_192_461_113,
    1_678_804_018_122_560,
    1_778_279_410_038_923,
    1_883_649_089_489_801,
    1_995_262_314_968_880,
    2_113_489_039_836_647,
    2_238_721_138_568_340,
    2_371_373_705_661_655,
    2_511_886_431_509_580,
    2_660_725_059_798_810,
    2_818_382_931_264_454,
    2_985_382_618_917_960,
    3_162_277_660_168_379,
    3_349_654_391_578_277,
    3_548_133_892_335_755,
    3_758_374_042_884_442,
    3_981_071_705_534_973,
    4_216_965_034_285_822,
    4_466_835_921_509_631,
    4_731_512_589_614_805,
    5_011_872_336_272_723,
    5_308_844_442_309_884,
    5_623_413_251_903_491,
    5_956_621_435_290_105,
    6_309_573_444_801_932,
    6_683_439_175_686_146,
    7_079_457_843_841_379,
    7_498_942_093_324_558,
    7_943_282_347_242_815,
    8_413_951_416_451_951,
    8_912_509_381_337_455,
    9_440_608_762_859_234,
];

/// Puts ascending values, each with its number, into bins: (upper edge, values at or below it and above the edge before),
/// empty bins left out.
pub(crate) fn log_bins(ascending: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    let mut edges = edges();
    let mut edge = 0;
    for (value, count) in ascending {
        if value > edge || edge == 0 {
            // The last edge is the largest number there is.
            edge = edges.find(|edge| value <= *edge).unwrap_or(u64::MAX);
            bins.push((edge, 0));
        }
        if let Some(last) = bins.last_mut() {
            last.1 += count;
        }
    }
    bins
}

/// round(10^(k/40)) for k from 0, each once, and the largest number last.
fn edges() -> impl Iterator<Item = u64> {
    let mut previous = 0;
    (0..DECADES)
        .flat_map(|decade| {
            let scale = 10_u128.pow(decade);
            MANTISSAS.into_iter().map(move |mantissa| (mantissa * scale + ONE / 2) / ONE)
        })
        .map_while(|edge| u64::try_from(edge).ok())
        .chain([u64::MAX])
        .filter(move |edge| std::mem::replace(&mut previous, *edge) != *edge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_follow_the_equation() {
        for (k, mantissa) in MANTISSAS.into_iter().enumerate() {
            let expected = 10_f64.powf(k as f64 / BINS_PER_DECADE as f64) * 1e15;
            assert!((mantissa as f64 - expected).abs() <= 8.0, "k = {k}");
        }
    }

    #[test]
    fn edges_ascend_and_hold_every_power_of_ten() {
        let edges: Vec<u64> = edges().collect();
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
        assert!((0..DECADES).all(|decade| edges.contains(&10_u64.pow(decade))));
        assert_eq!(edges.first(), Some(&1));
        assert_eq!(edges.last(), Some(&u64::MAX));
    }

    #[test]
    fn a_value_on_an_edge_is_in_its_bin_and_one_above_is_not() {
        assert_eq!(log_bins([(1_000, 1)]), [(1_000, 1)]);
        assert_eq!(log_bins([(1_001, 1)]), [(1_059, 1)]);
    }

    #[test]
    fn every_value_is_counted_once() {
        let values = [0, 0, 1, 2, 99_999, 100_000, 100_001, u64::MAX];
        let bins = log_bins(values.map(|value| (value, 1)));
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 8);
        assert_eq!(bins[0], (1, 3));
        assert_eq!(bins.last(), Some(&(u64::MAX, 1)));
    }
}
