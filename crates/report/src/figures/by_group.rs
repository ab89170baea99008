//! A plot with a place for each group of runs, and what stands there.

use crate::{
    columns::column_of,
    groups::Group,
    plot::{Axis, Bars, Content, Mark, Plot},
};

/// A plot with a place for each group on the axis below.
pub(super) fn of_groups(groups: &[Group], y: Axis) -> Plot {
    Plot::new(Axis::names("", groups.iter().map(|group| group.label.clone()).collect()), y)
}

/// One bar per group, with its standard deviation.
pub(super) fn bars(groups: &[Group], metric: &str) -> Bars {
    let column = column_of(metric);
    let summaries: Vec<_> = groups.iter().map(|group| group.summary(column)).collect();
    let values = summaries.iter().map(|one| one.map(|one| one.mean / column.divisor)).collect();
    let deviations =
        summaries.iter().map(|one| one.and_then(|one| one.standard_deviation).unwrap_or(0.0) / column.divisor);
    Bars { values, errors: deviations.collect(), is_hatched: false }
}

/// The published value of each group that has one.
pub(super) fn published(groups: &[Group], metric: &str) -> Content {
    let column = column_of(metric);
    let values = groups
        .iter()
        .enumerate()
        .filter_map(|(place, group)| Some((place as f64, group.published(column)? / column.divisor)));
    Content::Marks(Mark::Diamond, values.collect())
}
