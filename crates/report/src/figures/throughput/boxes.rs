//! Goodput by a setting that takes several numbers.

use std::collections::BTreeMap;

use plotly::{
    BoxPlot, Plot,
    layout::{AxisType, BoxMode, CategoryOrder},
};

use quiclab_experiment::{Difference, differences, label};

use super::{super::style, Figure, Scene, goodput, values};
use crate::quantiles::{ascending, quantile};

/// A picture by a setting with fewer values would show no course.
const FEWEST: usize = 3;
/// Ends of the whiskers and of the box, and the median.
const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

pub(in crate::figures) fn draw(scene: &Scene) -> Option<Figure> {
    let groups = scene.groups;
    let column = goodput(groups);
    let all = differences(&groups.iter().map(|group| group.settings).collect::<Vec<_>>());
    let (key, numbers) = course(&all)?;
    // By the name of a curve, and by value of the setting.
    let mut curves: Vec<(String, BTreeMap<usize, Vec<f64>>)> = Vec::new();
    for (group, rest) in groups.iter().zip(&all) {
        let of_key = rest.iter().find(|(other, _)| *other == key);
        let Some(place) = of_key.and_then(|(_, text)| numbers.iter().position(|(_, known)| known == text)) else {
            continue;
        };
        let name = label(group.settings, rest.iter().filter(|(other, _)| *other != key));
        let known = curves.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            curves.push((name, BTreeMap::new()));
            curves.len() - 1
        });
        curves[known].1.entry(place).or_default().extend(values(group, column));
    }
    let mut plot = Plot::new();
    for (place, (name, by_value)) in curves.iter().enumerate() {
        let filled = by_value.iter().filter(|(_, values)| !values.is_empty());
        let filled: Vec<_> = filled.map(|(value, values)| (value, ascending(values.clone()))).collect();
        let labels: Vec<_> = filled.iter().map(|(value, _)| numbers[**value].1.clone()).collect();
        let [low, first, median, third, high] =
            SHARES.map(|share| filled.iter().filter_map(|(_, values)| quantile(values, share)).collect::<Vec<_>>());
        let bars = BoxPlot::<String, f64>::new_xy(labels, Vec::new()).q1(first).median(median).q3(third);
        let bars = bars.lower_fence(low).upper_fence(high).name(style::name(name));
        plot.add_trace(bars.marker(plotly::common::Marker::new().color(style::colour(place))));
    }
    let order: Vec<_> = numbers.iter().map(|(_, text)| text.clone()).collect();
    let x = style::axis(key).type_(AxisType::Category).category_order(CategoryOrder::Array).category_array(order);
    let y = style::axis("goodput, Mbit/s").range_mode(plotly::layout::RangeMode::ToZero);
    plot.set_layout(style::legend_above(style::layout(x, y)).box_mode(BoxMode::Group));
    Some(Figure {
        id: "goodput-course".to_owned(),
        title: format!("Goodput by {key}"),
        caption: "Box: the middle half of the runs, with the median. Whiskers: from 5 to 95 % of them.".to_owned(),
        plot,
    })
}

/// The setting with the most numbers, and its values in their order; `None` where none has enough of them.
fn course(all: &[Vec<Difference>]) -> Option<(&'static str, Vec<(f64, String)>)> {
    let mut by_key: BTreeMap<&'static str, Vec<(f64, String)>> = BTreeMap::new();
    for (key, text) in all.iter().flatten() {
        let values = by_key.entry(key).or_default();
        // Units are those of one setting, so that the numbers alone put its values into order where the units are the same.
        let number = text.split(' ').next().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|_| values.iter().all(|(_, known)| known != text)) {
            values.push((number, text.clone()));
        }
    }
    let (key, mut values) = by_key.into_iter().max_by_key(|(_, values)| values.len())?;
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    (values.len() >= FEWEST).then_some((key, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_is_by_the_setting_with_the_most_numbers() {
        let one =
            |streams: &str, gso: &str| vec![("workload.streams", streams.to_owned()), ("stack.gso", gso.to_owned())];
        let all = [one("100", "on"), one("2", "on"), one("8", "off"), one("2", "off")];
        let (key, values) = course(&all).unwrap();
        assert_eq!((key, values.len(), &values[1].1[..]), ("workload.streams", 3, "8"));
        assert!(course(&all[..2]).is_none());
    }
}
