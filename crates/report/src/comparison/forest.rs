//! Differences as shares of A, with their intervals, on one axis.

use super::{measure::Row, result::Pair};
use crate::plot::{Axis, Content, Figure, Plot, style};

/// Height of a row, in pixels.
const ROW: f64 = 34.0;

/// The picture of pair number `place`; `None` where no difference has an interval and a mean of A that is not 0.
pub(super) fn draw(place: usize, pair: &Pair) -> Option<Figure> {
    let rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).filter_map(shares).collect();
    if rows.is_empty() {
        return None;
    }
    let names = rows.iter().map(|(name, _)| (*name).to_owned()).collect();
    let axes = Plot::new(Axis::linear("B \u{2212} A, % of A"), Axis::names("", names));
    let mut plot = Plot { height: ROW * rows.len() as f64, guides: vec![0.0], ..axes };
    let intervals = rows
        .iter()
        .enumerate()
        .map(|(row, (_, [middle, low, high]))| (row, [low, middle, high].map(|share| share * 100.0)));
    plot.add("", style::colour(0), Content::Intervals(intervals.collect()));
    Some(Figure {
        id: format!("differences-{place}"),
        title: format!("Differences: {}", pair.label),
        caption: "Mean difference and its interval, separately for each metric. An interval that contains 0 shows no \
                  difference. Metrics whose mean in A is 0 are not shown."
            .to_owned(),
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
