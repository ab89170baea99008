//! A colour for each pair of values of two settings.

use std::collections::BTreeMap;

use quiclab_experiment::{
    Compared,
    scenario::{FigureSpec, Labels},
};
use quiclab_metrics::Summary;

use super::{
    super::group::Group,
    axis::Values,
    members::{Member, members, without},
    words,
};
use crate::{
    number::number,
    plot::{Axis, Cell, Cells, Content, Figure, Plot, style},
};

/// Colours from few to much, light enough for black numbers.
const SEQUENTIAL: [&str; 4] = ["#F7FBFF", "#C6DBEF", "#8DBEDC", "#4A98C9"];
/// Colours from below to above the middle, light enough for black numbers.
const DIVERGING: [&str; 5] = ["#DF7A36", "#F6C9A4", "#FFFFFF", "#B5D8EC", "#4A98C9"];
/// A difference with a larger chance of coming from nothing is none.
const ALPHA: f64 = 0.05;
/// Height of a cell, and of all of them where there are few, in pixels.
const CELL: f64 = 44.0;
const LEAST_HEIGHT: f64 = 290.0;
/// What stands in a cell without a value, so that it is not taken for one near the middle of the colours.
const NO_VALUE: &str = "no value";

/// One picture for each combination of the settings that are no axis.
pub(super) fn draw(id: &str, spec: &FigureSpec, groups: &[Group], labels: &Labels) -> Vec<Figure> {
    let Some(by) = &spec.by else { return Vec::new() };
    let members = members(spec, groups);
    let mut parts: Vec<(BTreeMap<String, String>, Vec<Member>)> = Vec::new();
    for member in members {
        let rest = without(&without(&member.settings, &spec.x), by);
        match parts.iter_mut().find(|(other, _)| *other == rest) {
            Some((_, part)) => part.push(member),
            None => parts.push((rest, vec![member])),
        }
    }
    let names = labels.of_settings(&parts.iter().map(|(rest, _)| rest.clone()).collect::<Vec<_>>());
    let count = parts.len();
    // The same colours in all pictures mean the same values.
    let shown = |member: &Member| mean(member, spec);
    let all: Vec<f64> = parts.iter().flat_map(|(_, part)| part).filter_map(shown).collect();
    let (Some(low), Some(high)) = (all.iter().copied().reduce(f64::min), all.iter().copied().reduce(f64::max)) else {
        return Vec::new();
    };
    let ends = spec.y_range.unwrap_or_else(|| ends(spec, low, high));
    let drawn = parts.into_iter().zip(names).enumerate().filter_map(|(place, ((_, part), name))| {
        let (id, title) = match count {
            1 => (id.to_owned(), spec.title.clone()),
            _ => (format!("{id}-{place}"), format!("{}: {name}", spec.title)),
        };
        draw_part((id, title), spec, (by, ends), &part, labels)
    });
    drawn.collect()
}

fn draw_part(
    (id, title): (String, String),
    spec: &FigureSpec,
    (by, (low, high)): (&str, (f64, f64)),
    members: &[Member],
    labels: &Labels,
) -> Option<Figure> {
    let across = Values::of(&spec.x, spec.x_label.as_deref(), members, labels);
    let up = Values::of(by, None, members, labels);
    let rows = up.words.len();
    let places = (0..rows).flat_map(|row| (0..across.words.len()).map(move |column| (row, column)));
    let empty = |(row, column)| Cell { column, row, value: None, words: NO_VALUE.to_owned() };
    let mut cells: Vec<Cell> = places.map(empty).collect();
    let (mut is_any, mut is_chance) = (false, false);
    for member in members {
        let place = across.place(&member.settings).zip(up.place(&member.settings));
        let (Some((column, from_below)), Some(value)) = (place, mean(member, spec)) else { continue };
        let cell = &mut cells[(rows - 1 - from_below) * across.words.len() + column];
        is_any = true;
        cell.words = number_in_cell(value);
        if member.chance(&spec.y[0]).is_some_and(|chance| chance > ALPHA) {
            is_chance = true;
            cell.words = format!("({})", cell.words);
        } else {
            cell.value = Some(value);
        }
    }
    if !is_any {
        return None;
    }
    let colours: &[&str] = if spec.compare.is_some() { &DIVERGING } else { &SEQUENTIAL };
    let names = up.words.iter().rev().cloned().collect();
    let axes = Plot::new(Axis::names(&across.title, across.words.clone()), Axis::names(&up.title, names));
    let mut plot = Plot { height: LEAST_HEIGHT.max(rows as f64 * CELL), ..axes };
    let cells = Cells { cells, colours, ends: (low, high), title: words::vertical(spec, labels) };
    plot.add("", style::INK, Content::Cells(cells));
    let most = members.iter().map(|member| member.runs.len()).max().unwrap_or(0);
    let mut caption = words::caption(spec, most, false);
    if is_chance {
        caption += " In brackets, without a colour: no difference shown (Welch's t-test of each cell alone, p > 0.05).";
    }
    Some(Figure { id, title, caption, plot })
}

/// The value of a cell.
fn mean(member: &Member, spec: &FigureSpec) -> Option<f64> {
    Some(Summary::of(member.runs.iter().filter_map(|run| run.metric(&spec.y[0])))?.mean)
}

/// The ends of the colours: around 0 for differences, around 1 for ratios, as far up as down.
fn ends(spec: &FigureSpec, low: f64, high: f64) -> (f64, f64) {
    let Some(compare) = &spec.compare else { return (low, high) };
    let middle = if compare.how == Compared::Ratio { 1.0 } else { 0.0 };
    let far = (high - middle).abs().max((low - middle).abs());
    (middle - far, middle + far)
}

/// Three significant digits are enough beside a colour.
fn number_in_cell(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { 2 - value.abs().log10().floor() as i32 };
    let factor = 10_f64.powi(digits);
    number((value * factor).round() / factor)
}
