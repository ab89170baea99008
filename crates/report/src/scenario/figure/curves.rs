//! Points of curves: means over repetitions, and how far these spread.

use std::collections::BTreeMap;

use quiclab_experiment::scenario::{FigureSpec, Labels};
use quiclab_metrics::Summary;

use super::{
    axis::Across,
    members::{Member, without},
    words,
};

/// A line of a figure.
pub(super) struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Value on the axis, in its unit; of names the place.
    pub x: f64,
    /// Mean over the repetitions; `None` where nothing was measured.
    pub value: Option<f64>,
    /// Standard deviation of the repetitions; `None` of a single one.
    pub spread: Option<f64>,
}

impl Point {
    fn of(x: f64, values: impl Iterator<Item = f64>) -> Self {
        let summary = Summary::of(values);
        Self {
            x,
            value: summary.as_ref().map(|summary| summary.mean),
            spread: summary.and_then(|summary| summary.standard_deviation),
        }
    }
}

/// The curves of a figure, in the order of its members and metrics.
pub(super) fn curves(spec: &FigureSpec, members: &[Member], across: &Across, labels: &Labels) -> Vec<Curve> {
    // Members that differ in the setting of the axis alone are points of one curve.
    let mut lines: Vec<(BTreeMap<String, String>, Vec<&Member>)> = Vec::new();
    for member in members {
        let rest = match across {
            Across::Time => member.settings.clone(),
            _ => without(&member.settings, &spec.x),
        };
        match lines.iter_mut().find(|(other, _)| *other == rest && !matches!(across, Across::Time)) {
            Some((_, line)) => line.push(member),
            None => lines.push((rest, vec![member])),
        }
    }
    let names = labels.of_settings(&lines.iter().map(|(rest, _)| rest.clone()).collect::<Vec<_>>());
    let mut curves = Vec::new();
    for ((_, line), label) in lines.iter().zip(names) {
        for metric in &spec.y {
            let points = match across {
                Across::Time => line.first().map(|member| over_time(spec, member, metric)).unwrap_or_default(),
                _ => over_setting(line, metric, across),
            };
            let name = words::curve(spec, metric, &label, lines.len(), labels);
            if points.iter().any(|point| point.value.is_some()) {
                curves.push(Curve { name, points });
            }
        }
    }
    curves
}

fn over_time(spec: &FigureSpec, member: &Member, name: &str) -> Vec<Point> {
    let all: Vec<_> = member.runs.iter().map(|run| run.series(name, spec.cumulative)).collect();
    let Some(longest) = all.iter().max_by_key(|series| series.len()) else { return Vec::new() };
    let at = |place: usize, x: f64| {
        let values = all.iter().filter_map(move |series| series.get(place).filter(|point| point.0 == x)?.1);
        Point::of(x, values)
    };
    // Time 0 has no place on a logarithmic axis.
    let points = longest.iter().enumerate().filter(|(_, (x, _))| *x > 0.0 || !spec.logarithmic);
    points.map(|(place, (x, _))| at(place, *x)).collect()
}

fn over_setting(line: &[&Member], metric: &str, across: &Across) -> Vec<Point> {
    let point = |member: &&Member| {
        let x = across.place(&member.settings)?;
        let point = Point::of(x, member.runs.iter().filter_map(|run| run.metric(metric)));
        point.value.map(|_| point)
    };
    let mut points: Vec<_> = line.iter().filter_map(point).collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}
