//! Goodput, measured both ways.

use super::{Figure, of_groups, style};
use crate::{
    columns::{COLUMNS, Column},
    groups::Group,
    plot::{Axis, Bars, Content, Mark},
};

/// Metrics of the two bars, their names, and whether they are hatched, so that the colour is not all that tells them apart.
const BARS: [(&str, &str, bool); 2] =
    [("goodput_wire_bps", "on the wire", false), ("goodput_process_bps", "by the client's lifetime", true)];

pub(super) fn draw(groups: &[Group]) -> Figure {
    let mut plot = of_groups(groups, Axis::linear("goodput, Mbit/s"));
    for (place, (metric, name, is_hatched)) in BARS.into_iter().enumerate() {
        plot.add(name, style::colour(place), Bars { is_hatched, ..bars(groups, metric) });
    }
    plot.add("published, on the wire", style::INK, published(groups, "goodput_wire_bps"));
    Figure {
        id: "goodput".to_owned(),
        title: "Goodput".to_owned(),
        caption: "Application bytes per second; mean and standard deviation over the runs.".to_owned(),
        plot,
    }
}

/// One bar per group, with its standard deviation.
pub(super) fn bars(groups: &[Group], metric: &str) -> Bars {
    let column = column(metric);
    let summaries: Vec<_> = groups.iter().map(|group| group.summary(column)).collect();
    let values = summaries.iter().map(|one| one.map(|one| one.mean / column.divisor)).collect();
    let deviations =
        summaries.iter().map(|one| one.and_then(|one| one.standard_deviation).unwrap_or(0.0) / column.divisor);
    Bars { values, errors: deviations.collect(), is_hatched: false }
}

/// The published value of each group that has one.
pub(super) fn published(groups: &[Group], metric: &str) -> Content {
    let column = column(metric);
    let values = groups
        .iter()
        .enumerate()
        .filter_map(|(place, group)| Some((place as f64, group.published(column)? / column.divisor)));
    Content::Marks(Mark::Diamond, values.collect())
}

pub(super) fn column(metric: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.metric == metric).expect("the pictures name columns that there are")
}
