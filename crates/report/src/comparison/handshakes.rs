//! Handshakes that complete and that do not: a run that fails is data here.
//!
//! A cell is all runs of the same settings on both sides whose test case is the handshake. Runs that say nothing of the handshake, because an
//! endpoint does not support the settings or the testbed failed, are not counted.

use std::{cmp::Ordering, collections::BTreeMap};

use quiclab_experiment::{axes, run::Settings};
use quiclab_metrics::{failures_by_chance, share_interval, smallest_by_chance, tarone};
use serde::Serialize;

use super::{compare::Key, measure::Change, result::Pair, verdict::in_numbers};
use crate::input::{FailureCause, FailureRow, ReportInput};

/// The test case whose runs are counted.
const TEST_CASE: &str = "handshake";
/// The metrics that the verdict on such runs is about.
pub(super) const METRICS: [&str; 2] = ["handshake_client_complete_ns", "handshake_client_first_byte_ns"];

/// Handshakes of both sides, those that completed and those that did not.
#[derive(Clone, Debug, Serialize)]
pub struct Handshakes {
    /// Handshakes that completed, of A and of B, in cells that have runs of both.
    pub completed: [u64; 2],
    /// Handshakes that were tried, in the same cells.
    pub tried: [u64; 2],
    /// Fisher's exact test of these sums; `None` where nothing was compared.
    pub p: Option<f64>,
    /// The same, corrected for the number of cells.
    pub p_corrected: Option<f64>,
    /// Whether the sums show a difference, whatever single cells show.
    pub outcome: HandshakeOutcome,
    /// The cells: those that got worse first.
    pub cells: Vec<HandshakeCell>,
}

/// Handshakes with the same settings.
#[derive(Clone, Debug, Serialize)]
pub struct HandshakeCell {
    /// Name of the settings.
    pub label: String,
    /// The settings that differ between cells.
    pub settings: BTreeMap<String, String>,
    /// The key of the settings, by which runs were paired.
    #[serde(skip)]
    pub(super) key: String,
    /// Handshakes that completed, of A and of B.
    pub completed: [u64; 2],
    /// Handshakes that were tried.
    pub tried: [u64; 2],
    /// Exact interval of the rate of completed handshakes, of A and of B, at the level of the comparison for this cell by itself.
    pub interval: [(f64, f64); 2],
    /// Fisher's exact test: how often chance alone would spread the failures so unevenly; `None` where a side has no runs.
    pub p: Option<f64>,
    /// The same, corrected for the number of cells.
    pub p_corrected: Option<f64>,
    /// How the rate changed.
    pub outcome: HandshakeOutcome,
    /// How the times of handshakes that completed on both sides changed: the worse of the metrics of the verdict.
    pub time: Change,
    /// The times in words; empty where they show no difference.
    pub time_text: String,
    /// The largest change of these times, as a share of A.
    #[serde(skip)]
    time_share: f64,
    /// Messages of handshakes that did not complete, of A and of B, each with how many have it.
    pub reasons: [BTreeMap<String, u64>; 2],
    /// Why the cell is not compared.
    pub not_compared: Option<String>,
    /// Whether only one side lacks runs.
    pub is_one_sided: bool,
}

/// How the rate of completed handshakes changed. The order is that of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeOutcome {
    /// No handshake of B completes, and some of A do; that is not chance.
    NeverCompletes,
    /// B fails more handshakes, and that is not chance.
    FailsMore,
    /// B fails more handshakes, which can be chance.
    PerhapsMore,
    /// The sides have the same rate, or more handshakes of A fail, which can be chance.
    NoneShown,
    /// No handshake of either side completes.
    Neither,
    /// B fails fewer handshakes, and that is not chance.
    FailsLess,
    /// Some handshakes of B complete, and none of A; that is not chance.
    NowCompletes,
    /// One side or both have no run that says anything of the handshake.
    NotCompared,
}

