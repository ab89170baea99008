//! Comparing two sets of results.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_experiment::run::{Settings, Sim};
use quiclab_metrics::{Distributions, distribution_distance, failures_by_chance, find_metric, holm};

use super::{
    condition::{Condition, Judgement},
    handshake_words::answer_of_all,
    handshakes::{self, Handshakes, belongs_to_a_cell},
    measure::{Row, Values},
    result::{Comparison, Failures, Pair, Verdict},
};
use crate::{
    columns::{COLUMNS, Column},
    figures::train_mix::mix_if_any,
    findings::{Repeated as _, notes_on_losses},
    groups::{self, Group},
    input::ReportInput,
    path_summary::PathSummary,
};

/// Below this chance of being as uneven, failures of the two sides differ; not shared among looks or conditions, since missing a difference is
/// the worse error here.
const FAILURE_ALPHA: f64 = 0.05;
/// What is said of two sides that are the same bytes.
const SAME: &str = "A and B are the same";
/// Version of the layout of the JSON.
const SCHEMA: u32 = 6;

/// What makes runs of one side comparable with runs of the other: the same key.
pub type Key<'a> = &'a dyn Fn(&Settings) -> String;

/// What is asked about two sets of results.
#[derive(Clone, Debug)]
pub struct Question {
    /// What A and B are.
    pub names: [String; 2],
    /// What must not be true of B.
    pub conditions: Vec<Condition>,
    /// Metrics that the verdict is about; empty for the usual ones.
    pub metrics: Vec<String>,
    /// The chance, 0 to 1, that the verdict may have of showing any difference where there is none; the conditions have their own.
    pub alpha: f64,
    /// Pairs, by their key, whose conditions are not judged, and why.
    pub not_judged: BTreeMap<String, String>,
    /// The command that asks it again.
    pub command: String,
}

impl Comparison {
    /// Compares every group of runs of `one` with every group of `other` that has the same key. `None` where there is none.
    pub fn of(one: &ReportInput, other: &ReportInput, keys: [Key; 2], question: &Question) -> Option<Self> {
        let groups = [groups::all(one), groups::all(other)];
        let paired = pairs_of(&groups, keys);
        let mut handshakes = Handshakes::of([one, other], keys, question.alpha);
        if paired.is_empty() && handshakes.is_none() {
            return None;
        }
        let alpha = question.alpha;
        let judged_alpha = alpha / (question.conditions.len() * paired.len()).max(1) as f64;
        let failures = Failures::of([one, other]);
        let mut pairs = Vec::new();
        let mut conditions = Vec::new();
        for [left, right] in &paired {
            let pair = Pair::of([left, right], keys[0](left.settings), question);
            for condition in &question.conditions {
                if let Some(why) = question.not_judged.get(&pair.key) {
                    conditions.push(condition.not_measured(&pair.label, why));
                    continue;
                }
                let values = Values::of([left, right], &condition.metric, pair.is_paired);
                let judgement = failures.applied_to(condition.judge(&pair.label, &values, judged_alpha));
                let cell = handshakes.as_ref().and_then(|handshakes| handshakes.cell_of(&pair.key));
                conditions.push(match cell.filter(|cell| cell.outcome.is_shown()) {
                    Some(cell) => judgement.withdrawn(cell.why_not_judged()),
                    None => judgement,
                });
            }
            pairs.push(pair);
        }
        // Only where datagrams are lost for what they hold: a queue drops others in every run.
        let has_rules =
            |group: &Group| group.runs.iter().any(|run| run.path.as_ref().is_some_and(PathSummary::has_rules));
        let of_rules = paired.iter().filter(|pair| pair.iter().any(|group| has_rules(group)));
        // Of many cells, each with losses of its own, such notes would hide the answer.
        let of_rules = of_rules.filter(|pair| paired.len() == 1 || !handshakes::is_counted(pair[0].settings));
        let notes = clocks(&paired)
            .into_iter()
            .chain(of_rules.filter_map(|[left, right]| notes_on_losses(&left.label, *left, *right, ["A", "B"])))
            .collect();
        for is_primary in [true, false] {
            correct(&mut pairs, is_primary, alpha);
        }
        if let Some(handshakes) = &mut handshakes {
            handshakes.add_times(&pairs);
            conditions.extend(handshakes.conditions_without_runs(&question.conditions, &pairs));
        }
        let is_cell = |key: &str| handshakes.as_ref().is_some_and(|handshakes| handshakes.cell_of(key).is_some());
        let of_others = pairs.iter().filter(|pair| !is_cell(&pair.key));
        let verdict: Vec<_> = of_others.map(|pair| Verdict::of(pair, &failures)).collect();
        let lonely = |side: usize| -> Vec<String> {
            let is_paired = |group: &&Group| paired.iter().any(|pair| std::ptr::eq(pair[side], *group));
            // A cell says of itself that only one side has runs.
            let is_alone = |group: &&Group| !is_paired(group) && !is_cell(&keys[side](group.settings));
            groups[side].iter().filter(is_alone).map(|group| group.label.clone()).collect()
        };
        let only_in = [lonely(0), lonely(1)];
        // What one side no longer runs must not pass unnoticed.
        for (labels, other) in only_in.iter().zip(["B", "A"]) {
            let why = format!("found no runs with these settings in {other}");
            let of_label = |label| question.conditions.iter().map(move |condition| (condition, label));
            let all = labels.iter().flat_map(of_label);
            conditions.extend(all.map(|(condition, label)| condition.not_measured(label, &why)));
        }
        Some(Self {
            schema: SCHEMA,
            names: question.names.clone(),
            made_by: [made_by(one), made_by(other)],
            made_with: [made_with(one), made_with(other)],
            command: question.command.clone(),
            alpha,
            answer: answer_of_all(handshakes.as_ref(), &verdict),
            notes,
            verdict,
            conditions,
            failures,
            handshakes,
            only_in,
            pairs,
            trains: Vec::new(),
            cpu: Vec::new(),
            is_same_bytes: false,
        })
    }

