//! Distributions by group: curves, boxes, and tables of quantiles.

use std::collections::BTreeMap;

use super::{
    rows::Key,
    section::{Line, Table, number},
};
use crate::{
    plot::{self, Axis, Dash, Plot, style},
    quantiles::{ascending, quantile},
};

/// Curves of a picture; those of the groups with the most values.
const MOST_CURVES: usize = 12;
/// Points of a curve. A curve with more values has those at equal distances of rank.
const MOST_POINTS: usize = 400;
/// What an axis shows where it is not logarithmic: all but this share at each end.
const CUT_SHARE: f64 = 0.01;

/// Values by group.
pub(super) type Values<'a> = BTreeMap<Key<'a>, Vec<f64>>;

/// A group of values, in order.
pub(super) struct Curve {
    pub name: String,
    pub values: Vec<f64>,
    /// Published median, of the same unit.
    pub published_median: Option<f64>,
}

impl Curve {
    pub fn quantile(&self, share: f64) -> Option<f64> {
        quantile(&self.values, share)
    }
}

/// The curves in order of name; where there are too many, those with the most values. The text says how many are not among them.
pub(super) fn curves(values: Values, none: &str, published: impl Fn(&str) -> Option<f64>) -> (Vec<Curve>, String) {
    let (kept, said) = largest(values, MOST_CURVES);
    let curve = |(key, values): (Key, Vec<f64>)| {
        let name = key.name(none);
        Curve { published_median: published(&name), name, values: ascending(values) }
    };
    (kept.into_iter().map(curve).collect(), said)
}

/// The keys with the most values, in order of name; where others are left out, a sentence with their number.
pub(super) fn largest<'a>(values: Values<'a>, most: usize) -> (Vec<(Key<'a>, Vec<f64>)>, String) {
    let mut all: Vec<_> = values.into_iter().collect();
    all.sort_by(|(one_key, one), (other_key, other)| other.len().cmp(&one.len()).then(one_key.cmp(other_key)));
    let rest = all.split_off(all.len().min(most));
    let rows: usize = rest.iter().map(|(_, values)| values.len()).sum();
    let said = match rest.len() {
        0 => String::new(),
        count => format!(" Not shown: {count} smaller groups with {rows} rows."),
    };
    all.sort_by_key(|(key, _)| *key);
    (all, said)
}

/// Share of the values up to each.
pub(super) fn distributions(curves: &[Curve], title: &str, is_logarithmic: bool) -> Plot {
    // A logarithmic axis has no place for zeros alone.
    let is_logarithmic = is_logarithmic && curves.iter().any(|curve| curve.values.last().is_some_and(|it| *it > 0.0));
    let x = match cut(curves) {
        _ if is_logarithmic => Axis::logarithmic(title),
        Some((low, high)) => Axis::between(title, low, high),
        None => Axis::linear(title),
    };
    let mut plot = Plot::new(x, Axis::between("share of rows", 0.0, 1.0));
    for (place, curve) in curves.iter().enumerate() {
        let line = plot::Line::of_place(place, points(&curve.values, is_logarithmic)).stepped();
        plot.add(&curve.name, style::colour(place), line);
    }
    plot
}

/// A vertical line with a name.
pub(super) fn mark(plot: &mut Plot, at: f64, name: &str) {
    let line = plot::Line::of_place(0, vec![(at, 0.0), (at, 1.0)]).dash(Dash::Dots).width(1.5);
    plot.add(name, style::GREY, line);
}

/// All but the ends of the values of all curves together.
fn cut(curves: &[Curve]) -> Option<(f64, f64)> {
    let all = ascending(curves.iter().flat_map(|curve| curve.values.iter().copied()).collect());
    let (low, high) = quantile(&all, CUT_SHARE).zip(quantile(&all, 1.0 - CUT_SHARE))?;
    let margin = (high - low) * 0.03;
    (high > low).then_some((low - margin, high + margin))
}

/// Each is a point of the whole distribution. Zeros, which a logarithmic axis does not have, are in the shares.
pub(super) fn points(values: &[f64], is_logarithmic: bool) -> Vec<(f64, f64)> {
    let count = values.len();
    let ranks: Vec<usize> = if count <= MOST_POINTS {
        (0..count).collect()
    } else {
        (0..MOST_POINTS).map(|point| point * (count - 1) / (MOST_POINTS - 1)).collect()
    };
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(ranks.len());
    for value in ranks.into_iter().map(|rank| values[rank]) {
        let is_new = points.last().is_none_or(|(last, _)| *last < value);
        if is_new && (value > 0.0 || !is_logarithmic) {
            let at_most = values.partition_point(|other| *other <= value);
            points.push((value, at_most as f64 / count as f64));
        }
    }
    points
}

/// Rows and quantiles of each curve.
pub(super) fn quantiles(curves: &[Curve], first: &'static str) -> Table {
    let has_published = curves.iter().any(|curve| curve.published_median.is_some());
    let mut headings = vec![first, "rows", "5 %", "25 %", "median", "75 %", "95 %"];
    headings.extend(has_published.then_some("median, published"));
    let line = |curve: &Curve| {
        let mut cells = vec![curve.values.len().to_string()];
        cells.extend([0.05, 0.25, 0.5, 0.75, 0.95].map(|share| number(curve.quantile(share))));
        cells.extend(has_published.then(|| number(curve.published_median)));
        Line::own(&curve.name, cells)
    };
    Table { headings, lines: curves.iter().map(line).collect() }
}
