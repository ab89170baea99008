//! Whether the runs that are compared lost the same information.

use quiclab_content::{Difference, Lost};
use quiclab_experiment::Expectation;
use quiclab_metrics::Summary;

use super::{
    finding::{Basis, Finding, Outcome, Side, unmeasured},
    found_losses::{FoundLosses, list},
    repeated::Repeated,
};

/// Judges every pair of runs with the same seed: a single one that does not hold is enough.
pub(super) fn judge<G: Repeated>(expectation: &Expectation, of: &G, with: &G) -> Finding {
    let others = with.losses();
    let mut bytes = Vec::new();
    let mut found: Option<FoundLosses> = None;
    let mut unequal = 0;
    for (repetition, own) in of.losses() {
        let Some((_, other)) = others.iter().find(|(number, _)| *number == repetition) else { continue };
        let (own, other) = match (known(own, of.label()), known(*other, with.label())) {
            (Ok(own), Ok(other)) => (own, other),
            (Err(why), _) | (_, Err(why)) => {
                return unmeasured(expectation, Some(of), &format!("repetition {repetition}: {why}"));
            }
        };
        let differences = own.differences(other);
        let differing: u64 = differences.iter().map(bytes_of).sum();
        let holds = expectation.bound.holds(differing as f64, expectation.number);
        bytes.push(differing as f64);
        if found.is_none() || (!holds && unequal == 0) {
            found = Some(FoundLosses {
                pairs: 0,
                unequal: 0,
                repetition,
                lost: [own.lines(), other.lines()],
                differences: differences.iter().map(|one| words(one, [of.label(), with.label()])).collect(),
            });
        }
        unequal += usize::from(!holds);
    }
    let (Some(found), Some(Summary { count, mean, standard_deviation, .. })) = (found, Summary::of(bytes)) else {
        return unmeasured(expectation, Some(of), "no run with the same seed to compare with");
    };
    let side = |label: &str| Side { label: label.to_owned(), count, mean, standard_deviation };
    Finding {
        of: Some(side(of.label())),
        with: Some(Side { mean: 0.0, standard_deviation: None, ..side(with.label()) }),
        judged_by: Some(Basis::EveryPair),
        losses: Some(FoundLosses { pairs: count, unequal, ..found }),
        outcome: if unequal == 0 { Outcome::Holds } else { Outcome::Fails },
        ..unmeasured::<G>(expectation, None, "")
    }
}

/// A sentence for each pair of groups whose runs with the same seed lost different bytes, or of which that is not known.
pub(crate) fn notes_on_losses<G: Repeated>(label: &str, of: &G, with: &G, names: [&str; 2]) -> Option<String> {
    let others = with.losses();
    for (repetition, own) in of.losses() {
        let other = others.iter().find(|(number, _)| *number == repetition);
        let Some((Some(own), Some(other))) = other.map(|(_, other)| (own, *other)) else { continue };
        if own.unread() + other.unread() == 0 && !own.differences(other).is_empty() {
            let [lost, others] = [list(&own.lines()), list(&other.lines())];
            let [one, two] = names;
            return Some(format!(
                "{label}: {one} and {two} did not lose the same CRYPTO and STREAM bytes; in repetition {repetition} {one} lost {lost}, {two} lost {others}"
            ));
        }
    }
    None
}

/// What a run lost, where that is known to the last byte.
fn known<'a>(lost: Option<&'a Lost>, label: &str) -> Result<&'a Lost, String> {
    let lost = lost.ok_or_else(|| format!("the record of {label} does not list what was dropped"))?;
    match lost.unread() {
        0 => Ok(lost),
        unread => Err(format!("{unread} lost datagrams of {label} could not be read")),
    }
}

fn bytes_of(difference: &Difference) -> u64 {
    let [one, other] = difference.times;
    (difference.data.to - difference.data.from).saturating_mul(one.abs_diff(other))
}

fn words(difference: &Difference, [one, other]: [&str; 2]) -> String {
    let times = |times: u64| if times == 1 { "once".to_owned() } else { format!("{times} times") };
    let [first, second] = difference.times.map(times);
    format!("{} {}: lost {first} by {one}, {second} by {other}", difference.direction.sender(), difference.data)
}
