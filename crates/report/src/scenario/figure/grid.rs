//! A colour for each pair of values of two settings.

use std::collections::BTreeMap;

use plotly::{
    HeatMap, Plot, Scatter,
    common::{ColorBar, ColorScale, ColorScaleElement, Font, HoverInfo, Mode, Title},
    layout::AxisType,
};
use quiclab_experiment::scenario::{CompareAs, FigureSpec, Labels};
use quiclab_metrics::Summary;

use super::{
    Group,
    axis::Values,
    members::{Member, members, without},
    words,
};
use crate::{
    figures::{Figure, style},
    findings::number,
};

/// From few to much, light enough for black numbers.
const SEQUENTIAL: [&str; 4] = ["#F7FBFF", "#C6DBEF", "#8DBEDC", "#4A98C9"];
/// From below to above the middle, in the same way.
const DIVERGING: [&str; 5] = ["#DF7A36", "#F6C9A4", "#FFFFFF", "#B5D8EC", "#4A98C9"];
/// Behind the cells: what shows where one has no value.
const MISSING: &str = "#e4e4e4";
/// A difference with a larger chance of coming from nothing is none.
const ALPHA: f64 = 0.05;
/// Of a cell's height, of a picture with few of them, and of all around the cells, in pixels.
const CELL: usize = 44;
const LEAST_HEIGHT: usize = 400;
const AROUND: usize = 130;

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
    let mut cells: Vec<Vec<Option<f64>>> = vec![vec![None; across.words.len()]; up.words.len()];
    let mut is_chance = vec![vec![false; across.words.len()]; up.words.len()];
    for member in members {
        let place = across.place(&member.settings).zip(up.place(&member.settings));
        if let Some((column, row)) = place {
            cells[row][column] = mean(member, spec);
            is_chance[row][column] = member.chance(&spec.y[0]).is_some_and(|chance| chance > ALPHA);
        }
    }
    places(&cells).next()?;
    let colours: &[&str] = if spec.compare.is_some() { &DIVERGING } else { &SEQUENTIAL };
    let names = |values: &Values| values.words.iter().map(|name| style::name(name)).collect::<Vec<_>>();
    let title_of_colours = Title::with_text(style::name(&words::vertical(spec, labels)));
    let mut coloured = cells.clone();
    for (row, column, _) in places(&cells).filter(|(row, column, _)| is_chance[*row][*column]) {
        coloured[row][column] = None;
    }
    let map = HeatMap::new(names(&across), names(&up), coloured)
        .zmin(low)
        .zmax(high)
        .color_scale(scale(colours))
        .x_gap(1)
        .y_gap(1)
        .color_bar(ColorBar::new().title(title_of_colours.side(plotly::common::Side::Right)));
    let mut plot = Plot::new();
    plot.add_trace(map);
    let mut texts = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in places(&cells) {
        texts.0.push(style::name(&across.words[column]));
        texts.1.push(style::name(&up.words[row]));
        let number = number_in_cell(value);
        texts.2.push(if is_chance[row][column] { format!("({number})") } else { number });
    }
    if let Some(text) = missing(&cells, &across, &up) {
        plot.add_trace(text);
    }
    let text = Scatter::new(texts.0, texts.1).mode(Mode::Text).text_array(texts.2).text_font(Font::new().size(12));
    plot.add_trace(text.show_legend(false).hover_info(HoverInfo::Skip).name(""));
    let [x, y] = [&across.title, &up.title].map(|title| style::axis(&style::name(title)).type_(AxisType::Category));
    plot.set_layout(
        style::layout(x, y).height(LEAST_HEIGHT.max(up.words.len() * CELL + AROUND)).plot_background_color(MISSING),
    );
    let most = members.iter().map(|member| member.runs.len()).max().unwrap_or(0);
    let mut caption = words::caption(spec, most, false);
    if is_chance.iter().flatten().any(|is_chance| *is_chance) {
        caption += " In brackets, without a colour: no difference shown (Welch's t-test of each cell alone, p > 0.05).";
    }
    Some(Figure { id, title, caption, plot })
}

/// A word in each cell without a value, so that none of them is taken for one near the middle of the colours.
fn missing(cells: &[Vec<Option<f64>>], across: &Values, up: &Values) -> Option<Box<Scatter<String, String>>> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (row, values) in cells.iter().enumerate() {
        for (column, _) in values.iter().enumerate().filter(|(_, value)| value.is_none()) {
            x.push(style::name(&across.words[column]));
            y.push(style::name(&up.words[row]));
        }
    }
    let words = vec!["no value".to_owned(); x.len()];
    let font = Font::new().size(11).color("#666666");
    let text = Scatter::new(x, y).mode(Mode::Text).text_array(words).text_font(font);
    let is_any = cells.iter().flatten().any(Option::is_none);
    is_any.then(|| text.show_legend(false).hover_info(HoverInfo::Skip).name(""))
}

/// The value of a cell.
fn mean(member: &Member, spec: &FigureSpec) -> Option<f64> {
    Some(Summary::of(member.runs.iter().filter_map(|run| run.metric(&spec.y[0])))?.mean)
}

/// The ends of the colours: around 0 for differences, around 1 for ratios, as far up as down.
fn ends(spec: &FigureSpec, low: f64, high: f64) -> (f64, f64) {
    let Some(compare) = &spec.compare else { return (low, high) };
    let middle = if compare.how == CompareAs::Ratio { 1.0 } else { 0.0 };
    let far = (high - middle).abs().max((low - middle).abs());
    (middle - far, middle + far)
}

fn scale(colours: &[&str]) -> ColorScale {
    let last = (colours.len() - 1) as f64;
    let element = |(place, colour): (usize, &&str)| ColorScaleElement(place as f64 / last, (*colour).to_owned());
    ColorScale::Vector(colours.iter().enumerate().map(element).collect())
}

/// Row, column and value of the cells that have one.
fn places(cells: &[Vec<Option<f64>>]) -> impl Iterator<Item = (usize, usize, f64)> {
    cells.iter().enumerate().flat_map(|(row, values)| {
        values.iter().enumerate().filter_map(move |(column, value)| Some((row, column, (*value)?)))
    })
}

/// Three significant digits are enough beside a colour.
fn number_in_cell(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { 2 - value.abs().log10().floor() as i32 };
    let factor = 10_f64.powi(digits);
    number((value * factor).round() / factor)
}
