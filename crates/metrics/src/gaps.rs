//! `gap_median_ns`, `gap_share_below_100us`: time between consecutive packets.

use quiclab_units::Duration;
use quiclab_wire::Packet;

use crate::Input;
use crate::log_bins::log_bins;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// The bound in `gap_share_below_100us`. Fixed by the name, whatever the train threshold is.
pub const SHORT_GAP: Duration = Duration::from_nanos(100_000);

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    let all: Vec<Option<u64>> = gaps_ns(&input.flow.packets).collect();
    let mut gaps: Vec<u64> = all.iter().copied().flatten().collect();
    gaps.sort_unstable();
    let backwards = all.len() - gaps.len();
    if backwards > 0 {
        run.warn(
            WarningCode::TimeBackwards,
            format!(
                "{backwards} of {} packets are earlier than the one before them; their gaps are left out: were several \
                 captures merged, or was the clock set?",
                input.flow.packets.len()
            ),
        );
    }
    let below = gaps.partition_point(|gap| *gap < SHORT_GAP.as_nanos());
    run.metrics.gap_median_ns = median(&gaps);
    run.metrics.gap_share_below_100us = (!gaps.is_empty()).then(|| below as f64 / gaps.len() as f64);
    run.distributions.gaps_ns = log_bins(&gaps);
}

/// One fewer than there are packets. `None` where the time runs backwards.
pub(crate) fn gaps_ns<'a>(packets: &'a [&'a Packet]) -> impl Iterator<Item = Option<u64>> + 'a {
    packets.windows(2).map(|pair| Some(pair[1].time.checked_since(pair[0].time)?.as_nanos()))
}

/// Of ascending values; the mean of the middle two, rounded down, where their number is even.
fn median(ascending: &[u64]) -> Option<u64> {
    let middle = ascending.len() / 2;
    let upper = *ascending.get(middle)?;
    if ascending.len() % 2 == 1 {
        return Some(upper);
    }
    Some(ascending[middle - 1].midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[7]), Some(7));
        assert_eq!(median(&[1, 4]), Some(2));
        assert_eq!(median(&[1, 4, 100]), Some(4));
        assert_eq!(median(&[u64::MAX, u64::MAX]), Some(u64::MAX));
    }
}
