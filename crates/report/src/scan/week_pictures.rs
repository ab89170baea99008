//! The pictures of a course over time.

use std::collections::BTreeMap;

use super::{
    course::{Clock, Course, NO_GROUP},
    date::date,
};
use crate::{
    plot::{Axis, Content, Figure, Line, Mark, Plot, style},
    quantiles::{ascending, quantile},
};

/// Names of [`Course::requests`].
const REQUESTS: [&str; 3] = ["instant ACK", "ServerHello behind it", "ACK and ServerHello in one datagram"];

/// A value at each step of time that has one.
type Points = BTreeMap<u64, f64>;

/// Draws the figures of one place: those for which there are values. `said` tells how many rows are used of all places.
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
    let mut plot = over_time(clock, Axis::linear("from ACK to ServerHello, ms"));
    let groups: Vec<_> = course.by_group.iter().filter(|(_, group)| !group.leads.is_empty()).collect();
    for (place, (key, group)) in groups.iter().enumerate() {
        let ordered: BTreeMap<u64, Vec<f64>> =
            group.leads.iter().map(|(step, values)| (*step, ascending(values.clone()))).collect();
        let [first, median, third] = [0.25, 0.5, 0.75].map(|share| -> Points {
            ordered.iter().filter_map(|(step, values)| Some((*step, quantile(values, share)?))).collect()
        });
        for area in areas(&first, &third, clock) {
            plot.add("", style::colour(place), area);
        }
        plot.add(&key.name(NO_GROUP), style::colour(place), course_line(&median, place, clock));
    }
    (!plot.is_empty()).then_some(plot)
}

fn shares(course: &Course, clock: Clock) -> Option<Plot> {
    let mut plot = over_time(clock, Axis::between("share of answers", 0.0, 1.0));
    for (place, (key, group)) in course.by_group.iter().enumerate() {
        let shares = group.coalesced.iter().map(|(step, [part, all])| (*step, *part as f64 / *all as f64));
        plot.add(&key.name(NO_GROUP), style::colour(place), course_line(&shares.collect(), place, clock));
    }
    (!plot.is_empty()).then_some(plot)
}

fn requests(course: &Course, clock: Clock) -> Option<Plot> {
    let mut plot = over_time(clock, Axis::linear("from the request, ms"));
    for (place, (name, all)) in REQUESTS.iter().zip(&course.requests).enumerate() {
        let median = |values: &Vec<f64>| quantile(&ascending(values.clone()), 0.5);
        let medians: Points = all.iter().filter_map(|(step, values)| Some((*step, median(values)?))).collect();
        if !medians.is_empty() {
            plot.add(name, style::colour(place), course_line(&medians, place, clock));
        }
    }
    (!plot.is_empty()).then_some(plot)
}

fn over_time(clock: Clock, y: Axis) -> Plot {
    Plot::new(Axis::linear(&format!("hours since {} 00:00 UTC", date(clock.first_day))), y)
}

fn hours(step: u64, clock: Clock) -> f64 {
    (step * clock.step_hours) as f64
}

/// A line that is interrupted where steps are missing.
fn course_line(points: &Points, place: usize, clock: Clock) -> Line {
    let mut all: Vec<(f64, Option<f64>)> = Vec::new();
    for run in runs(points) {
        all.extend(all.last().map(|(last, _)| (*last, None)));
        all.extend(run.iter().map(|(step, value)| (hours(*step, clock), Some(*value))));
    }
    let line = Line::with_gaps(place, all);
    // A step without neighbours would not be seen as a line.
    if runs(points).any(|run| run.len() == 1) { line.marks(Mark::Dot) } else { line }
}

/// One area for each run of steps without a gap: low and high have the same steps.
fn areas(low: &Points, high: &Points, clock: Clock) -> impl Iterator<Item = Content> {
    let high: Vec<_> = runs(high).collect();
    runs(low).zip(high).filter(|(low, _)| low.len() > 1).map(move |(low, high)| {
        let corners = low.iter().chain(high.iter().rev()).map(|(step, value)| (hours(*step, clock), *value));
        Content::Area(corners.collect())
    })
}

/// Steps that follow each other.
fn runs(points: &Points) -> impl Iterator<Item = Vec<(u64, f64)>> {
    let all: Vec<_> = points.iter().map(|(step, value)| (*step, *value)).collect();
    let runs: Vec<_> = all.chunk_by(|one, other| one.0 + 1 == other.0).map(<[_]>::to_vec).collect();
    runs.into_iter()
}
