//! The figures that a scenario file asks for.

mod axis;
mod curves;
mod grid;
mod members;
#[cfg(test)]
mod tests;
mod words;

use quiclab_experiment::scenario::{FigureKind, FigureSpec, Labels};

use super::{group::Group, report::ScenarioReport};
use crate::plot::{self, Axis, Bars, Content, Figure, Line, Mark, Plot, style};
use axis::Across;
use curves::Curve;
use members::members;

/// Every picture that has something to show: its name, and the text of its SVG file.
pub fn render_scenario_figures(report: &ScenarioReport) -> Vec<(String, String)> {
    let groups = Group::all(report);
    figures(report, &groups).map(|figure| (figure.id.clone(), plot::file(&figure))).collect()
}

/// The pictures, in the order of the file.
pub(super) fn figures(report: &ScenarioReport, groups: &[Group]) -> impl Iterator<Item = Figure> {
    let all = report.figures.iter().enumerate();
    all.flat_map(|(number, spec)| draw(number, spec, groups, &report.labels))
}

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
    let last = curves.iter().flat_map(|curve| curve.points.last()).map(|point| point.x).fold(0.0, f64::max);
    let mut plot = Plot::new(across.axis(spec, last), vertical(spec, &words::vertical(spec, labels)));
    if let Across::Names(values) = &across {
        curves.iter().enumerate().for_each(|(place, curve)| add_bars(&mut plot, place, curve, values.words.len()));
    } else {
        let places = || curves.iter().enumerate();
        places().for_each(|(place, curve)| add_band(&mut plot, place, curve));
        places().for_each(|(place, curve)| add_line(&mut plot, place, curve, &across));
    }
    let most = members.iter().map(|member| member.runs.len()).max().unwrap_or(0);
    let caption = words::caption(spec, most, matches!(across, Across::Names(_)));
    Some(Figure { id: id.to_owned(), title: spec.title.clone(), caption, plot })
}

fn vertical(spec: &FigureSpec, title: &str) -> Axis {
    match spec.y_range {
        Some((from, to)) => Axis::between(title, from, to),
        None => Axis::linear(title),
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
        plot.add("", style::colour(place), Content::Area(upper.chain(lower.into_iter().rev()).collect()));
    }
}

fn add_line(plot: &mut Plot, place: usize, curve: &Curve, across: &Across) {
    let line = Line::with_gaps(place, curve.points.iter().map(|point| (point.x, point.value)).collect());
    let line = if matches!(across, Across::Time) { line } else { line.marks(Mark::Dot) };
    plot.add(&curve.name, style::colour(place), line);
}

/// A bar for each of `names`, those without a point left empty.
fn add_bars(plot: &mut Plot, place: usize, curve: &Curve, names: usize) {
    let mut bars = Bars { values: vec![None; names], errors: vec![0.0; names], is_hatched: false };
    for point in &curve.points {
        bars.values[point.x as usize] = point.value;
        bars.errors[point.x as usize] = point.spread.unwrap_or(0.0);
    }
    plot.add(&curve.name, style::colour(place), bars);
}
