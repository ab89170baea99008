//! Lost information in words.

use std::fmt::Write as _;

use serde::Serialize;

/// Number of pieces of data that are named at most; others are only counted.
const MOST_PIECES: usize = 6;

/// What the runs that were compared lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundLosses {
    /// Pairs of runs with the same seed.
    pub pairs: usize,
    /// Pairs of which one run lost more than the other one and the claim allows.
    pub unequal: usize,
    /// The repetition whose losses are named: the first that is not equal or, if all are, the first.
    pub repetition: u32,
    /// What the runs of the claim lost in it, and what those that they are compared with lost: in words, by sender.
    pub lost: [Vec<String>; 2],
    /// What was not lost equally often in it.
    pub differences: Vec<String>,
}

impl FoundLosses {
    /// The losses in a line, with the names of both groups of runs.
    pub(super) fn in_words(&self, [one, other]: [&str; 2]) -> String {
        let pairs = if self.pairs == 1 { "pair of runs".to_owned() } else { format!("{} pairs of runs", self.pairs) };
        let [own, others] = self.lost.each_ref().map(|lost: &Vec<String>| list(lost));
        if self.unequal == 0 {
            let what = if self.lost[0] == self.lost[1] { own } else { format!("{own}, or {others}") };
            return format!(
                "the same in {}{pairs} with the same seed ({one}, {other}): {what}",
                if self.pairs == 1 { "one " } else { "all " }
            );
        }
        format!(
            "not the same in {} of {pairs} with the same seed; in repetition {} {one} lost {own}, {other} lost {others}",
            self.unequal, self.repetition
        )
    }
}

/// The pieces in a line.
pub(super) fn list(pieces: &[String]) -> String {
    if pieces.is_empty() {
        return "nothing".to_owned();
    }
    let mut text = pieces.iter().take(MOST_PIECES).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = pieces.len().checked_sub(MOST_PIECES).filter(|more| *more > 0) {
        let _ = write!(text, " and {more} more pieces");
    }
    text
}
