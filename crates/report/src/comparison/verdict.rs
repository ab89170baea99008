//! What a comparison says, in a sentence.

use quiclab_metrics::Theme;

use super::{
    measure::{Change, Row},
    result::{Failures, Pair, Verdict},
    trains::LongestTrain,
    words,
};
use crate::quantity::name_and_unit;

/// What B does where a theme is better, where it is worse, and where some of it is better and some worse.
const WORDS: [(Theme, [&str; 3]); 6] = [
    (Theme::Pacing, ["is smoother", "is burstier", "is smoother in one respect and burstier in another"]),
    (Theme::Loss, ["loses less", "loses more", "loses less of one kind and more of another"]),
    (Theme::Goodput, ["is faster", "is slower", "is faster by one measure and slower by another"]),
    (Theme::Delay, ["has shorter delays", "has longer delays", "has shorter and longer delays"]),
    (
        Theme::Handshake,
        [
            "has a quicker handshake",
            "has a slower handshake",
            "has a handshake quicker in one part and slower in another",
        ],
    ),
    (Theme::Other, ["is better", "is worse", "is better and worse"]),
];
/// The metric that has the length of the longest train.
const LONGEST_TRAIN: &str = "train_max_packets";
/// The metric that has the share of packets in short trains.
const SHORT_TRAINS: &str = "train_share_of_packets_le_5";
/// Words for settings whose runs are not comparable.
const NO_VERDICT: &str = "has no verdict";
/// What B does where the longest train is longer and more packets are in short trains, and the other way round.
const FEWER_AND_LONGER: &str = "sends fewer but longer bursts";
const MORE_AND_SHORTER: &str = "sends more but shorter bursts";
/// Most metrics of a theme that a sentence has; the table has the others.
const MOST_NUMBERS: usize = 2;
/// The half-width of an interval, as a share of A, up to which a metric counts as unchanged.
const UNCHANGED: f64 = 0.05;

/// The part of a verdict about one theme, such as pacing.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    theme: Theme,
    /// What B does.
    pub(super) words: &'static str,
    text: String,
    /// What contradicts it; empty where nothing does.
    although: String,
}

/// The answer of a comparison in a line: the only verdict, or how many settings have which.
pub(super) fn answer(verdicts: &[Verdict]) -> String {
    match verdicts {
        [] => "nothing was compared".to_owned(),
        [only] => only.text.clone(),
        all => {
            let mut counts: Vec<(&str, usize)> = Vec::new();
            let mut count = |words: &'static str| match counts.iter_mut().find(|(known, _)| *known == words) {
                Some((_, count)) => *count += 1,
                None => counts.push((words, 1)),
            };
            for verdict in all {
                verdict.clauses.iter().for_each(|clause| count(clause.words));
                verdict.without_difference.into_iter().for_each(&mut count);
            }
            let counts: Vec<_> = counts.iter().map(|(words, count)| format!("{words} in {count}")).collect();
            format!("of {} settings, B {}", all.len(), counts.join(", "))
        }
    }
}

impl Verdict {
    pub(super) fn of(pair: &Pair, failures: &Failures) -> Self {
        if failures.differ {
            let [a, b] = failures.failed;
            let who = if a * failures.tried[1] > b * failures.tried[0] { "A" } else { "B" };
            let text = format!(
                "no verdict: {who} fails more often than the other side, so the remaining runs are not comparable"
            );
            return Self::without_clauses(&pair.label, text, NO_VERDICT);
        }
        let rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).collect();
        let clauses: Vec<_> = WORDS.iter().filter_map(|(theme, words)| clause(*theme, *words, &rows)).collect();
        let (without_difference, mut rest) = if clauses.is_empty() {
            let (words, text) = nothing_shown(&rows);
            (Some(words), vec![text])
        } else {
            (None, unchanged(&rows))
        };
        rest.extend(not_measured(&rows));
        if failures.failed != [0, 0] {
            rest.push("only for the runs that did not fail".to_owned());
        }
        let (label, text) = (pair.label.clone(), String::new());
        let mut verdict = Self { label, text, why: None, clauses, rest, without_difference };
        verdict.write();
        verdict
    }

    /// A verdict that consists of one sentence; `words` are what B does or has by it, for the count over several settings.
    pub(super) fn without_clauses(label: &str, text: String, words: &'static str) -> Self {
        let (clauses, rest) = (Vec::new(), Vec::new());
        Self { label: label.to_owned(), text, why: None, clauses, rest, without_difference: Some(words) }
    }

    /// Adds why the longest train of the burstier side is so long: a few words to the sentence, and the evidence.
    pub(super) fn explain(&mut self, train: &LongestTrain) {
        if let Some(clause) = self.clauses.iter_mut().find(|clause| clause.theme == Theme::Pacing) {
            let LongestTrain { has, packets, reason, .. } = train;
            let subject = match *has {
                "B" if clause.text.starts_with("longest train ") => String::new(),
                "B" => format!("its longest train of {packets} "),
                has => format!("{has}'s longest train of {packets} "),
            };
            clause.text.push_str(&format!(", {subject}because {reason}"));
            self.write();
        }
        self.why = Some(train.evidence.clone());
    }

    fn write(&mut self) {
        let clauses: Vec<_> =
            self.clauses.iter().map(|clause| format!("{}: {}{}", clause.words, clause.text, clause.although)).collect();
        let subject = if clauses.is_empty() { "" } else { "B " };
        let parts: Vec<_> = clauses.iter().chain(&self.rest).map(String::as_str).collect();
        self.text = format!("{subject}{}", parts.join("; "));
    }
}