    /// What came of two sides that are the same bytes, without a run: no run of one could differ from that of the other.
    pub fn of_the_same_bytes(question: &Question, label: &str) -> Self {
        Self {
            schema: SCHEMA,
            names: question.names.clone(),
            made_by: Default::default(),
            made_with: Default::default(),
            command: question.command.clone(),
            alpha: question.alpha,
            notes: vec![
                "A and B consist of the same bytes and have the same settings: every run would be the same, so \
                 nothing was run"
                    .to_owned(),
            ],
            answer: SAME.to_owned(),
            verdict: vec![Verdict::without_clauses(label, SAME.to_owned(), "is the same")],
            conditions: question.conditions.iter().map(|condition| condition.outcome_of_the_same(label)).collect(),
            failures: Failures { p: 1.0, ..Failures::default() },
            handshakes: None,
            pairs: Vec::new(),
            only_in: Default::default(),
            trains: Vec::new(),
            cpu: Vec::new(),
            is_same_bytes: true,
        }
    }
}

/// What the clocks of both sides mean for a comparison; `None` where both are virtual.
fn clocks(paired: &[[&Group; 2]]) -> Option<String> {
    let is_sample = |side: usize| paired.iter().any(|pair| pair[side].is_sample());
    let note = match [is_sample(0), is_sample(1)] {
        [false, false] => return None,
        [true, true] => {
            "A and B are samples of real time: their spread is that of the machine, runs are not paired by seed, and a single run \
             decides nothing"
        }
        [true, false] => {
            "A is a sample of real time, B is of virtual time: repetitions of A are samples, of B seeds, so runs are not paired; \
             metrics can differ because the machines do"
        }
        [false, true] => {
            "A is of virtual time, B is a sample of real time: repetitions of B are samples, of A seeds, so runs are not paired; \
             metrics can differ because the machines do"
        }
    };
    Some(note.to_owned())
}

/// The usual key: all settings except those that only models of hosts have.
pub fn settings_key(settings: &Settings) -> String {
    let mut settings = settings.clone();
    settings.sim = Sim::default();
    quiclab_experiment::settings_text(&settings)
}

/// Groups with the same key.
pub(super) fn pairs_of<'a>(groups: &'a [Vec<Group<'a>>; 2], keys: [Key; 2]) -> Vec<[&'a Group<'a>; 2]> {
    let mut pairs = Vec::new();
    for left in &groups[0] {
        let key = keys[0](left.settings);
        pairs.extend(groups[1].iter().filter(|right| keys[1](right.settings) == key).map(|right| [left, right]));
    }
    pairs
}

