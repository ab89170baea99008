//! Differences as shares of A, with their intervals, on one axis.

use super::{measure::Row, result::Pair};
use crate::{
    plot::{Axis, Content, Figure, Plot, style},
    quantiles::ascending,
};

/// Height of a row, in pixels.
const ROW: f64 = 34.0;

/// An interval that reaches so many times as far from 0 as that of three quarters of the rows is left to an arrow at the edge: an axis that
/// has room for it shrinks all others to dots.
const FAR: f64 = 4.0;
/// Part of the axis beyond the intervals that are shown whole.
const MARGIN: f64 = 0.15;

/// The picture of pair number `place`; `None` where no difference has an interval and a mean of A that is not 0.
pub(super) fn draw(place: usize, pair: &Pair) -> Option<Figure> {
    let rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).filter_map(shares).collect();
    if rows.is_empty() {
        return None;
    }
    let names = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    let intervals: Vec<_> =
        rows.iter().map(|(_, [middle, low, high])| [low, middle, high].map(|it| it * 100.0)).collect();
    let range = range_without_far_ones(&intervals);
    let title = "B \u{2212} A, % of A";
    let axis = range.map_or_else(|| Axis::linear(title), |(low, high)| Axis::between(title, low, high));
    let axes = Plot::new(axis, Axis::names("", names));
    let mut plot = Plot { height: ROW * rows.len() as f64, guides: vec![0.0], ..axes };
    plot.add("", style::colour(0), Content::Intervals(intervals.into_iter().enumerate().collect()));
    let outside = if range.is_some() { " An arrow with a number shows what lies outside of the axis." } else { "" };
    Some(Figure {
        id: format!("differences-{place}"),
        title: format!("Differences: {}", pair.label),
        caption: format!(
            "Mean difference and its interval, separately for each metric. An interval that contains 0 shows no \
             difference. Metrics whose mean in A is 0 are not shown.{outside}"
        ),
        plot,
    })
}

/// Mean difference and interval as shares of A.
fn shares(row: &Row) -> Option<(&'static str, [f64; 3])> {
    let difference = row.difference.as_ref()?;
    let mean = row.a.as_ref()?.mean;
    let (low, high) = difference.interval?;
    (mean != 0.0).then(|| {
        let mut ends = [low / mean, high / mean];
        ends.sort_by(f64::total_cmp);
        (row.heading, [difference.mean / mean, ends[0], ends[1]])
    })
}

/// Ends of an axis for the intervals that are not far from all others; `None` where none is.
fn range_without_far_ones(intervals: &[[f64; 3]]) -> Option<(f64, f64)> {
    let reach = |interval: &[f64; 3]| interval.iter().fold(0.0, |most: f64, end| most.max(end.abs()));
    let reaches = ascending(intervals.iter().map(reach).collect());
    let usual = *reaches.get(reaches.len().saturating_sub(1) * 3 / 4)?;
    let near: Vec<_> = intervals.iter().filter(|interval| reach(interval) <= FAR * usual).flatten().copied().collect();
    if near.len() == intervals.len() * 3 || usual == 0.0 {
        return None;
    }
    let (low, high) = near.iter().fold((0.0, 0.0), |(low, high): (f64, f64), end| (low.min(*end), high.max(*end)));
    let margin = (high - low) * MARGIN;
    Some((low - margin, high + margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_interval_far_from_all_others_does_not_stretch_the_axis() {
        let mut intervals = vec![[-2.0, 1.0, 4.0]; 7];
        intervals.push([-3.0, 5.0, 15.9]);
        assert_eq!(range_without_far_ones(&intervals), None);
        intervals.push([300.0, 900.0, 1500.0]);
        let (low, high) = range_without_far_ones(&intervals).unwrap();
        assert!((-6.5..-3.0).contains(&low) && (15.9..20.0).contains(&high), "{low} {high}");
        assert_eq!(
            range_without_far_ones(&[[-2.0, 1.0, 4.0], [10.0, 20.0, 30.0]]).map(|(_, high)| high < 10.0),
            Some(true)
        );
        assert_eq!(range_without_far_ones(&[[100.0, 200.0, 300.0]]), None);
        assert_eq!(range_without_far_ones(&[[0.0; 3], [0.0; 3], [1.0, 2.0, 3.0]]), None);
    }
}