fn is_of_trains(row: &Row) -> bool {
    [LONGEST_TRAIN, SHORT_TRAINS].contains(&row.metric)
}

fn longest_train<'a>(rows: &[&'a Row]) -> Option<&'a Row> {
    rows.iter().copied().find(|row| row.metric == LONGEST_TRAIN)
}

/// The rows that decide, of rows of one theme that show a difference: those of trains where there are any, otherwise all. Shares of gaps, and
/// peaks in relation to the mean rate, also change with the rate.
fn deciding<'a>(shown: &[&'a Row]) -> Vec<&'a Row> {
    let of_trains: Vec<_> = shown.iter().copied().filter(|row| is_of_trains(row)).collect();
    if of_trains.is_empty() { shown.to_vec() } else { of_trains }
}

impl Pair {
    /// Which side has the longer bursts by the verdict: 1 for B, 0 for A; `None` where no metric of pacing shows a difference. The longest train
    /// decides, then the share of packets in short trains, then any other metric, of which B has precedence, as it is B that is asked about.
    pub fn burstier(&self) -> Option<usize> {
        let pacing = self.metrics.iter().filter(|row| row.is_primary && row.theme == Theme::Pacing);
        let shown: Vec<_> = pacing.filter(|row| row.change.is_shown()).collect();
        let deciding = longest_train(&shown).map_or_else(|| deciding(&shown), |row| vec![row]);
        let is_shown = |change: Change| deciding.iter().any(|row| row.change == change);
        if is_shown(Change::Worse) { Some(1) } else { is_shown(Change::Better).then_some(0) }
    }
}