/// Counts of a cell.
#[derive(Default)]
struct Counts<'a> {
    settings: [Option<&'a Settings>; 2],
    completed: [u64; 2],
    tried: [u64; 2],
    reasons: [BTreeMap<String, u64>; 2],
    /// Why runs say nothing of the handshake.
    void: [BTreeMap<String, u64>; 2],
}

/// True for runs whose handshakes are counted, and that are not judged by their pacing.
pub fn is_counted(settings: &Settings) -> bool {
    settings.workload.test_case == TEST_CASE
}

/// True for a failure that belongs to a cell: a handshake that did not complete, or an endpoint that does not support it.
pub(super) fn belongs_to_a_cell(failure: &FailureRow) -> bool {
    let is_said = |cause| matches!(cause, FailureCause::Endpoints | FailureCause::Unsupported);
    failure.failed.as_ref().is_some_and(|failed| is_counted(&failed.run.settings) && is_said(failed.cause))
}

impl Handshakes {
    /// Counts the handshakes of both sides; `None` where no run is one.
    pub(super) fn of(inputs: [&ReportInput; 2], keys: [Key; 2], alpha: f64) -> Option<Self> {
        let mut seen: Vec<(String, Counts)> = Vec::new();
        for (side, input) in inputs.into_iter().enumerate() {
            for run in input.runs.iter().filter(|run| is_counted(&run.run.settings)) {
                let counts = cell(&mut seen, side, keys, &run.run.settings);
                counts.tried[side] += 1;
                counts.completed[side] += 1;
            }
            for failure in &input.failures {
                let Some(failed) = failure.failed.as_ref().filter(|failed| is_counted(&failed.run.settings)) else {
                    continue;
                };
                let counts = cell(&mut seen, side, keys, &failed.run.settings);
                let is_handshake = failed.cause == FailureCause::Endpoints;
                counts.tried[side] += u64::from(is_handshake);
                let messages = if is_handshake { &mut counts.reasons } else { &mut counts.void };
                let message = failure.message.lines().next().unwrap_or_default();
                *messages[side].entry(message.to_owned()).or_default() += 1;
            }
        }
        if seen.is_empty() {
            return None;
        }
        let settings: Vec<_> =
            seen.iter().filter_map(|(_, counts)| counts.settings[0].or(counts.settings[1])).collect();
        let names = axes(&settings);
        let mut cells: Vec<_> = seen
            .into_iter()
            .zip(names)
            .map(|((key, counts), names)| HandshakeCell::of(key, counts, names, alpha))
            .collect();
        let mut all = Self {
            completed: [0, 1].map(|side| sum(&cells, |cell| cell.completed[side])),
            tried: [0, 1].map(|side| sum(&cells, |cell| cell.tried[side])),
            p: None,
            p_corrected: None,
            outcome: HandshakeOutcome::NotCompared,
            cells: Vec::new(),
        };
        // The sums of several cells are one test more.
        let compared = cells.iter().filter(|cell| cell.is_compared()).count();
        let total = [failed(all.completed, all.tried, 0), failed(all.completed, all.tried, 1)];
        let of_cells = cells.iter().filter(|cell| cell.is_compared()).map(HandshakeCell::failed);
        let tables: Vec<_> = of_cells.chain((compared > 1).then_some(total)).collect();
        let tests: Vec<_> = tables
            .iter()
            .map(|[one, other]| (failures_by_chance(*one, *other), smallest_by_chance(*one, *other)))
            .collect();
        let corrected = tarone(&tests, alpha);
        let results: Vec<_> = tests.iter().map(|(p, _)| *p).zip(corrected).collect();
        for (cell, (p, p_corrected)) in cells.iter_mut().filter(|cell| cell.is_compared()).zip(&results) {
            cell.p = Some(*p);
            cell.p_corrected = Some(*p_corrected);
            cell.outcome = outcome(cell.completed, cell.tried, cell.p_corrected, alpha);
        }
        // That of a single cell is its own.
        if let Some((p, p_corrected)) = results.last().filter(|_| compared > 0) {
            all.p = Some(*p);
            all.p_corrected = Some(*p_corrected);
            all.outcome = outcome(all.completed, all.tried, all.p_corrected, alpha);
        }
        all.cells = cells;
        Some(all)
    }

