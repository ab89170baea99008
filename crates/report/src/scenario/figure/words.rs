//! Words of a figure: titles of axes, names in the legend, and what was averaged.

use quiclab_experiment::{
    Compared,
    scenario::{FigureKind, FigureSpec, GROUPS, Labels, MetricName, TIME},
};

/// The title of the vertical axis, or of the colours of a grid.
pub(super) fn vertical(spec: &FigureSpec, labels: &Labels) -> String {
    if let Some(title) = &spec.y_label {
        return title.clone();
    }
    let name = MetricName::new(&spec.y[0]);
    let quantity = name.quantity();
    // The legend says which metric it is where there are several.
    let mut words = if is_one_metric(spec) { name.in_words() } else { quantity.unit().to_owned() };
    if spec.cumulative && !words.starts_with("cumulative") {
        words = format!("cumulative {words}");
    }
    let is_ratio = spec.compare.as_ref().is_some_and(|compare| compare.how == Compared::Ratio);
    let unit = if is_ratio || !is_one_metric(spec) { "" } else { quantity.unit() };
    if !unit.is_empty() {
        words = format!("{words}, {unit}");
    }
    let Some(compare) = &spec.compare else { return words };
    let side = |value: &str| match compare.setting == GROUPS {
        true => labels.group(value).to_owned(),
        false => labels.phrase(&compare.setting, value),
    };
    let (of, with) = (side(&compare.of), side(&compare.with));
    match compare.how {
        Compared::Difference => format!("{words}: {of} minus {with}"),
        Compared::Ratio => format!("{words}: {of} / {with}"),
    }
}

/// The name of a curve: what sets its runs apart, if there are others, and its metric, if there are others.
pub(super) fn curve(spec: &FigureSpec, metric: &str, label: &str, lines: usize, labels: &Labels) -> String {
    let name = MetricName::new(metric);
    let group = name.group.map(|group| labels.group(group));
    let words = name.in_words();
    let own = match group {
        Some(group) if is_one_metric(spec) => group.to_owned(),
        Some(group) => format!("{words} of {group}"),
        None if is_one_metric(spec) && spec.y.len() > 1 => "all flows".to_owned(),
        None => words,
    };
    match (lines, spec.y.len()) {
        (1, 1) => group.map_or(own, str::to_owned),
        (1, _) => own,
        (_, 1) => label.to_owned(),
        _ => format!("{label}: {own}"),
    }
}

/// True where all curves show the same metric, perhaps of several groups.
fn is_one_metric(spec: &FigureSpec) -> bool {
    let first = MetricName::new(&spec.y[0]);
    spec.y.iter().all(|name| MetricName::new(name).base == first.base)
}

/// How to read it: the file's words, and what was averaged. `most` is the largest number of repetitions.
pub(super) fn caption(spec: &FigureSpec, most: usize, has_bars: bool) -> String {
    let each = if spec.x == TIME && !spec.cumulative { " of each interval" } else { "" };
    let what = match (&spec.compare, spec.x == TIME) {
        (Some(compare), _) if compare.how == Compared::Ratio => "Ratios of runs with the same seed",
        (Some(_), _) => "Differences between runs with the same seed",
        (None, true) => "Values",
        (None, false) => "Values",
    };
    let spread = match (spec.kind, has_bars) {
        (FigureKind::Grid, _) => "",
        (FigureKind::Curves, true) => "; the bars of errors show the standard deviation",
        (FigureKind::Curves, false) => "; the band shows the standard deviation",
    };
    let averaged = match most {
        0 | 1 => format!("{what}{each}, one run each."),
        most => format!("{what}{each}, mean over {most} repetitions{spread}."),
    };
    match &spec.caption {
        Some(caption) => format!("{} {averaged}", caption.trim_end()),
        None => averaged,
    }
}