/// The part of a verdict about a theme; `None` where its rows show no difference.
fn clause(theme: Theme, [better, worse, both]: [&'static str; 3], rows: &[&Row]) -> Option<Clause> {
    let mut shown: Vec<_> = rows.iter().copied().filter(|row| row.theme == theme && row.change.is_shown()).collect();
    // The largest relative change comes first.
    let size = |row: &Row| row.difference.as_ref().and_then(|one| one.relative).map_or(f64::INFINITY, f64::abs);
    shown.sort_by(|left, right| size(right).total_cmp(&size(left)));
    let deciding = deciding(&shown);
    let is_by_trains = deciding.iter().any(|row| is_of_trains(row));
    let has = |change: Change| deciding.iter().any(|row| row.change == change);
    let words = match (has(Change::Better), has(Change::Worse)) {
        (true, false) => better,
        (false, true) => worse,
        (true, true) if is_by_trains => {
            let is_longer = longest_train(&deciding).is_some_and(|row| row.change == Change::Worse);
            if is_longer { FEWER_AND_LONGER } else { MORE_AND_SHORTER }
        }
        (true, true) => both,
        (false, false) if deciding.is_empty() => return None,
        (false, false) => "differs",
    };
    let numbers: Vec<_> = deciding.iter().take(MOST_NUMBERS).map(|row| in_numbers(row)).collect();
    let text = numbers.join(", ");
    // Trains decide, and what contradicts them is not kept quiet.
    let contradicts = |row: &&&Row| is_by_trains && !has(row.change);
    let although = shown.iter().find(contradicts).map(|row| format!(", although {}", in_numbers(row)));
    Some(Clause { theme, words, text, although: although.unwrap_or_default() })
}

/// How little goodput changed where something else did: what a change costs is asked of every change.
fn unchanged(rows: &[&Row]) -> Vec<String> {
    let goodput = rows.iter().filter(|row| row.theme == Theme::Goodput && !row.change.is_shown());
    goodput
        .filter_map(|row| {
            let name = name_and_unit(row.heading).0;
            match row.most_relative()? {
                most if most <= UNCHANGED => Some(format!("{name} unchanged within {}", words::within(most))),
                most => Some(format!("{name} not known to be unchanged (within {})", words::within(most))),
            }
        })
        .collect()
}

/// The metrics that have no value on one side, or in some runs.
fn not_measured(rows: &[&Row]) -> Vec<String> {
    let is_measured = |row: &Row| row.change != Change::NotMeasured;
    // Where nothing was measured the sentence says so by itself.
    if !rows.iter().any(|row| is_measured(row)) {
        return Vec::new();
    }
    let named = |is_it: &dyn Fn(&Row) -> bool| {
        let names = rows.iter().filter(|row| is_it(row)).map(|row| name_and_unit(row.heading).0);
        names.collect::<Vec<_>>().join(", ")
    };
    let kinds = [
        ("not measured", named(&|row| !is_measured(row))),
        ("not measured in some runs", named(&|row| is_measured(row) && row.without_value != [0, 0])),
    ];
    kinds.iter().filter(|(_, names)| !names.is_empty()).map(|(words, names)| format!("{words}: {names}")).collect()
}

/// `longest train 10.0 to 16.0 packets (+60 %, p = 0.012)`.
pub(super) fn in_numbers(row: &Row) -> String {
    let (name, unit) = name_and_unit(row.heading);
    let [a, b] = row.compared_means();
    let space = if unit.is_empty() { "" } else { " " };
    let text = format!("{name} {a} to {b}{space}{unit}");
    let difference = row.difference.as_ref();
    let relative = difference.and_then(|difference| difference.relative).map(words::change);
    let p = difference.and_then(|difference| difference.p_corrected).map(words::p);
    let beside: Vec<_> = [relative, p].into_iter().flatten().collect();
    if beside.is_empty() { text } else { format!("{text} ({})", beside.join(", ")) }
}

/// What a verdict without a difference says: what B has, for the count over several settings, and the sentence with what would have been
/// seen, of the metric that shows least and of the one that shows most.
fn nothing_shown(rows: &[&Row]) -> (&'static str, String) {
    let measured: Vec<_> = rows.iter().filter(|row| row.change != Change::NotMeasured).collect();
    if measured.is_empty() {
        return ("was not measured", "no metric was measured on both sides".to_owned());
    }
    if measured.iter().all(|row| row.change == Change::Same) {
        let text = "no difference: every measured metric of the verdict is the same in every run";
        return ("shows no difference", text.to_owned());
    }
    if measured.iter().any(|row| row.change == Change::Unknown) {
        let text = "too few runs to distinguish a difference from chance, expected at least two on each side";
        return ("has too few runs", text.to_owned());
    }
    let mut seen: Vec<_> = measured
        .iter()
        .filter(|row| row.change == Change::NoneShown)
        .filter_map(|row| Some((row.difference.as_ref()?.smallest_detectable_relative?, *row)))
        .collect();
    seen.sort_by(|left, right| left.0.total_cmp(&right.0));
    let change = match (seen.first(), seen.last()) {
        (Some((least, first)), Some((most, last))) if first.metric != last.metric => format!(
            ": a change of more than {} ({}) to {} ({}) would have been seen",
            words::magnitude(*least),
            name_and_unit(first.heading).0,
            words::magnitude(*most),
            name_and_unit(last.heading).0
        ),
        (Some((least, _)), _) => format!(": a change of more than {} would have been seen", words::magnitude(*least)),
        _ if measured.iter().any(|row| row.change == Change::NoneShown) => {
            "; A is 0, so the smallest visible change has no percentage".to_owned()
        }
        _ => String::new(),
    };
    let small: Vec<_> = measured.iter().filter(|row| row.change == Change::Small).map(|row| in_numbers(row)).collect();
    if small.is_empty() {
        return ("shows no difference", format!("no difference shown{change}"));
    }
    let text = format!("no difference that matters: {}", small.join(", "));
    (
        "shows no difference that matters",
        if change.is_empty() { text } else { format!("{text}; elsewhere none shown{change}") },
    )
}
