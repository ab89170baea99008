//! What came of a comparison.

use serde::Serialize;

use super::{
    condition::{ConditionOutcome, Judgement},
    cpu::CpuDifference,
    handshake_words::answer_of_all,
    handshakes::Handshakes,
    measure::{Change, Row},
    trains::TrainDifference,
    verdict::Clause,
    words,
};
use crate::figures::train_mix::Mix;

/// Two sets of results and what came of them.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub(super) schema: u32,
    /// What A and B are.
    pub names: [String; 2],
    /// Experiment and command of each.
    pub made_by: [String; 2],
    /// The versions that A and B were measured with.
    pub made_with: [Vec<String>; 2],
    /// The command that makes the comparison again.
    pub command: String,
    /// The level of p-values, and one minus that of intervals.
    pub alpha: f64,
    /// The answer, in a line: the verdict, or how many settings have which.
    pub answer: String,
    /// What is to be said first, such as what differs beside what was meant to.
    pub notes: Vec<String>,
    /// The verdict, in a sentence for each pair.
    pub verdict: Vec<Verdict>,
    /// The conditions, each for every pair and for all settings that only one side has.
    pub conditions: Vec<Judgement>,
    /// Runs that failed, without those that `handshakes` counts.
    pub failures: Failures,
    /// Handshakes that complete and that do not; `None` where no run has that test case.
    pub handshakes: Option<Handshakes>,
    /// Runs of the same settings on both sides.
    pub pairs: Vec<Pair>,
    /// Names of settings that only A, and that only B has.
    pub only_in: [Vec<String>; 2],
    /// A train of each pair that shows how the sides differ.
    pub trains: Vec<TrainDifference>,
    /// CPU time of both endpoints of each pair by function, where runs were sampled.
    pub cpu: Vec<CpuDifference>,
    /// True where A and B were found to be the same bytes, and nothing was run.
    pub is_same_bytes: bool,
}

/// How many runs failed on each side.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Failures {
    /// Runs that failed, of A and of B.
    pub failed: [u64; 2],
    /// Runs that were tried.
    pub tried: [u64; 2],
    /// Fisher's exact test: how often chance alone would spread the failures so unevenly.
    pub p: f64,
    /// True where that is at most 5 %: what survives on one side is another selection than what survives on the other.
    pub differ: bool,
    /// Record and message of each, of A and of B.
    pub messages: [Vec<(String, String)>; 2],
}

/// Runs of the same settings on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Name of the settings.
    pub label: String,
    /// The key of the settings, by which the runs were paired.
    #[serde(skip)]
    pub key: String,
    /// What was transferred, and over which path: of A.
    pub network: String,
    /// Runs of A and of B.
    pub runs: [usize; 2],
    /// Seeds that both have a run of.
    pub common_seeds: usize,
    /// Whether runs with the same seed are compared with each other: where at least two seeds are common.
    pub is_paired: bool,
    /// Distance of the distributions of gaps, 0 to 1; `None` where a side has none.
    pub gap_distance: Option<f64>,
    /// Distance of the distributions of packets over the lengths of their trains.
    pub train_distance: Option<f64>,
    /// Every metric, in the order of the tables.
    pub metrics: Vec<Row>,
    /// Packets of A and of B by the length of their train, for the picture.
    #[serde(skip)]
    pub(super) mixes: [Option<Mix>; 2],
}

/// What is said of a pair.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Name of the settings.
    pub label: String,
    /// The sentence.
    pub text: String,
    /// Why the longest train of the burstier side is so long; `None` where that is not known.
    pub why: Option<String>,
    #[serde(skip)]
    pub(super) clauses: Vec<Clause>,
    #[serde(skip)]
    pub(super) rest: Vec<String>,
    /// What B has where the verdict has no clauses, for the count over several settings.
    #[serde(skip)]
    pub(super) without_difference: Option<&'static str>,
}

impl Comparison {
    /// Adds trains, and to each verdict the cause of the longest train of the side that it calls burstier.
    pub fn explain(&mut self, trains: Vec<TrainDifference>) {
        for train in &trains {
            let verdict = self.verdict.iter_mut().find(|verdict| verdict.label == train.label);
            if let Some((verdict, longest)) = verdict.zip(train.longest()) {
                verdict.explain(&longest);
            }
        }
        self.answer = answer_of_all(self.handshakes.as_ref(), &self.verdict);
        self.trains = trains;
    }

    /// How many conditions fail or could not be judged, one more where runs failed, and one more where handshakes of B fail that did not.
    /// With `strict`, undecided ones count too.
    pub fn wrong(&self, strict: bool) -> usize {
        let is_wrong = |judgement: &&Judgement| match judgement.outcome {
            ConditionOutcome::Passes => false,
            ConditionOutcome::Undecided => strict,
            ConditionOutcome::Fails | ConditionOutcome::NotMeasured => true,
        };
        self.conditions.iter().filter(is_wrong).count()
            + usize::from(self.failures.failed != [0, 0])
            + usize::from(self.handshakes.as_ref().is_some_and(|handshakes| handshakes.is_wrong(strict)))
    }

    /// True where more runs would not say more: every condition is decided or, where there is none, every metric of the verdict has a
    /// difference or would have shown one of `smallest` (a share of the mean of A).
    pub fn is_decided(&self, smallest: f64) -> bool {
        if self.handshakes.as_ref().is_some_and(Handshakes::is_open) {
            return false;
        }
        if !self.conditions.is_empty() {
            return self.conditions.iter().all(|judgement| judgement.outcome != ConditionOutcome::Undecided);
        }
        let is_decided = |row: &Row| {
            let seen = row.difference.as_ref().and_then(|difference| difference.smallest_detectable_relative);
            match row.change {
                Change::Unknown => false,
                Change::NoneShown => seen.is_some_and(|share| share <= smallest),
                // Without a share, both sides are 0 in every run.
                Change::Same => seen.is_none_or(|share| share <= smallest),
                _ => true,
            }
        };
        self.pairs.iter().flat_map(|pair| &pair.metrics).filter(|row| row.is_primary).all(is_decided)
    }

    /// The comparison as JSON: everything, in the units that the names of the metrics say.
    ///
    /// # Panics
    /// Never: it holds only what JSON can say.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a comparison holds only what JSON can say");
        text + "\n"
    }
}

impl Pair {
    /// How the runs were compared.
    pub(super) fn how_compared(&self) -> String {
        if self.is_paired {
            format!("compared seed by seed ({} seeds in common)", self.common_seeds)
        } else {
            "compared by their means (fewer than two seeds in common)".to_owned()
        }
    }
}

impl Failures {
    /// The failures in a sentence; `None` where no run failed.
    pub fn in_words(&self) -> Option<String> {
        let [a, b] = self.failed;
        let [all_a, all_b] = self.tried;
        if a + b == 0 {
            return None;
        }
        let counts = format!("{a} of {all_a} runs of A failed, {b} of {all_b} of B");
        Some(if self.differ {
            format!("{counts} (probability by chance {})", words::p(self.p))
        } else {
            format!("{counts}; the numbers are those of the remaining runs")
        })
    }
}