    /// Adds what became of the times, from the pairs, and puts the cells in order.
    pub(super) fn add_times(&mut self, pairs: &[Pair]) {
        for cell in self.cells.iter_mut().filter(|cell| cell.is_compared() && !cell.outcome.is_shown()) {
            let Some(pair) = pairs.iter().find(|pair| pair.key == cell.key) else { continue };
            let rows = || pair.metrics.iter().filter(|row| row.is_primary);
            let order = [Change::Worse, Change::Better, Change::Higher, Change::Lower, Change::Small];
            let rest = [Change::NoneShown, Change::Same, Change::Unknown];
            let found = order.into_iter().chain(rest).find(|change| rows().any(|row| row.change == *change));
            cell.time = found.unwrap_or(Change::NotMeasured);
            if cell.time.is_shown() {
                let shown = || rows().filter(|row| row.change == cell.time);
                let shares = shown().filter_map(|row| row.difference.as_ref()?.relative);
                cell.time_share = shares.map(f64::abs).fold(0.0, f64::max);
                cell.time_text = shown().map(in_numbers).collect::<Vec<_>>().join(", ");
            }
        }
        // Among equals the order of the plan stays.
        self.cells
            .sort_by(|one, other| one.rank().cmp(&other.rank()).then(other.time_share.total_cmp(&one.time_share)));
    }

    /// Cells of which this is true.
    pub(super) fn count(&self, is_it: impl Fn(&HandshakeCell) -> bool) -> usize {
        self.cells.iter().filter(|cell| is_it(cell)).count()
    }

    /// True where B got worse, or where one side alone has no runs to compare. With `strict`, also where more handshakes of B fail and that can
    /// be chance.
    pub(super) fn is_wrong(&self, strict: bool) -> bool {
        let is_wrong =
            |outcome: HandshakeOutcome| outcome.is_worse() || strict && outcome == HandshakeOutcome::PerhapsMore;
        is_wrong(self.outcome) || self.cells.iter().any(|cell| is_wrong(cell.outcome) || cell.is_one_sided)
    }

    /// True where more runs could show that more handshakes of B fail.
    pub(super) fn is_open(&self) -> bool {
        let is_open = |outcome| outcome == HandshakeOutcome::PerhapsMore;
        is_open(self.outcome) || self.cells.iter().any(|cell| is_open(cell.outcome))
    }

    /// The cell of these settings.
    pub(super) fn cell_of(&self, key: &str) -> Option<&HandshakeCell> {
        self.cells.iter().find(|cell| cell.key == key)
    }
}

/// The counts of these settings, new ones where there are none yet.
fn cell<'a, 'b>(
    seen: &'b mut Vec<(String, Counts<'a>)>,
    side: usize,
    keys: [Key; 2],
    settings: &'a Settings,
) -> &'b mut Counts<'a> {
    let key = keys[side](settings);
    let place = seen.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        seen.push((key, Counts::default()));
        seen.len() - 1
    });
    let (_, counts) = &mut seen[place];
    counts.settings[side] = Some(settings);
    counts
}

impl HandshakeCell {
    fn of(key: String, counts: Counts, names: Vec<(String, String)>, alpha: f64) -> Self {
        let Counts { completed, tried, reasons, void, .. } = counts;
        let missing = tried.map(|tried| tried == 0);
        let why = |side: usize| {
            let name = ["A", "B"][side];
            match void[side].keys().next() {
                Some(message) => format!("{name}: {message}"),
                None => format!("{name} has no runs with these settings"),
            }
        };
        let reasons_to_skip: Vec<_> = [0, 1].into_iter().filter(|side| missing[*side]).map(why).collect();
        let label: Vec<_> = names.iter().map(|(key, value)| format!("{}={value}", short(key))).collect();
        Self {
            label: if label.is_empty() { "these settings".to_owned() } else { label.join(", ") },
            settings: names.into_iter().collect(),
            key,
            completed,
            tried,
            interval: [0, 1].map(|side| share_interval(completed[side], tried[side], alpha)),
            p: None,
            p_corrected: None,
            outcome: HandshakeOutcome::NotCompared,
            time: Change::NotMeasured,
            time_text: String::new(),
            time_share: 0.0,
            reasons,
            not_compared: (!reasons_to_skip.is_empty()).then(|| reasons_to_skip.join("; ")),
            is_one_sided: missing[0] != missing[1],
        }
    }

