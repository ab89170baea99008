//! Judging by an interval: that of the mean, or of the difference of two means.

#[cfg(test)]
mod tests;

use quiclab_experiment::{Comparable, Compared, Expectation};
use quiclab_metrics::{Estimate, Summary};

use super::{
    finding::{Basis, Finding, Interval, Outcome, Side, unmeasured},
    losses,
    repeated::Repeated,
};
use crate::interim_analyses::InterimAnalyses;

/// Probability with which an interval may miss the true value.
const ALPHA: f64 = 0.05;

/// Judges expectations, each for every group that it is about; the groups' settings in the same order. `looks` where runs were repeated
/// until claims were decided.
pub(crate) fn judge_all<G: Repeated, S: Comparable>(
    expectations: &[Expectation],
    groups: &[G],
    settings: &[&S],
    looks: Option<InterimAnalyses>,
) -> Vec<Finding> {
    let judge_one = |expectation: &Expectation| {
        let subjects = expectation.subjects(settings);
        if subjects.is_empty() {
            return vec![unmeasured::<G>(expectation, None, "no run has these settings")];
        }
        let found = subjects.iter().map(|subject| {
            let of = &groups[subject.of];
            let finding = match subject.with.as_deref() {
                None => judge(expectation, of, None, looks),
                Some([one]) if expectation.is_of_losses() => losses::judge(expectation, of, &groups[*one]),
                Some([one]) => judge(expectation, of, Some(&groups[*one]), looks),
                Some([]) => unmeasured(expectation, Some(of), "no run to compare with"),
                Some(_) => unmeasured(expectation, Some(of), "several groups of runs to compare with, expected one"),
            };
            let with = subject.with.iter().flatten().copied();
            Finding { groups: [subject.of].into_iter().chain(with).collect(), ..finding }
        });
        found.collect()
    };
    expectations.iter().flat_map(judge_one).collect()
}

/// Evaluates once with all runs or, where runs were repeated until claims were decided, as often as that was done: with the first
/// repetitions, then with more, up to the evaluation that decided.
fn judge<G: Repeated>(expectation: &Expectation, of: &G, with: Option<&G>, looks: Option<InterimAnalyses>) -> Finding {
    let values = |group: &G| group.repetitions(&expectation.metric);
    let all = [Some(values(of)), with.map(values)];
    let up_to = |most: u32| {
        all.clone().map(|side| side.map(|side| side.into_iter().filter(|(number, _)| *number <= most).collect()))
    };
    let Some(looks) = looks else { return evaluate(expectation, of, with, up_to(u32::MAX), ALPHA) };
    let last = all.iter().flatten().flatten().map(|(number, _)| *number).max().unwrap_or(0);
    let mut finding = unmeasured(expectation, Some(of), "no run");
    for (look, repetitions, alpha) in looks.schedule(ALPHA) {
        finding = evaluate(expectation, of, with, up_to(repetitions), alpha);
        finding.look = Some(look);
        if finding.outcome != Outcome::Undecided || last <= repetitions {
            break;
        }
    }
    finding
}

/// A repetition's number and its value, of a claim's runs and of those they are compared with.
type Values = [Option<Vec<(u32, f64)>>; 2];

fn evaluate<G: Repeated>(expectation: &Expectation, of: &G, with: Option<&G>, values: Values, alpha: f64) -> Finding {
    let [own, other] = values.map(|side| side.map(|side| side.into_iter().map(|(_, value)| value).collect::<Vec<_>>()));
    let own = own.unwrap_or_default();
    let missing = |group: &G| {
        unmeasured(expectation, Some(of), &format!("{} has no value in {}", expectation.metric, group.label()))
    };
    let Some(left) = side(of, &own) else { return missing(of) };
    let right = match (with, &other) {
        (Some(group), Some(values)) => match side(group, values) {
            Some(side) => Some(side),
            None => return missing(group),
        },
        _ => None,
    };
    let is_difference = expectation.compared_as == Compared::Difference;
    let factor = if is_difference { 1.0 } else { expectation.number };
    let estimate = match &other {
        None => Estimate::of_mean(&own, 0.0),
        Some(other) => Estimate::unpaired(other, &own, factor, 0.0),
    };
    // Of a factor, the difference between the two sides has to be on the right side of 0.
    let limit = if right.is_some() && !is_difference { 0.0 } else { expectation.number };
    let value = right.as_ref().map_or(left.mean, |right| left.mean - factor * right.mean);
    let interval = estimate.map(|estimate| {
        let (low, high) = estimate.interval(alpha);
        Interval { low, high, level: 1.0 - alpha }
    });
    let ends = interval.map_or([value; 2], |interval| [interval.low, interval.high]);
    Finding {
        of: Some(left),
        with: right,
        judged_by: Some(if interval.is_some() { Basis::Interval } else { Basis::OneRun }),
        interval,
        p: estimate.map(|estimate| Estimate { mean: estimate.mean - limit, ..estimate }.p()),
        // A single run in virtual time is exact: it says what this seed gives. One in real time says nothing of the next.
        outcome: if interval.is_none() && (of.is_sample() || with.is_some_and(Repeated::is_sample)) {
            Outcome::Undecided
        } else {
            match ends.map(|end| expectation.bound.holds(end, limit)) {
                [true, true] => Outcome::Holds,
                [false, false] => Outcome::Fails,
                _ => Outcome::Undecided,
            }
        },
        ..unmeasured::<G>(expectation, None, "")
    }
}

/// `None` without values.
fn side(group: &impl Repeated, values: &[f64]) -> Option<Side> {
    let Summary { count, mean, standard_deviation, .. } = Summary::of(values.iter().copied())?;
    Some(Side { label: group.label().to_owned(), count, mean, standard_deviation })
}
