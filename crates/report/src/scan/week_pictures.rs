//! The pictures of a course over time.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{Fill, Line, Mode},
};

use super::{
    date::date,
    week::{Clock, Course, NO_GROUP},
};
use crate::{
    figures::{Figure, style},
    quantiles::{ascending, quantile},
};

/// Names of [`Course::requests`].
const REQUESTS: [&str; 3] = ["instant ACK", "ServerHello behind it", "ACK and ServerHello in one datagram"];

/// A value at each step of time that has one.
type Points = BTreeMap<u64, f64>;

/// Of one place: those for which there are values. `said`: how many rows are used of all places.
pub(super) fn draw(number: usize, place: &str, course: &Course, clock: Clock, said: &str) -> Vec<Figure> {
    let figure = |name: &str, title: &str, caption: &str, used: usize, plot: Option<Plot>| {
        let left_out = course.answers - used as u64;
        let left_out =
            if left_out > 0 { format!(", {left_out} are left out: {OTHERS_LEFT_OUT}") } else { String::new() };
        plot.map(|plot| Figure {
            id: format!("scan-fig15-{name}-{number}"),
            title: format!("{title}: {place}"),
            caption: format!(
                "{caption} Steps of {}. Answers from this place: {used} of {} are used{left_out}. Of all places: \
                 {said}",
                step_in_words(clock),
                course.answers
            ),
            plot,
        })
    };
    let timed = course.by_group.values().map(|group| count(&group.leads)).sum();
    let [instant, _, coalesced] = course.requests.each_ref().map(count);
    let lead = figure("lead", "ACK to ServerHello over time", LEAD, timed, leads(course, clock));
    let all = course.answers as usize;
    let share = figure("coalesced", "ACK and ServerHello in one datagram", SHARE, all, shares(course, clock));
    let asked = instant + coalesced;
    let requests = figure("requests", "From the request to the answers", REQUEST, asked, requests(course, clock));
    [lead, share, requests].into_iter().flatten().collect()
}

fn count(values: &BTreeMap<u64, Vec<f64>>) -> usize {
    values.values().map(Vec::len).sum()
}

const OTHERS_LEFT_OUT: &str = "answers of another kind, or without the time";
const LEAD: &str = "Instant ACKs. Line: median; area: from the first to the third quartile.";
const SHARE: &str = "Share of all answers that acknowledge the ClientHello.";
const REQUEST: &str = "Medians, all groups together, as the study's figures 9 and 15 have them.";

fn step_in_words(clock: Clock) -> String {
    match clock.step_hours {
        1 => "an hour".to_owned(),
        24 => "a day".to_owned(),
        hours => format!("{} days", hours / 24),
    }
}

fn leads(course: &Course, clock: Clock) -> Option<Plot> {
    let mut plot = Plot::new();
    let groups: Vec<_> = course.by_group.iter().filter(|(_, group)| !group.leads.is_empty()).collect();
    for (place, (key, group)) in groups.iter().enumerate() {
        let ordered: BTreeMap<u64, Vec<f64>> =
            group.leads.iter().map(|(step, values)| (*step, ascending(values.clone()))).collect();
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| -> Points {
            ordered.iter().filter_map(|(step, values)| Some((*step, quantile(values, share)?))).collect()
        });
        for area in areas(&first, &third, place, clock) {
            plot.add_trace(area);
        }
        plot.add_trace(course_line(&key.name(NO_GROUP), &median, place, clock));
    }
    layout(&mut plot, clock, "from ACK to ServerHello, ms", groups.len());
    (!groups.is_empty()).then_some(plot)
}

fn shares(course: &Course, clock: Clock) -> Option<Plot> {
    let mut plot = Plot::new();
    for (place, (key, group)) in course.by_group.iter().enumerate() {
        let shares = group.coalesced.iter().map(|(step, [part, all])| (*step, *part as f64 / *all as f64));
        plot.add_trace(course_line(&key.name(NO_GROUP), &shares.collect(), place, clock));
    }
    let y = style::axis("share of answers").range(vec![0.0, 1.0]);
    plot.set_layout(style::curve_layout(style::axis(&axis_title(clock)), y, course.by_group.len()));
    (!course.by_group.is_empty()).then_some(plot)
}

fn requests(course: &Course, clock: Clock) -> Option<Plot> {
    let mut plot = Plot::new();
    for (place, (name, all)) in REQUESTS.iter().zip(&course.requests).enumerate() {
        let median = |values: &Vec<f64>| quantile(&ascending(values.clone()), 0.5);
        let medians: Points = all.iter().filter_map(|(step, values)| Some((*step, median(values)?))).collect();
        if !medians.is_empty() {
            plot.add_trace(course_line(name, &medians, place, clock));
        }
    }
    layout(&mut plot, clock, "from the request, ms", REQUESTS.len());
    course.requests.iter().any(|all| !all.is_empty()).then_some(plot)
}

fn layout(plot: &mut Plot, clock: Clock, y: &str, names: usize) {
    let y = style::axis(y).range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(style::curve_layout(style::axis(&axis_title(clock)), y, names));
}

fn axis_title(clock: Clock) -> String {
    format!("hours since {} 00:00 UTC", date(clock.first_day))
}

fn hours(step: u64, clock: Clock) -> f64 {
    (step * clock.step_hours) as f64
}

/// A line that is interrupted where steps are missing.
fn course_line(name: &str, points: &Points, place: usize, clock: Clock) -> Box<Scatter<f64, Option<f64>>> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for run in runs(points) {
        if let Some(last) = x.last() {
            x.push(*last);
            y.push(None);
        }
        x.extend(run.iter().map(|(step, _)| hours(*step, clock)));
        y.extend(run.iter().map(|(_, value)| Some(*value)));
    }
    // A step without neighbours would not be seen as a line.
    let mode = if runs(points).any(|run| run.len() == 1) { Mode::LinesMarkers } else { Mode::Lines };
    Scatter::new(x, y).name(style::name(name)).mode(mode).line(style::line(place))
}

/// One area for each run of steps without a gap: low and high have the same steps.
fn areas(low: &Points, high: &Points, place: usize, clock: Clock) -> impl Iterator<Item = Box<Scatter<f64, f64>>> {
    let high: Vec<_> = runs(high).collect();
    runs(low).zip(high).filter(|(low, _)| low.len() > 1).map(move |(low, high)| {
        let (x, y) = low.iter().chain(high.iter().rev()).map(|(step, value)| (hours(*step, clock), *value)).unzip();
        let trace = Scatter::<f64, f64>::new(x, y).mode(Mode::Lines).line(Line::new().width(0.0));
        trace.fill(Fill::ToSelf).fill_color(style::faint(place)).show_legend(false)
    })
}

/// Steps that follow each other.
fn runs(points: &Points) -> impl Iterator<Item = Vec<(u64, f64)>> {
    let all: Vec<_> = points.iter().map(|(step, value)| (*step, *value)).collect();
    let runs: Vec<_> = all.chunk_by(|one, other| one.0 + 1 == other.0).map(<[_]>::to_vec).collect();
    runs.into_iter()
}
