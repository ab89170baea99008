//! How fast: the course by a setting, ranks with intervals.

mod boxes;
mod ranks;

use quiclab_experiment::differences;

use super::{Figure, Scene, goodput::column};
use crate::{columns::Column, groups::Group};

/// The pictures, as far as the groups have something to show in them.
pub(super) fn draw(scene: &Scene) -> Vec<Figure> {
    boxes::draw(scene.groups).into_iter().chain(ranks::draw(scene.groups)).collect()
}

/// What sets a group apart from the others besides its stack: keys and values.
type Differences = Vec<(&'static str, String)>;

/// For each group.
fn differences_of(groups: &[Group]) -> Vec<Differences> {
    differences(&groups.iter().map(|group| group.settings).collect::<Vec<_>>())
}

/// Goodput on the wire, or by the client's lifetime where nothing was captured.
fn goodput(groups: &[Group]) -> &'static Column {
    let wire = column("goodput_wire_bps");
    if groups.iter().any(|group| group.summary(wire).is_some()) { wire } else { column("goodput_process_bps") }
}

/// The values of a column, in the unit in which it is shown.
fn values(group: &Group, column: &Column) -> Vec<f64> {
    let of_run = group.runs.iter().filter_map(|run| (column.value)(&run.metrics.metrics));
    of_run.map(|value| value / column.divisor).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
