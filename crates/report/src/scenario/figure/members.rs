//! What a figure is made of: repetitions of one setting, or pairs of runs that are compared.

use std::collections::BTreeMap;

use quiclab_experiment::{
    Compared,
    scenario::{Compare, FigureSpec, GROUPS, MetricName, Quantity, TIME, follows},
};
use quiclab_metrics::Estimate;

use super::super::{group::Group, report::ScenarioRow};

/// All repetitions of one setting.
pub(super) struct Member<'a> {
    /// What sets it apart from the others: its settings, without those that are compared.
    pub settings: BTreeMap<String, String>,
    /// The runs.
    pub runs: Vec<Shown<'a>>,
}

/// A run, and what it is compared with.
pub(super) struct Shown<'a> {
    run: &'a ScenarioRow,
    with: Option<(&'a ScenarioRow, Compared)>,
    /// The groups of flows whose metrics are compared.
    groups: Option<[&'a str; 2]>,
}

/// The members of a figure, in the order of the plan. Pairs have the same repetition, hence the same seed.
pub(super) fn members<'a>(spec: &'a FigureSpec, groups: &[Group<'a>]) -> Vec<Member<'a>> {
    let Some(Compare { setting, of, with, how }) = &spec.compare else {
        let runs = |group: &Group<'a>| group.runs.iter().map(|run| Shown { run, with: None, groups: None }).collect();
        return groups.iter().map(|group| Member { settings: group.settings.clone(), runs: runs(group) }).collect();
    };
    if setting == GROUPS {
        let names = Some([of.as_str(), with.as_str()]);
        let runs = |group: &Group<'a>| {
            let shown = group.runs.iter().map(|run| Shown { run, with: Some((*run, *how)), groups: names });
            shown.collect()
        };
        return groups.iter().map(|group| Member { settings: group.settings.clone(), runs: runs(group) }).collect();
    }
    let has = |group: &&Group, value: &String| group.settings.get(setting) == Some(value);
    let mut all = Vec::new();
    for group in groups.iter().filter(|group| has(group, of)) {
        let settings = without(group.settings, setting);
        let other = groups.iter().filter(|other| has(other, with));
        let Some(other) = other.into_iter().find(|other| without(other.settings, setting) == settings) else {
            continue;
        };
        let pair = |run: &&'a ScenarioRow| {
            let with = other.runs.iter().find(|with| with.repetition == run.repetition)?;
            Some(Shown { run, with: Some((*with, *how)), groups: None })
        };
        all.push(Member { settings, runs: group.runs.iter().filter_map(pair).collect() });
    }
    all
}

impl Member<'_> {
    /// The chance of a difference as large between two sets of runs that do not differ (Welch's t-test), where sets are compared and both
    /// have several runs.
    pub(super) fn chance(&self, name: &str) -> Option<f64> {
        let side = |run: &Shown, place: usize| {
            let (row, name) = run.sides(name).into_iter().nth(place)??;
            row.metrics.get(&name).copied()
        };
        let values = |place| self.runs.iter().filter_map(|run| side(run, place)).collect::<Vec<f64>>();
        let (own, other) = (values(0), values(1));
        let least = own.len().min(other.len());
        (least > 1).then(|| Estimate::unpaired(&own, &other, 1.0, 0.0))?.map(|estimate| estimate.p())
    }
}

