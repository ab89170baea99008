//! Differences as shares of A, with their intervals, on one axis.

use plotly::{
    Plot, Scatter,
    common::{ErrorData, ErrorType, Marker, Mode},
    layout::{Margin, Shape, ShapeLayer, ShapeLine, ShapeType},
};

use super::{Pair, measure::Row};
use crate::figures::{Figure, style};

/// Of a row, and of what surrounds them, in pixels.
const ROW_HEIGHT: usize = 34;
const SURROUNDINGS: usize = 110;

/// The picture of pair number `place`; `None` where no difference has an interval and a mean of A that is not 0.
pub(super) fn draw(place: usize, pair: &Pair) -> Option<Figure> {
    let mut rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).filter_map(shares).collect();
    if rows.is_empty() {
        return None;
    }
    // The first row on top.
    rows.reverse();
    let names = rows.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    let middle: Vec<_> = rows.iter().map(|(_, [middle, ..])| middle * 100.0).collect();
    let above = rows.iter().map(|(_, [middle, _, high])| (high - middle) * 100.0).collect();
    let below = rows.iter().map(|(_, [middle, low, _])| (middle - low) * 100.0).collect();
    let count = names.len();
    let mut plot = Plot::new();
    plot.add_trace(
        Scatter::new(middle, names)
            .mode(Mode::Markers)
            .marker(Marker::new().color(style::colour(0)).size(9))
            .error_x(ErrorData::new(ErrorType::Data).symmetric(false).array(above).array_minus(below))
            .hover_template("%{x:.2f} %<extra></extra>"),
    );
    let zero = Shape::new()
        .shape_type(ShapeType::Line)
        .x0(0.0)
        .x1(0.0)
        .y_ref("paper")
        .y0(0.0)
        .y1(1.0)
        .layer(ShapeLayer::Below)
        .line(ShapeLine::new().color("#444444").width(1.0));
    let layout = style::layout(style::axis("B \u{2212} A, % of A"), style::axis(""))
        .height(SURROUNDINGS + ROW_HEIGHT * count)
        .margin(Margin::new().left(230).right(20).top(20).bottom(60))
        .show_legend(false)
        .shapes(vec![zero]);
    plot.set_layout(layout);
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
