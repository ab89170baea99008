//! `workload.repetitions = "until 2 %"`: repeats the runs of each setting until a metric is known well enough.

use anyhow::{Context as _, Result};
use quiclab_experiment::Until;
use quiclab_metrics::Precision;
use quiclab_report::{Repetition, repetitions};

use super::rounds::Rounds;
use quiclab_pages::results::Results;

use crate::{
    session::{planned::Planned, schedule::Done},
    terminal::progress,
};

/// Performs the runs of a file and repeats those of each setting whose interval is too wide, until all are narrow or there are as many
/// repetitions as allowed. `plan` makes the plan with so many repetitions of everything.
///
/// # Errors
/// A missing program, an interruption.
pub fn perform_until_narrow(
    rounds: &Rounds,
    until: &Until,
    plan: impl Fn(u32) -> Result<Planned>,
) -> Result<(Results, Done)> {
    let plan = |count| Ok(Planned { until: Some(until.clone()), ..plan(count)? });
    rounds.perform(plan, |results, planned, more| {
        let input = results.measured_transfers("run").context("workload.repetitions")?;
        let all = repetitions(&input, &until.metric);
        let of = all.len();
        let wide: Vec<_> = all
            .into_iter()
            .filter_map(|one| Some((one.key.clone(), next(&one, more.get(&one.key).copied(), until)?)))
            .collect();
        if let Some(longest) = wide.iter().map(|(_, next)| *next).max() {
            progress::say(&format!(
                "{}: {} of {of} settings are not known to \u{b1} {} % yet; repeating their runs up to {longest} times",
                planned.experiment,
                wide.len(),
                until.percent()
            ));
        }
        Ok(wide)
    })
}

/// How many repetitions a setting gets next; `None` where it has enough, or as many as allowed, or where more would not help: the metric has no
/// value, so that no number of runs would give an interval.
fn next(one: &Repetition, had: Option<u32>, until: &Until) -> Option<u32> {
    let had = had.unwrap_or(until.at_least);
    if had >= until.at_most {
        return None;
    }
    let next = match Precision::of(&one.values) {
        Some(precision) => precision.next_count(until.width)?,
        None if one.values.len() == 1 => 2 * had as usize,
        None => return None,
    };
    // Some of the runs had no value or failed: the same number of them comes on top.
    let without = had as usize - one.values.len().min(had as usize);
    let next = u32::try_from(next + without).unwrap_or(u32::MAX);
    Some(next.clamp(had + 1, until.at_most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(width: f64, at_most: u32) -> Until {
        Until { metric: "goodput_wire_bps".to_owned(), width, at_least: 5, at_most }
    }

    fn of(values: &[f64]) -> Repetition {
        Repetition { key: "k".to_owned(), label: "l".to_owned(), values: values.to_vec(), last: values.len() as u32 }
    }

    const FIVE: [f64; 5] = [98.0, 99.0, 100.0, 101.0, 102.0];

    #[test]
    fn a_setting_is_repeated_while_its_interval_is_wider_than_asked() {
        // Standard deviation sqrt(2.5), t of 4 degrees of freedom 2.776: half of the interval is 1.963 % of the mean.
        assert_eq!(next(&of(&FIVE), None, &until(0.02, 100)), None);
        // 5 * 1.963^2 * 1.1 would be 21: at most twice as many.
        assert_eq!(next(&of(&FIVE), None, &until(0.01, 100)), Some(10));
        assert_eq!(next(&of(&FIVE), None, &until(0.019, 100)), Some(6));
    }

    #[test]
    fn the_limit_ends_the_repetition() {
        assert_eq!(next(&of(&FIVE), None, &until(0.001, 8)), Some(8));
        assert_eq!(next(&of(&FIVE), Some(8), &until(0.001, 8)), None);
    }

    #[test]
    fn equal_runs_are_not_repeated_and_neither_are_those_without_a_value() {
        assert_eq!(next(&of(&[7.0; 5]), None, &until(0.02, 100)), None);
        assert_eq!(next(&of(&[]), None, &until(0.02, 100)), None);
    }

    #[test]
    fn failed_runs_are_replaced_by_as_many_more() {
        // Two of five failed: mean 100, standard deviation 1, t of 2 degrees of freedom 4.303: half is 2.484 %.
        assert_eq!(next(&of(&[99.0, 100.0, 101.0]), None, &until(0.02, 100)), Some(8));
    }
}
