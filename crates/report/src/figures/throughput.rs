//! How fast: the course by a setting, ranks with intervals, what CPU time goes to.

pub(super) mod boxes;
pub(super) mod cpu;
pub(super) mod ranks;

use crate::{
    columns::{Column, column_of},
    groups::Group,
};

/// Goodput on the wire, or by the client's lifetime where nothing was captured.
fn goodput(groups: &[Group]) -> &'static Column {
    let wire = column_of("goodput_wire_bps");
    if groups.iter().any(|group| group.summary(wire).is_some()) { wire } else { column_of("goodput_process_bps") }
}

/// The values of a column, in the unit in which it is shown.
fn values(group: &Group, column: &Column) -> Vec<f64> {
    let of_run = group.runs.iter().filter_map(|run| (column.value)(&run.metrics.metrics));
    of_run.map(|value| value / column.divisor).collect()
}
