//! What a comparison says of handshakes, for people.

use std::collections::BTreeMap;

use quiclab_metrics::failures_by_chance;

use super::{
    condition::{Condition, Judgement},
    handshakes::{HandshakeCell, HandshakeOutcome, Handshakes},
    measure::Change,
    result::{Pair, Verdict},
    verdict::answer,
    words,
};

/// The answer of a comparison in a line: that of the handshakes, then that of other runs.
pub(super) fn answer_of_all(handshakes: Option<&Handshakes>, verdicts: &[Verdict]) -> String {
    match handshakes {
        None => answer(verdicts),
        Some(handshakes) if verdicts.is_empty() => handshakes.answer(),
        Some(handshakes) => format!("{}; {}", handshakes.answer(), answer(verdicts)),
    }
}

impl Handshakes {
    /// The answer: what got worse, what became slower, and otherwise how many handshakes complete.
    pub(super) fn answer(&self) -> String {
        let compared: Vec<_> = self.cells.iter().filter(|cell| cell.is_compared()).collect();
        let skipped = self.cells.len() - compared.len();
        if compared.is_empty() {
            let why = self.cells.iter().find_map(|cell| cell.not_compared.clone()).unwrap_or_default();
            return format!("no handshake was compared: {why}");
        }
        let worse: Vec<_> = compared.iter().copied().filter(|cell| cell.outcome.is_worse()).collect();
        let slower: Vec<_> = compared.iter().copied().filter(|cell| cell.is_slower()).collect();
        let mut parts = Vec::new();
        if worse.is_empty() {
            parts.push(self.totals(compared.len()));
        } else {
            parts.push(fails_more(&worse, compared.len()));
        }
        if let Some(first) = slower.first() {
            let most = format!("{}: {}", first.label, first.time_text);
            parts.push(match slower.len() {
                1 => format!("slower with {most}"),
                count => format!("slower in {}{}, such as {most}", of(count, compared.len()), all_with(&slower)),
            });
        }
        let counts = [
            ("may fail more, or by chance, in", self.count(|cell| cell.outcome == HandshakeOutcome::PerhapsMore)),
            ("fails less in", self.count(|cell| cell.outcome.is_shown() && !cell.outcome.is_worse())),
            ("faster in", self.count(|cell| cell.time == Change::Better)),
        ];
        parts.extend(
            counts
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(text, count)| format!("{text} {}", of(count, compared.len()))),
        );
        if skipped > 0 {
            parts.push(format!("{skipped} not compared"));
        }
        parts.join("; ")
    }

    /// What the sums over all cells say, where no single cell got worse.
    fn totals(&self, cells: usize) -> String {
        let [a, b] = [0, 1].map(|side| self.tried[side] - self.completed[side]);
        let counts = format!("{b} of {} fail (A: {a} of {})", self.tried[1], self.tried[0]);
        let p = self.p_corrected.map(words::p).unwrap_or_default();
        match self.outcome {
            HandshakeOutcome::NeverCompletes | HandshakeOutcome::FailsMore => {
                let more: Vec<_> = self.cells.iter().filter(|cell| cell.loses_more()).collect();
                let common = shared(&more).map(|names| format!("; the settings in which more fail all have {names}"));
                format!(
                    "B fails more handshakes: {counts}, {p}, over {}{}",
                    settings(cells),
                    common.unwrap_or_default()
                )
            }
            HandshakeOutcome::FailsLess | HandshakeOutcome::NowCompletes => {
                format!("B fails fewer handshakes: {counts}, {p}, over {}", settings(cells))
            }
            HandshakeOutcome::Neither => format!("no handshake completes on either side, with {}", settings(cells)),
            _ => format!("B is not shown to fail more handshakes: {counts} with {}", settings(cells)),
        }
    }

    /// Which change a cell could have shown, as its number of runs and of cells has it.
    pub(super) fn sensitivity(&self, alpha: f64) -> Option<String> {
        let compared: Vec<_> = self.cells.iter().filter(|cell| cell.is_compared()).collect();
        let runs = compared.iter().flat_map(|cell| cell.tried).min()?;
        let tests = if compared.len() == 1 { 1.0 } else { (compared.len() + 1) as f64 };
        let is_shown = |failed: u64, runs: u64| failures_by_chance((0, runs), (failed, runs)) * tests <= alpha;
        if let Some(least) = (1..=runs).find(|failed| is_shown(*failed, runs)) {
            return Some(format!(
                "with {runs} runs on each side of a setting, {least} failures of B where A has none are surely shown"
            ));
        }
        let enough = (runs..=1000).find(|runs| is_shown(*runs, *runs))?;
        Some(format!(
            "with {runs} runs on each side, a setting in which all of B fail and none of A can be missed: {enough} show it in any case \
             (--reps {enough})"
        ))
    }

    /// Conditions for cells in which one side has no times, because none of its handshakes complete or it has no runs.
    pub(super) fn conditions_without_runs(&self, conditions: &[Condition], pairs: &[Pair]) -> Vec<Judgement> {
        let has_pair = |cell: &&HandshakeCell| pairs.iter().any(|pair| pair.key == cell.key);
        let without = self.cells.iter().filter(|cell| !has_pair(cell) && cell.completed != [0, 0]);
        without
            .flat_map(|cell| {
                let why = cell.not_compared.clone().unwrap_or_else(|| cell.why_not_judged());
                conditions.iter().map(move |condition| condition.not_measured(&cell.label, &why))
            })
            .collect()
    }
}

