//! What became of the cases of a matrix, and how tables call it.

use quiclab_interop::{Matrix, Verdict, case_named};

/// What became of a case, as the tables have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed,
    CannotBeJudged,
    Unsupported,
    NotRun,
}

impl Outcome {
    pub(super) const ALL: [Outcome; 5] =
        [Outcome::Succeeded, Outcome::Failed, Outcome::CannotBeJudged, Outcome::Unsupported, Outcome::NotRun];

    pub(super) fn of(verdict: Option<&Verdict>) -> Self {
        match verdict {
            Some(Verdict::Succeeded) => Outcome::Succeeded,
            Some(Verdict::Failed { .. }) => Outcome::Failed,
            Some(Verdict::CannotBeJudged { .. }) => Outcome::CannotBeJudged,
            Some(Verdict::Unsupported { .. }) => Outcome::Unsupported,
            None => Outcome::NotRun,
        }
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Outcome::Succeeded => "\u{2713}",
            Outcome::Failed => "\u{2717}",
            Outcome::CannotBeJudged => "~",
            Outcome::Unsupported => "?",
            Outcome::NotRun => "\u{2013}",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::CannotBeJudged => "cannot be judged",
            Outcome::Unsupported => "not supported",
            Outcome::NotRun => "not run",
        }
    }
}

/// Letters of a case; its name where this version does not know it.
pub(super) fn letters(case: &str) -> &str {
    case_named(case).map_or(case, |case| case.abbreviation)
}

/// What has to happen in it.
pub(super) fn description(case: &str) -> &str {
    case_named(case).map_or("", |case| case.description)
}

/// Cases of a pair with an outcome, in the order of the matrix.
pub(super) fn cases_with<'a>(matrix: &'a Matrix, server: &str, client: &str, outcome: Outcome) -> Vec<&'a str> {
    let is_wanted =
        |case: &&String| Outcome::of(matrix.entry(server, client, case).map(|entry| &entry.verdict)) == outcome;
    matrix.cases.iter().filter(is_wanted).map(String::as_str).collect()
}

/// How often each outcome came, by [`Outcome::ALL`], in the pairs and cases that are wanted.
pub(super) fn counts(matrix: &Matrix, is_wanted: impl Fn(&str, &str, &str) -> bool) -> [usize; 5] {
    let mut counts = [0; 5];
    for client in &matrix.clients {
        for server in &matrix.servers {
            for case in matrix.cases.iter().filter(|case| is_wanted(server, client, case)) {
                let entry = matrix.entry(server, client, case);
                counts[Outcome::of(entry.map(|entry| &entry.verdict)) as usize] += 1;
            }
        }
    }
    counts
}

/// "2 succeeded, 1 failed", without those that did not occur.
pub(super) fn count_words(counts: [usize; 5]) -> String {
    let words = Outcome::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0);
    let words: Vec<String> = words.map(|(outcome, count)| format!("{count} {}", outcome.name())).collect();
    if words.is_empty() { "nothing to run".to_owned() } else { words.join(", ") }
}

/// What the signs mean.
pub(super) fn legend(separator: &str) -> String {
    Outcome::ALL.map(|outcome| format!("{} {}", outcome.sign(), outcome.name())).join(separator)
}