    /// Whether both sides have runs.
    pub(super) fn is_compared(&self) -> bool {
        self.not_compared.is_none()
    }

    /// Handshakes that failed and that were tried, of A and of B.
    pub(super) fn failed(&self) -> [(u64, u64); 2] {
        [0, 1].map(|side| failed(self.completed, self.tried, side))
    }

    /// True where handshakes take longer on B.
    pub(super) fn is_slower(&self) -> bool {
        self.time == Change::Worse
    }

    /// True where there is nothing to report: the same rate or next to it, and no time that differs.
    pub(super) fn is_unchanged(&self) -> bool {
        matches!(self.outcome, HandshakeOutcome::NoneShown | HandshakeOutcome::Neither) && !self.time.is_shown()
    }

    /// True where the cell is worth a line of its own: anything but unchanged or faster.
    pub(super) fn is_news(&self) -> bool {
        !self.is_unchanged() && !self.is_only_faster()
    }

    /// True where handshakes are quicker on B, and as many of them complete.
    pub(super) fn is_only_faster(&self) -> bool {
        self.time == Change::Better && !self.outcome.is_shown() && self.outcome != HandshakeOutcome::PerhapsMore
    }

    fn rank(&self) -> (u8, HandshakeOutcome) {
        let place = match self.outcome {
            outcome if outcome.is_worse() => 0,
            _ if self.is_slower() => 1,
            HandshakeOutcome::PerhapsMore => 2,
            HandshakeOutcome::NotCompared => 3,
            _ if self.is_unchanged() => 5,
            _ => 4,
        };
        (place, self.outcome)
    }
}

impl HandshakeOutcome {
    /// Fewer handshakes of B complete, and that is not chance.
    pub(super) fn is_worse(self) -> bool {
        matches!(self, Self::NeverCompletes | Self::FailsMore)
    }

    /// The rates differ, and that is not chance: what remains on one side is another selection than on the other.
    pub(super) fn is_shown(self) -> bool {
        self.is_worse() || matches!(self, Self::FailsLess | Self::NowCompletes)
    }
}

fn outcome(completed: [u64; 2], tried: [u64; 2], p: Option<f64>, alpha: f64) -> HandshakeOutcome {
    let is_shown = p.is_some_and(|p| p <= alpha);
    let [a, b] = [completed[0] * tried[1], completed[1] * tried[0]];
    match (is_shown, a.cmp(&b)) {
        (_, Ordering::Equal) if completed == [0, 0] => HandshakeOutcome::Neither,
        (true, Ordering::Greater) if completed[1] == 0 => HandshakeOutcome::NeverCompletes,
        (true, Ordering::Greater) => HandshakeOutcome::FailsMore,
        (true, Ordering::Less) if completed[0] == 0 => HandshakeOutcome::NowCompletes,
        (true, Ordering::Less) => HandshakeOutcome::FailsLess,
        (false, Ordering::Greater) => HandshakeOutcome::PerhapsMore,
        _ => HandshakeOutcome::NoneShown,
    }
}

fn failed(completed: [u64; 2], tried: [u64; 2], side: usize) -> (u64, u64) {
    (tried[side] - completed[side], tried[side])
}

fn sum(cells: &[HandshakeCell], count: impl Fn(&HandshakeCell) -> u64) -> u64 {
    cells.iter().filter(|cell| cell.is_compared()).map(count).sum()
}

/// The end of a key, which tells settings apart: `to_client.loss.probability` of a stage, `certificate` of `workload.certificate`.
fn short(key: &str) -> &str {
    key.strip_prefix("path.").filter(|key| key.contains('.')).unwrap_or_else(|| key.rsplit('.').next().unwrap_or(key))
}