impl HandshakeCell {
    /// Why the times of the cell are not judged.
    pub(super) fn why_not_judged(&self) -> String {
        let [(a, all_a), (b, all_b)] = self.failed();
        format!("{b} of {all_b} handshakes of B fail and {a} of {all_a} of A, so the remaining ones are not comparable")
    }

    /// Whether a larger share of B fails, whatever that shows.
    fn loses_more(&self) -> bool {
        let [(a, all_a), (b, all_b)] = self.failed();
        self.is_compared() && b * all_a > a * all_b
    }

    /// The rate of a side with its interval.
    pub(super) fn rate(&self, side: usize) -> String {
        let (low, high) = self.interval[side];
        let [low, high] = [low, high].map(|share| format!("{:.0}", share * 100.0));
        match self.tried[side] {
            0 => "no runs".to_owned(),
            tried => format!("{} of {tried} ({low} to {high} %)", self.completed[side]),
        }
    }

    /// The outcome of the cell in words.
    pub(super) fn outcome_text(&self) -> String {
        let rate = match self.outcome {
            HandshakeOutcome::NeverCompletes => "NEVER COMPLETES",
            HandshakeOutcome::FailsMore => "FAILS MORE",
            HandshakeOutcome::PerhapsMore => "fails more, or by chance",
            HandshakeOutcome::NoneShown => "",
            HandshakeOutcome::Neither => "neither completes",
            HandshakeOutcome::FailsLess => "fails less",
            HandshakeOutcome::NowCompletes => "completes now",
            HandshakeOutcome::NotCompared => return self.not_compared.clone().unwrap_or_default(),
        };
        let p = self.p_corrected.filter(|_| self.outcome.is_shown()).map(|p| format!(" ({})", words::p(p)));
        let rate = format!("{rate}{}", p.unwrap_or_default());
        let time = match self.time {
            Change::Worse => format!("slower: {}", self.time_text),
            Change::Better => format!("faster: {}", self.time_text),
            _ => String::new(),
        };
        let parts: Vec<_> = [rate, time].into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "unchanged".to_owned() } else { parts.join("; ") }
    }

    /// Why handshakes of B failed, where that is news.
    pub(super) fn reason(&self) -> Option<String> {
        let reasons = &self.reasons[1];
        let is_news = self.outcome.is_worse() || self.outcome == HandshakeOutcome::PerhapsMore;
        (is_news && !reasons.is_empty()).then(|| {
            let text = |(message, count): (&String, &u64)| format!("{message} ({count})");
            reasons.iter().map(text).collect::<Vec<_>>().join("; ")
        })
    }
}

/// The sentence about cells that got worse.
fn fails_more(worse: &[&HandshakeCell], cells: usize) -> String {
    let sum = |side: usize| {
        let failed = worse.iter().map(|cell| cell.failed()[side]);
        failed.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let [(a, all_a), (b, all_b)] = [sum(0), sum(1)];
    let never = worse.iter().filter(|cell| cell.outcome == HandshakeOutcome::NeverCompletes).count();
    let counts = format!("{b} of {all_b}");
    match worse {
        [only] => {
            let never = if never == 1 { ", it never completes" } else { "" };
            format!("B fails more handshakes: {counts} with {} (A: {a} of {all_a}){never}", only.label)
        }
        all => {
            let never = match never {
                0 => String::new(),
                never if never == all.len() => ", it never completes there".to_owned(),
                never => format!(", it never completes in {never} of them"),
            };
            let first = all[0];
            let of_first = first.failed().map(|(failed, tried)| format!("{failed} of {tried}"));
            format!(
                "B fails more handshakes in {}{}: {counts} (A: {a} of {all_a}){never}, such as {} with {} (A: {})",
                of(all.len(), cells),
                all_with(all),
                of_first[1],
                first.label,
                of_first[0]
            )
        }
    }
}

/// What all of these cells have in common, behind their number.
fn all_with(cells: &[&HandshakeCell]) -> String {
    shared(cells).map(|names| format!(", all with {names}")).unwrap_or_default()
}

/// The settings that all of these cells have and others do not; `None` where there are none.
fn shared(cells: &[&HandshakeCell]) -> Option<String> {
    let (first, others) = cells.split_first()?;
    let mut common: BTreeMap<&String, &String> = first.settings.iter().collect();
    common.retain(|key, value| others.iter().all(|cell| cell.settings.get(*key) == Some(*value)));
    let names: Vec<_> = first.label.split(", ").collect();
    let is_common = |name: &&&str| {
        common.iter().any(|(key, value)| {
            name.split_once('=').is_some_and(|(short, text)| key.ends_with(short) && *value == text)
        })
    };
    let names: Vec<_> = names.iter().filter(is_common).copied().collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn of(count: usize, all: usize) -> String {
    format!("{count} of {}", settings(all))
}

fn settings(count: usize) -> String {
    if count == 1 { "1 setting".to_owned() } else { format!("{count} settings") }
}
