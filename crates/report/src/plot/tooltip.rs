//! What a pointer over a mark shows: its values with their units.

use super::{
    model::{Axis, AxisKind, Plot},
    words::escaped,
};
use crate::number::number;

/// Points of a plot that have tooltips: with more of them, they lie so close that a pointer cannot choose one, and would fill the page.
const MOST_POINTS: usize = 300;
/// Length of the longest unit, in characters. What is behind the last comma of a title and longer is none.
const LONGEST_UNIT: usize = 12;

/// Tooltips of a plot.
pub(super) struct Tooltips<'a> {
    plot: &'a Plot,
    /// Whether single points of lines have one.
    pub of_points: bool,
}

impl<'a> Tooltips<'a> {
    pub(super) fn of(plot: &'a Plot) -> Self {
        let points: usize = plot.traces.iter().map(|trace| trace.content.points()).sum();
        Self { plot, of_points: points <= MOST_POINTS }
    }

    /// The tooltip of a trace as a whole.
    pub(super) fn name(&self, name: &str) -> String {
        if name.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(name)) }
    }

    /// The tooltip of a point: the name of its trace, and a line for each axis.
    pub(super) fn point(&self, name: &str, x: f64, y: f64) -> String {
        self.lines(&[name, &on_axis(&self.plot.x, x), &on_axis(&self.plot.y, y)])
    }

    /// The tooltip of a place of a name and what there is, whatever axis the names are on.
    pub(super) fn of_name(&self, name: &str, place: f64, what: &str) -> String {
        let (names, _) = self.axes();
        self.lines(&[&on_axis(names, place), name, what])
    }

    /// A value on the axis without names.
    pub(super) fn value(&self, value: f64) -> String {
        on_axis(self.axes().1, value)
    }

    fn lines(&self, lines: &[&str]) -> String {
        let lines: Vec<_> = lines.iter().filter(|line| !line.is_empty()).map(|line| escaped(line)).collect();
        format!("<title>{}</title>", lines.join("\n"))
    }

    /// The axis with names and the one with values.
    fn axes(&self) -> (&Axis, &Axis) {
        if self.plot.is_horizontal() { (&self.plot.y, &self.plot.x) } else { (&self.plot.x, &self.plot.y) }
    }
}

/// What an axis shows at a value: the name that is there, or the axis' name with the number and its unit.
fn on_axis(axis: &Axis, value: f64) -> String {
    if let AxisKind::Names(names) = &axis.kind {
        return names.get(value as usize).cloned().unwrap_or_default();
    }
    let (name, unit) = parts(&axis.title);
    [name, &number(value), unit].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A title's name and unit.
fn parts(title: &str) -> (&str, &str) {
    match title.rsplit_once(", ") {
        Some((name, unit)) if unit.chars().count() <= LONGEST_UNIT && !unit.contains(':') => (name, unit),
        _ => (title, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_stands_behind_the_number() {
        assert_eq!(on_axis(&Axis::linear("gap between packets, \u{b5}s"), 12.5), "gap between packets 12.5 \u{b5}s");
        assert_eq!(on_axis(&Axis::linear("share of gaps"), 0.5), "share of gaps 0.5");
        assert_eq!(on_axis(&Axis::linear("goodput, Mbit/s: a minus b"), 1.0), "goodput, Mbit/s: a minus b 1");
        assert_eq!(on_axis(&Axis::names("", vec!["a".to_owned(), "b".to_owned()]), 1.0), "b");
    }
}
