//! Curves over time, or over a setting.

use std::collections::BTreeMap;

use plotly::{
    Plot, Scatter,
    common::{ErrorData, ErrorType, Mode},
    layout::AxisType,
};
use quiclab_experiment::scenario::{FigureSpec, TIME, follows, scenario_labels};
use quiclab_metrics::Summary;
use quiclab_units::{ByteCount, Duration, Rate};

use super::{Group, shown};
use crate::figures::{Figure, style};

/// One picture; `None` where there is nothing to draw.
pub(super) fn draw(number: usize, spec: &FigureSpec, groups: &[Group]) -> Option<Figure> {
    let curves = if spec.x == TIME { over_time(spec, groups) } else { over_setting(spec, groups) };
    let is_empty = curves.iter().all(|curve| curve.points.is_empty());
    if is_empty {
        return None;
    }
    let mut plot = Plot::new();
    for (place, curve) in curves.iter().enumerate() {
        let x: Vec<f64> = curve.points.iter().map(|point| point.0).collect();
        let y: Vec<f64> = curve.points.iter().map(|point| point.1).collect();
        let errors: Vec<f64> = curve.points.iter().map(|point| point.2).collect();
        let mode = if spec.x == TIME { Mode::Lines } else { Mode::LinesMarkers };
        let mut trace = Scatter::new(x, y).name(style::name(&curve.name)).mode(mode).line(style::line(place));
        if errors.iter().any(|error| *error > 0.0) {
            trace = trace.error_y(ErrorData::new(ErrorType::Data).array(errors).thickness(1.0).width(3));
        }
        plot.add_trace(trace);
    }
    let mut x = style::axis(&horizontal(&spec.x, groups));
    if spec.logarithmic {
        x = x.type_(AxisType::Log);
    }
    let vertical: Vec<String> = spec.y.iter().map(|metric| shown(metric).0).collect();
    // One name of the axis is enough where the curves say the rest.
    let y = style::axis(vertical.first().map_or("", String::as_str)).range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(style::curve_layout(x, y, curves.len()));
    let caption = if spec.x == TIME {
        "For each interval, the mean over the runs of each row."
    } else {
        "Mean and standard deviation over the runs."
    };
    Some(Figure { id: format!("figure-{number}"), title: spec.title.clone(), caption: caption.to_owned(), plot })
}

struct Curve {
    name: String,
    /// Where, what, and its standard deviation.
    points: Vec<(f64, f64, f64)>,
}

fn over_time(spec: &FigureSpec, groups: &[Group]) -> Vec<Curve> {
    let mut curves = Vec::new();
    for group in groups {
        for name in &spec.y {
            let (heading, divisor) = shown(name);
            let longest = group.runs.iter().map(|run| run.series.get(TIME).map_or(0, Vec::len)).max().unwrap_or(0);
            let at = |run: &&super::ScenarioRow, name: &str, place: usize| *run.series.get(name)?.get(place)?;
            let point = |place: usize| {
                let time = group.runs.iter().find_map(|run| at(run, TIME, place))?;
                let value = Summary::of(group.runs.iter().filter_map(|run| at(run, name, place)))?.mean;
                Some((time, value / divisor, 0.0))
            };
            let points = (0..longest).filter_map(point).collect();
            curves.push(Curve { name: curve_name(&group.label, &heading, groups.len(), spec), points });
        }
    }
    curves
}

fn over_setting(spec: &FigureSpec, groups: &[Group]) -> Vec<Curve> {
    // Groups that differ in this setting alone are points of one curve.
    let mut lines: Vec<(BTreeMap<String, String>, Vec<&Group>)> = Vec::new();
    for group in groups {
        let rest = without(group.settings, &spec.x);
        match lines.iter_mut().find(|(other, _)| *other == rest) {
            Some((_, members)) => members.push(group),
            None => lines.push((rest, vec![group])),
        }
    }
    let labels = scenario_labels(&lines.iter().map(|(rest, _)| rest.clone()).collect::<Vec<_>>());
    let mut curves = Vec::new();
    for ((_, members), label) in lines.iter().zip(labels) {
        for metric in &spec.y {
            let (heading, divisor) = shown(metric);
            let point = |group: &&Group| {
                let x = quantity(group.settings.get(&spec.x)?)?.0;
                let summary = group.summary(metric)?;
                Some((x, summary.mean / divisor, summary.standard_deviation.unwrap_or(0.0) / divisor))
            };
            let mut points: Vec<_> = members.iter().filter_map(point).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            curves.push(Curve { name: curve_name(&label, &heading, lines.len(), spec), points });
        }
    }
    curves
}

/// The settings without one of them, and without what follows from it.
fn without(settings: &BTreeMap<String, String>, key: &str) -> BTreeMap<String, String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let is_it = |other: &str| {
        other == key
            || key.starts_with("flows.") && other.starts_with("flows.") && other.rsplit('.').next() == Some(last)
            || follows(settings, other, &|from| from == key)
    };
    settings.iter().filter(|(other, _)| !is_it(other)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn curve_name(label: &str, heading: &str, labels: usize, spec: &FigureSpec) -> String {
    match (labels, spec.y.len()) {
        (1, _) => heading.to_owned(),
        (_, 1) => label.to_owned(),
        _ => format!("{label}: {heading}"),
    }
}

/// What stands below the horizontal axis.
fn horizontal(key: &str, groups: &[Group]) -> String {
    if key == TIME {
        return "time, s".to_owned();
    }
    let unit = groups.iter().find_map(|group| quantity(group.settings.get(key)?)).map_or("", |(_, unit)| unit);
    let name = key.split_once('.').map_or(key, |(_, name)| name).replace(['_', '.'], " ");
    if unit.is_empty() { name } else { format!("{name}, {unit}") }
}

/// A setting as a number, in a unit for people.
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse::<f64>() {
        return Some((number, ""));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_bits_per_second() as f64 / 1e6, "Mbit/s"));
    }
    if let Ok(time) = text.parse::<Duration>() {
        return Some((time.as_nanos() as f64 / 1e6, "ms"));
    }
    text.parse::<ByteCount>().ok().map(|bytes| (bytes.as_bytes() as f64, "B"))
}

#[cfg(test)]
mod tests {
    use super::quantity;

    #[test]
    fn settings_become_numbers_in_one_unit() {
        assert_eq!(quantity("0.25"), Some((0.25, "")));
        assert_eq!(quantity("2.5 Gbit/s"), Some((2500.0, "Mbit/s")));
        assert_eq!(quantity("100 us"), Some((0.1, "ms")));
        assert_eq!(quantity("drop_tail"), None);
    }
}