impl Shown<'_> {
    /// A metric in the unit of an axis.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        let divisor = MetricName::new(name).quantity().divisor();
        let value = |row: &ScenarioRow, name: &str| row.metrics.get(name).map(|value| value / divisor);
        self.compared(name, |row, name| value(row, name))
    }

    /// A series in the unit of an axis, with its times. At time 0, values that are known then come before those of the intervals.
    pub(super) fn series(&self, name: &str, is_cumulative: bool) -> Vec<(f64, Option<f64>)> {
        let times = series(self.run, TIME);
        let quantity = MetricName::new(name).quantity();
        let divisor = quantity.divisor();
        let values = |row: &ScenarioRow, name: &str| {
            let values = series(row, name);
            if is_cumulative { sums(&values, &series(row, TIME), quantity) } else { values }
        };
        let all = self.sides(name).map(|side| side.map(|(row, name)| (row, values(row, &name))));
        let start = self.compared(name, at_start);
        let at = |place: usize| {
            let [own, other] = &all;
            let own = own.as_ref().and_then(|(_, values)| *values.get(place)?);
            let other = other.as_ref().map(|(row, values)| {
                // Runs that differ in their intervals have no values to compare.
                let is_same_time = series(row, TIME).get(place) == times.get(place);
                if is_same_time { *values.get(place)? } else { None }
            });
            self.combined(own.map(|value| value / divisor), other.map(|value| value.map(|value| value / divisor)))
        };
        let intervals = (0..times.len()).filter_map(|place| Some((times[place]?, at(place))));
        start.map(|value| (0.0, Some(value))).into_iter().chain(intervals).collect()
    }

    /// The runs and the names under which they have a metric or series.
    fn sides(&self, name: &str) -> [Option<(&ScenarioRow, String)>; 2] {
        let of_group = |place: usize| {
            let group = self.groups.map(|groups| groups[place]);
            group.map_or_else(|| name.to_owned(), |group| MetricName { base: name, group: Some(group) }.to_string())
        };
        [Some((self.run, of_group(0))), self.with.map(|(row, _)| (row, of_group(1)))]
    }

    fn compared(&self, name: &str, value: impl Fn(&ScenarioRow, &str) -> Option<f64>) -> Option<f64> {
        let [own, other] = self.sides(name).map(|side| side.map(|(row, name)| value(row, &name)));
        self.combined(own.flatten(), other)
    }

    fn combined(&self, own: Option<f64>, other: Option<Option<f64>>) -> Option<f64> {
        let Some((_, how)) = self.with else { return own };
        let (own, other) = (own?, other??);
        match how {
            Compared::Difference => Some(own - other),
            Compared::Ratio => (other != 0.0).then(|| own / other),
        }
    }
}

fn series(row: &ScenarioRow, name: &str) -> Vec<Option<f64>> {
    row.series.get(name).cloned().unwrap_or_default()
}

/// The mean of a rate since the beginning, or the sum of a count. Without a value from the first interval on that has none.
fn sums(values: &[Option<f64>], times: &[Option<f64>], quantity: Quantity) -> Vec<Option<f64>> {
    let (mut sum, mut before) = (Some(0.0), 0.0);
    let next = |(value, time): (&Option<f64>, &Option<f64>)| {
        let time = (*time)?;
        let weight = if quantity == Quantity::Rate { time - before } else { 1.0 };
        before = time;
        sum = sum.zip(*value).map(|(sum, value)| sum + value * weight);
        if quantity == Quantity::Rate { sum.map(|sum| sum / time) } else { sum }
    };
    values.iter().zip(times).map(next).collect()
}

/// What a series was at time 0, in the unit of its axis: nothing had been sent, queued or dropped, and windows were the initial ones.
fn at_start(row: &ScenarioRow, name: &str) -> Option<f64> {
    let MetricName { base, group } = MetricName::new(name);
    let of = |group: &str, key: &str| row.settings.get(&format!("flows.{group}.{key}"))?.parse::<f64>().ok();
    let window = |group: &str| of(group, "initial_window");
    let windows = |group: &str| Some(window(group)? * of(group, "count")?);
    match (base, group) {
        ("goodput_bps" | "queue_packets" | "drops_packets" | "marks_packets", _) => Some(0.0),
        ("window_segments", Some(group)) => window(group),
        ("window_sum_segments", Some(group)) => windows(group),
        ("window_sum_segments", None) => groups_of(row).map(windows).sum(),
        _ => None,
    }
}

/// The names of a run's groups of flows.
fn groups_of(row: &ScenarioRow) -> impl Iterator<Item = &str> {
    row.settings.keys().filter_map(|key| key.strip_prefix("flows.")?.strip_suffix(".count"))
}

/// Settings without one of them, and without what follows from it.
pub(super) fn without(settings: &BTreeMap<String, String>, key: &str) -> BTreeMap<String, String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let is_it = |other: &str| {
        other == key
            || key.starts_with("flows.") && other.starts_with("flows.") && other.rsplit('.').next() == Some(last)
            || follows(settings, other, &|from| from == key)
    };
    settings.iter().filter(|(other, _)| !is_it(other)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cumulative_rate_is_the_mean_since_the_beginning_and_a_count_the_sum() {
        let values = [Some(10.0), Some(40.0), None, Some(5.0)];
        // 2 s at 10 and 1 s at 40 are 60 in 3 s.
        let times = [Some(2.0), Some(3.0), Some(4.0), Some(5.0)];
        assert_eq!(sums(&values, &times, Quantity::Rate), [Some(10.0), Some(20.0), None, None]);
        assert_eq!(sums(&values, &times, Quantity::Packets), [Some(10.0), Some(50.0), None, None]);
    }
}
