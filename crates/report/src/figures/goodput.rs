//! Goodput, measured both ways.

use plotly::{
    Bar, Plot, Scatter,
    common::{ErrorData, ErrorType, Mode, Pattern, PatternShape},
    layout::BarMode,
};

use super::{Figure, style};
use crate::{
    columns::{COLUMNS, Column},
    groups::Group,
};

/// Metrics of the two bars, their names, and a pattern, so that the colour is not all that tells them apart.
const BARS: [(&str, &str, PatternShape); 2] = [
    ("goodput_wire_bps", "on the wire", PatternShape::None),
    ("goodput_process_bps", "by the client's lifetime", PatternShape::RightDiagonalLine),
];

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = Plot::new();
    for (place, (metric, name, pattern)) in BARS.into_iter().enumerate() {
        let marker = plotly::common::Marker::new().color(style::colour(place)).pattern(Pattern::new().shape(pattern));
        plot.add_trace(bars(groups, metric, name, marker));
    }
    plot.add_trace(published(groups, "goodput_wire_bps", "published, on the wire"));
    let y = style::axis("goodput, Mbit/s").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(style::bar_layout(y).bar_mode(BarMode::Group));
    Figure {
        id: "goodput".to_owned(),
        title: "Goodput".to_owned(),
        caption: "Application bytes per second; mean and standard deviation over the runs.".to_owned(),
        plot,
    }
}

/// One bar per group, with its standard deviation.
pub(super) fn bars(
    groups: &[Group],
    metric: &str,
    name: &str,
    marker: plotly::common::Marker,
) -> Box<Bar<String, Option<f64>>> {
    let column = column(metric);
    let summaries: Vec<_> = groups.iter().map(|group| group.summary(column)).collect();
    let means = summaries.iter().map(|one| one.map(|one| one.mean / column.divisor)).collect();
    let deviations =
        summaries.iter().map(|one| one.and_then(|one| one.standard_deviation).unwrap_or(0.0) / column.divisor);
    let errors = ErrorData::new(ErrorType::Data).array(deviations.collect()).visible(true);
    Bar::new(groups.iter().map(|group| style::name(&group.label)).collect(), means)
        .name(name)
        .marker(marker)
        .error_y(errors)
}

/// The published value of each group that has one.
pub(super) fn published(groups: &[Group], metric: &str, name: &str) -> Box<Scatter<String, f64>> {
    let column = column(metric);
    let values =
        groups.iter().filter_map(|group| Some((style::name(&group.label), group.published(column)? / column.divisor)));
    let (labels, values): (Vec<_>, Vec<_>) = values.unzip();
    Scatter::new(labels, values).name(name).mode(Mode::Markers).marker(style::published_marker())
}

pub(super) fn column(metric: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.metric == metric).expect("the pictures name columns that there are")
}
