//! Goodput by a setting that takes several numbers.

use std::collections::BTreeMap;

use quiclab_experiment::{Difference, differences, label};

use super::{super::scene::Scene, goodput, values};
use crate::{
    plot::{Axis, Content, Figure, Plot, Quartiles, style},
    quantiles::ascending,
};

/// A picture by a setting with fewer values would show no course.
const FEWEST: usize = 3;

pub(crate) fn draw(scene: &Scene) -> Option<Figure> {
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
    let names = numbers.iter().map(|(_, text)| text.clone()).collect();
    let mut plot = Plot::new(Axis::names(key, names), Axis::linear("goodput, Mbit/s"));
    for (place, (name, by_value)) in curves.into_iter().enumerate() {
        let boxes = by_value.into_iter().filter_map(|(value, all)| Some((value, Quartiles::of(&ascending(all))?)));
        plot.add(&name, style::colour(place), Content::Boxes(boxes.collect()));
    }
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