impl Pair {
    fn of(groups: [&Group; 2], key: String, question: &Question) -> Self {
        let seeds = groups.map(|group| group.runs.iter().map(|run| run.run.seed).collect::<BTreeSet<_>>());
        let common_seeds = seeds[0].intersection(&seeds[1]).count();
        // In real time a seed repeats nothing.
        let is_paired = common_seeds > 1 && !groups.iter().any(|group| group.is_sample());
        let is_handshake = handshakes::is_counted(groups[0].settings);
        let is_primary = |metric: &str| match &question.metrics[..] {
            [] if is_handshake => handshakes::METRICS.contains(&metric),
            [] => find_metric(metric).is_some_and(|facts| facts.is_primary),
            named => named.iter().any(|name| name == metric),
        };
        let row = |column: &'static Column| {
            let values = Values::of(groups, column.metric, is_paired);
            Row::of(column, &values, is_primary(column.metric), question.alpha)
        };
        // The longer one also says what the hosts are like.
        let [left, right] = groups.map(|group| &group.label);
        let packets = |(length, count): &(u64, u64)| (*length, length * count);
        Self {
            label: if left.len() > right.len() { left.clone() } else { right.clone() },
            key,
            network: network(groups[0].settings),
            runs: groups.map(|group| group.runs.len()),
            common_seeds,
            is_paired,
            gap_distance: distance(groups, |distributions| distributions.gaps_ns.clone()),
            train_distance: distance(groups, |distributions| distributions.trains.iter().map(packets).collect()),
            metrics: COLUMNS.iter().map(row).collect(),
            mixes: groups.map(mix_if_any),
        }
    }
}

/// Distance of two distributions, over all runs of each side.
fn distance(groups: [&Group; 2], part: impl Fn(&Distributions) -> Vec<(u64, u64)>) -> Option<f64> {
    let [one, other] =
        groups.map(|group| group.runs.iter().flat_map(|run| part(&run.metrics.distributions)).collect::<Vec<_>>());
    distribution_distance(one, other)
}

/// Corrects the p-values of the metrics that the verdict is about, or of all others, together over all pairs, and decides what became of each.
fn correct(pairs: &mut [Pair], is_primary: bool, alpha: f64) {
    let rows = pairs.iter_mut().flat_map(|pair| &mut pair.metrics);
    let mut rows: Vec<_> = rows.filter(|row| row.is_primary == is_primary && row.p().is_some()).collect();
    let values: Vec<_> = rows.iter().filter_map(|row| row.p()).collect();
    let family = values.len();
    for (row, p) in rows.iter_mut().zip(holm(&values)) {
        row.decide(p, family, alpha);
    }
}

impl Failures {
    fn of(sides: [&ReportInput; 2]) -> Self {
        let counted = sides.map(|side| side.failures.iter().filter(|row| !belongs_to_a_cell(row)).collect::<Vec<_>>());
        let failed = counted.each_ref().map(|failures| failures.len() as u64);
        let tried = sides.map(|side| (side.failures.len() + side.runs.len()) as u64);
        let p = failures_by_chance((failed[0], tried[0]), (failed[1], tried[1]));
        let messages = counted.map(|rows| rows.iter().map(|row| (row.folder.clone(), row.message.clone())).collect());
        Self { failed, tried, p, differ: p <= FAILURE_ALPHA, messages }
    }

    /// Nothing is judged by a selection of runs.
    fn applied_to(&self, judgement: Judgement) -> Judgement {
        if !self.differ {
            return judgement;
        }
        judgement.withdrawn("more runs of one side failed, so the remaining ones are not comparable".to_owned())
    }
}

/// What was transferred, and over which path.
fn network(settings: &Settings) -> String {
    format!("{} over {}", settings.workload.described(), settings.path_described())
}

/// The versions behind the runs, each once: those of both endpoints, then of what surrounds them.
fn made_with(input: &ReportInput) -> Vec<String> {
    const KEYS: [(&str, &str); 7] = [
        ("server.version", "server"),
        ("client.version", "client"),
        ("server.files", "files of the server"),
        ("testbed", "testbed"),
        ("kernel", "kernel"),
        ("qemu", ""),
        ("quiclab", "quiclab"),
    ];
    /// Digits of a hash that tell two builds apart.
    const HASH_DIGITS: usize = 12;
    let mut texts = Vec::new();
    for (key, words) in KEYS {
        for version in input.runs.iter().filter_map(|row| row.versions.get(key)) {
            let shown = if key.ends_with(".files") { version.get(..HASH_DIGITS).unwrap_or(version) } else { version };
            let text = format!("{words} {shown}").trim_start().to_owned();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

fn made_by(input: &ReportInput) -> String {
    format!("{}: {}", input.experiment, input.command)
}
