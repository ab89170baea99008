//! The figures that an experiment with stacks asks for, drawn as those of scenarios are.

use std::collections::BTreeMap;

use quiclab_experiment::{
    Compared, figure_settings,
    scenario::{FigureSpec, Labels, MetricName},
};

use super::{figure, group::Group, report::ScenarioRow};
use crate::{
    groups,
    input::{ReportInput, RunRow},
    plot::Figure,
    quantity::Shown,
};

/// The pictures, in the order of the file.
pub(crate) fn transfer_figures(input: &ReportInput, groups: &[groups::Group]) -> Vec<Figure> {
    let all: Vec<_> = groups.iter().map(|group| group.settings).collect();
    let draw = |(number, spec): (usize, &FigureSpec)| {
        let compared = spec.compare.as_ref().map(|compare| compare.setting.as_str());
        let axes: Vec<&str> = [Some(spec.x.as_str()), spec.by.as_deref(), compared].into_iter().flatten().collect();
        let settings = figure_settings(&all, &axes);
        let rows: Vec<Vec<ScenarioRow>> =
            groups.iter().zip(settings).map(|(group, settings)| rows(group, &settings, &spec.y)).collect();
        let groups: Vec<Group> = rows
            .iter()
            .filter_map(|rows| {
                let settings = &rows.first()?.settings;
                Some(Group { label: String::new(), settings, runs: rows.iter().collect() })
            })
            .collect();
        let titled = FigureSpec { y_label: spec.y_label.clone().or_else(|| title(spec)), ..spec.clone() };
        figure::draw(number, &titled, &groups, &Labels::default())
    };
    input.figures.iter().enumerate().flat_map(draw).collect()
}

/// The runs of a group as those of scenarios are, with the metrics of a figure.
fn rows(group: &groups::Group, settings: &BTreeMap<String, String>, metrics: &[String]) -> Vec<ScenarioRow> {
    let row = |run: &&RunRow| {
        let value = |name: &String| Some((name.clone(), run.metrics.metrics.value(name).flatten()?));
        ScenarioRow {
            folder: run.folder.clone(),
            id: String::new(),
            repetition: run.run.repetition,
            seed: run.run.seed,
            settings: settings.clone(),
            is_whole: true,
            events: 0,
            metrics: metrics.iter().filter_map(value).collect(),
            series: BTreeMap::new(),
        }
    };
    group.runs.iter().map(row).collect()
}

/// What the values are, in the words of the tables; `None` where the figure shows several metrics.
fn title(spec: &FigureSpec) -> Option<String> {
    let [metric] = &spec.y[..] else { return None };
    let words = Shown::of_metric(metric).words;
    let unit = MetricName::new(metric).quantity().unit();
    let with_unit = |words: &str| if unit.is_empty() { words.to_owned() } else { format!("{words}, {unit}") };
    Some(match &spec.compare {
        None => with_unit(&words),
        Some(compare) if compare.how == Compared::Ratio => format!("{words}: {} / {}", compare.of, compare.with),
        Some(compare) => format!("{}: {} minus {}", with_unit(&words), compare.of, compare.with),
    })
}
