//! The figures that a scenario file asks for.

mod axis;
mod curves;
mod grid;
mod members;
#[cfg(test)]
mod tests;
mod words;

use plotly::{
    Bar, Plot, Scatter,
    common::{ErrorData, ErrorType, Fill, HoverInfo, Line, Marker, Mode},
    layout::{Axis, BarMode, RangeMode},
};
use quiclab_experiment::scenario::{FigureKind, FigureSpec, Labels};

use super::Group;
use crate::figures::{Figure, style};
use axis::Across;
use curves::{Curve, Point};
use members::members;

/// The pictures of one `[[figure]]`; none where there is nothing to draw, and several where a grid has settings besides its axes.
pub(super) fn draw(number: usize, spec: &FigureSpec, groups: &[Group], labels: &Labels) -> Vec<Figure> {
    let id = format!("figure-{}-{}", number + 1, slug(&spec.title));
    match spec.kind {
        FigureKind::Grid => grid::draw(&id, spec, groups, labels),
        FigureKind::Curves => draw_curves(&id, spec, groups, labels).into_iter().collect(),
    }
}

/// A title as part of a file's name: letters and digits with a hyphen between words.
fn slug(title: &str) -> String {
    const LONGEST: usize = 50;
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let whole = words.collect::<Vec<_>>().join("-").to_lowercase();
    whole.chars().take(LONGEST).collect::<String>().trim_end_matches('-').to_owned()
}

fn draw_curves(id: &str, spec: &FigureSpec, groups: &[Group], labels: &Labels) -> Option<Figure> {
    let members = members(spec, groups);
    let across = Across::of(spec, &members, labels);
    let curves = curves::curves(spec, &members, &across, labels);
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    let mut plot = Plot::new();
    if let Across::Names(values) = &across {
        curves.iter().enumerate().for_each(|(place, curve)| add_bars(&mut plot, place, curve, &values.words));
    } else {
        let places = || curves.iter().enumerate();
        places().for_each(|(place, curve)| add_band(&mut plot, place, curve));
        places().for_each(|(place, curve)| add_line(&mut plot, place, curve, &across));
    }
    let y = vertical(spec, &words::vertical(spec, labels));
    let last = curves.iter().flat_map(|curve| curve.points.last()).map(|point| point.x).fold(0.0, f64::max);
    let x = across.axis(spec, last);
    let layout = match &across {
        Across::Names(_) => style::bar_layout(y).x_axis(x).bar_mode(BarMode::Group),
        _ => style::curve_layout(x, y, curves.len()),
    };
    plot.set_layout(layout);
    let most = members.iter().map(|member| member.runs.len()).max().unwrap_or(0);
    let caption = words::caption(spec, most, matches!(across, Across::Names(_)));
    Some(Figure { id: id.to_owned(), title: spec.title.clone(), caption, plot })
}

fn vertical(spec: &FigureSpec, title: &str) -> Axis {
    let axis = style::axis(&style::name(title));
    match spec.y_range {
        Some((from, to)) => axis.range(vec![from, to]),
        None => axis.range_mode(RangeMode::ToZero),
    }
}

/// Mean plus and minus the standard deviation, as an area for each part of the curve that has one.
fn add_band(plot: &mut Plot, place: usize, curve: &Curve) {
    for part in curve.points.split(|point| point.value.is_none()) {
        let known = || part.iter().filter_map(|point| Some((point.x, point.value?, point.spread?)));
        if !known().any(|(_, _, spread)| spread > 0.0) {
            continue;
        }
        let upper = known().map(|(x, value, spread)| (x, value + spread));
        let lower: Vec<_> = known().map(|(x, value, spread)| (x, value - spread)).collect();
        let (x, y) = upper.chain(lower.into_iter().rev()).unzip::<f64, f64, Vec<_>, Vec<_>>();
        let area = Scatter::new(x, y).mode(Mode::Lines).line(Line::new().width(0.0).color(style::colour(place)));
        let area = area.fill(Fill::ToSelf).fill_color(style::faint(place)).hover_info(HoverInfo::Skip);
        plot.add_trace(area.show_legend(false).name(""));
    }
}

fn add_line(plot: &mut Plot, place: usize, curve: &Curve, across: &Across) {
    let x: Vec<f64> = curve.points.iter().map(|point| point.x).collect();
    // A value that is missing interrupts the line.
    let y: Vec<Option<f64>> = curve.points.iter().map(|point| point.value).collect();
    let mode = if matches!(across, Across::Time) { Mode::Lines } else { Mode::LinesMarkers };
    plot.add_trace(Scatter::new(x, y).name(style::name(&curve.name)).mode(mode).line(style::line(place)));
}

fn add_bars(plot: &mut Plot, place: usize, curve: &Curve, names: &[String]) {
    let known: Vec<&Point> = curve.points.iter().filter(|point| point.value.is_some()).collect();
    let x: Vec<String> = known.iter().map(|point| style::name(&names[point.x as usize])).collect();
    let y: Vec<f64> = known.iter().filter_map(|point| point.value).collect();
    let errors: Vec<f64> = known.iter().map(|point| point.spread.unwrap_or(0.0)).collect();
    let mut bar = Bar::new(x, y).name(style::name(&curve.name)).marker(Marker::new().color(style::colour(place)));
    if errors.iter().any(|error| *error > 0.0) {
        bar = bar.error_y(ErrorData::new(ErrorType::Data).array(errors).thickness(1.0).width(3));
    }
    plot.add_trace(bar);
}
