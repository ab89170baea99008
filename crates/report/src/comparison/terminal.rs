//! A comparison in the terminal: the answer first.

use std::fmt;

use super::{
    condition::ConditionOutcome,
    handshakes::{HandshakeCell, Handshakes},
    measure::{Change, Row},
    result::{Comparison, Pair},
    words,
};
use crate::terminal::{
    paragraph::paragraph,
    table::{DEFAULT_WIDTH, table},
};

/// Columns of the text where standard output is no terminal.
const USUAL_WIDTH: u16 = 80;
/// Most metrics of a table that is not asked to have all.
const MOST_ROWS: usize = 8;
/// Most settings of handshakes in a list that is not asked to have all.
const MOST_CELLS: usize = 12;

/// What a line says of B, for whoever gives it a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something better, or a condition that passes.
    Good,
    /// Something worse, or a condition that fails.
    Bad,
    /// Neither.
    Plain,
}

/// A comparison as lines, each with its tone.
#[derive(Clone, Debug)]
pub struct Lines(pub Vec<(Tone, String)>);

impl fmt::Display for Lines {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|(_, line)| writeln!(formatter, "{line}"))
    }
}

impl Lines {
    fn add(&mut self, tone: Tone, text: &str) {
        self.0.extend(text.lines().map(|line| (tone, line.to_owned())));
    }

    fn empty(&mut self) {
        self.0.push((Tone::Plain, String::new()));
    }
}

/// The answer, then what decides it, then a table for each pair: at most eight rows, or with `all` every metric. Lines are at most `width`
/// columns wide where the words allow it; with `all` a table takes what it needs.
pub fn render_comparison_terminal(comparison: &Comparison, width: Option<u16>, all: bool) -> Lines {
    let columns = width.unwrap_or(USUAL_WIDTH);
    let mut lines = Lines(Vec::new());
    let wrapped = |text: &str, indent: usize| paragraph(text, columns, indent);
    let is_single = comparison.verdict.len() == 1 && comparison.handshakes.is_none();
    lines.add(Tone::Plain, &wrapped(&comparison.answer, 0));
    for verdict in &comparison.verdict {
        if !is_single {
            lines.add(Tone::Plain, &wrapped(&format!("{}: {}", verdict.label, verdict.text), 2));
        }
        if let Some(why) = &verdict.why {
            lines.add(Tone::Plain, &wrapped(&format!("  why: {why}"), 7));
        }
    }
    lines.empty();
    for (letter, name) in ["A", "B"].into_iter().zip(&comparison.names) {
        lines.add(Tone::Plain, &format!("{letter}  {name}"));
    }
    for note in &comparison.notes {
        lines.add(Tone::Plain, &wrapped(note, 2));
    }
    if let Some(failures) = comparison.failures.in_words() {
        lines.add(Tone::Bad, &wrapped(&format!("FAILED RUNS: {failures}"), 2));
        for (letter, messages) in ["A", "B"].into_iter().zip(&comparison.failures.messages) {
            for (record, message) in messages {
                lines.add(Tone::Plain, &format!("  {letter}  {record}: {message}"));
            }
        }
    }
    for judgement in &comparison.conditions {
        let tone = match judgement.outcome {
            ConditionOutcome::Passes => Tone::Good,
            ConditionOutcome::Fails | ConditionOutcome::NotMeasured => Tone::Bad,
            ConditionOutcome::Undecided => Tone::Plain,
        };
        let word = judgement.outcome.word();
        lines.add(tone, &format!("{word:<12}  fail if {} ({})", judgement.condition, judgement.label));
        lines.add(Tone::Plain, &wrapped(&format!("{:14}{}", "", judgement.numbers), 14));
    }
    if let Some(handshakes) = &comparison.handshakes {
        lines.empty();
        handshake_cells(&mut lines, handshakes, comparison.alpha, columns, all);
    }
    let is_cell = |pair: &Pair| comparison.handshakes.as_ref().is_some_and(|all| all.cell_of(&pair.key).is_some());
    for pair in comparison.pairs.iter().filter(|pair| all || !is_cell(pair)) {
        lines.empty();
        if all {
            lines.add(Tone::Plain, &everything(pair, comparison.alpha, width));
        } else {
            short_table(&mut lines, pair, columns);
        }
    }
    for cpu in comparison.cpu.iter().filter(|cpu| cpu.was_asked) {
        lines.empty();
        cpu.in_words(comparison.alpha, columns, all).iter().for_each(|line| lines.add(Tone::Plain, line));
    }
    for train in &comparison.trains {
        lines.empty();
        for (place, paragraph) in train.in_words().iter().enumerate() {
            lines.add(Tone::Plain, &wrapped(paragraph, if place == 0 { 2 } else { 5 }));
        }
    }
    for (letter, alone) in ["A", "B"].into_iter().zip(&comparison.only_in) {
        for label in alone {
            lines.add(Tone::Plain, &format!("\nonly in {letter}: {label}"));
        }
    }
    lines
}

/// The handshakes of each cell: those that got worse first, and unchanged ones only with `all`.
fn handshake_cells(lines: &mut Lines, handshakes: &Handshakes, alpha: f64, columns: u16, all: bool) {
    let heading = format!("  Handshakes that complete, and the {} interval of their rate:", words::level(alpha));
    lines.add(Tone::Plain, &paragraph(&heading, columns, 2));
    let shown: Vec<_> = handshakes.cells.iter().filter(|cell| all || cell.is_news()).collect();
    let most = if all { shown.len() } else { MOST_CELLS };
    for cell in shown.iter().take(most) {
        let tone = match cell.outcome {
            outcome if outcome.is_worse() => Tone::Bad,
            _ if cell.is_slower() => Tone::Bad,
            outcome if outcome.is_shown() => Tone::Good,
            _ => Tone::Plain,
        };
        lines.add(tone, &paragraph(&format!("  {}: {}", cell.label, cell.outcome_text()), columns, 4));
        lines.add(Tone::Plain, &paragraph(&format!("    A {}, B {}", cell.rate(0), cell.rate(1)), columns, 6));
        if let Some(reason) = cell.reason() {
            lines.add(Tone::Plain, &paragraph(&format!("    B: {reason}"), columns, 6));
        }
    }
    let unchanged = handshakes.count(HandshakeCell::is_unchanged);
    let faster = handshakes.count(HandshakeCell::is_only_faster);
    let mut rest = format!("  of {} settings {unchanged} are unchanged, {faster} faster", handshakes.cells.len());
    if shown.len() > most {
        rest.push_str(&format!(", {} others are not in this list", shown.len() - most));
    }
    if !all {
        rest.push_str(": --all shows every one");
    }
    lines.add(Tone::Plain, &paragraph(&rest, columns, 2));
    if let Some(text) = handshakes.sensitivity(alpha) {
        lines.add(Tone::Plain, &paragraph(&format!("  {text}"), columns, 2));
    }
}

/// The metrics of the verdict: means, the change and what became of it.
fn short_table(lines: &mut Lines, pair: &Pair, columns: u16) {
    let [a, b] = pair.runs;
    let heading = format!("{}: {a} runs of A, {b} of B, {}", pair.label, pair.how_compared());
    lines.add(Tone::Plain, &paragraph(&heading, columns, 2));
    let primary = || pair.metrics.iter().filter(|row| row.is_primary);
    // What differs has precedence where there are too many; the order stays that of all tables.
    let spare = MOST_ROWS.saturating_sub(primary().filter(|row| row.change.is_shown()).count());
    let mut unshown = 0;
    let is_in = |row: &&Row| {
        unshown += usize::from(!row.change.is_shown());
        row.change.is_shown() || unshown <= spare
    };
    let rows: Vec<_> = primary().filter(is_in).take(MOST_ROWS).collect();
    let cells: Vec<_> = rows.iter().map(|row| short_cells(row)).collect();
    let headings = ["", "A", "B", "change", ""].map(str::to_owned);
    let width = |column: usize| cells.iter().chain([&headings]).map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2, 3, 4].map(|column| width(column).unwrap_or(0));
    let line = |cells: &[String; 5]| {
        let [name, a, b, change, outcome] = cells;
        let [w0, w1, w2, w3, _] = widths;
        format!("  {name:<w0$}  {a:>w1$}  {b:>w2$}  {change:>w3$}  {outcome}").trim_end().to_owned()
    };
    lines.add(Tone::Plain, &line(&headings));
    for (row, cells) in rows.iter().zip(&cells) {
        let tone = match row.change {
            Change::Better => Tone::Good,
            Change::Worse => Tone::Bad,
            _ => Tone::Plain,
        };
        lines.add(tone, &line(cells));
    }
    for row in rows.iter().filter(|row| row.without_value != [0, 0]) {
        let missing = row.missing().unwrap_or_default();
        lines.add(Tone::Plain, &paragraph(&format!("  {}: {missing}", row.heading), columns, 4));
    }
    let hidden = primary().count() - rows.len();
    let others: Vec<_> = pair.metrics.iter().filter(|row| !row.is_primary).collect();
    let differ = others.iter().filter(|row| row.change.is_shown()).count();
    let absent = others.iter().filter(|row| row.change == Change::NotMeasured).count();
    let mut text = format!("  of {} other metrics {differ} differ, {absent} were not measured", others.len());
    if hidden > 0 {
        text.push_str(&format!(", and {hidden} metrics of the verdict are not in this table"));
    }
    lines.add(Tone::Plain, &paragraph(&format!("{text}: --all shows every one"), columns, 2));
}

fn short_cells(row: &Row) -> [String; 5] {
    let [a, b] = row.compared_means();
    let change = match row.change {
        Change::Same => "0 %".to_owned(),
        Change::NoneShown => {
            row.most_relative().map_or_else(String::new, |most| format!("within {}", words::within(most)))
        }
        Change::NotMeasured => String::new(),
        _ => row.relative_cell(),
    };
    let outcome = match row.change {
        Change::NoneShown => "none shown",
        Change::Same => "the same",
        Change::Small => "too small",
        Change::Unknown => "too few runs",
        change => change.word(),
    };
    [row.heading.to_owned(), a, b, change, outcome.to_owned()]
}

/// Every metric of a pair, those of the verdict with interval and probability.
fn everything(pair: &Pair, alpha: f64, width: Option<u16>) -> String {
    let [a, b] = pair.runs;
    let mut text = format!("{}: {a} runs of A, {b} of B, {}\n", pair.label, pair.how_compared());
    let interval = format!("B \u{2212} A, {} interval", words::level(alpha));
    let headings = ["", "A", "B", &interval, "of A", "p, corrected", "outcome"];
    let mut rows_of = |is_in: &dyn Fn(&Row) -> bool| {
        let rows: Vec<_> = pair.metrics.iter().filter(|row| is_in(row)).map(cells).collect();
        if !rows.is_empty() {
            text.push_str(&format!("{}\n", table(headings.into_iter(), &rows, width.unwrap_or(DEFAULT_WIDTH))));
        }
    };
    rows_of(&|row| row.is_primary);
    rows_of(&|row| !row.is_primary && row.change != Change::NotMeasured);
    for (words, is_it) in [
        ("not measured on either side", (&|row: &Row| row.a.is_none() && row.b.is_none()) as &dyn Fn(&Row) -> bool),
        ("not measured in A", &|row| row.a.is_none() && row.b.is_some()),
        ("not measured in B", &|row| row.a.is_some() && row.b.is_none()),
    ] {
        let names: Vec<_> =
            pair.metrics.iter().filter(|row| !row.is_primary && is_it(row)).map(|row| row.metric).collect();
        if !names.is_empty() {
            text.push_str(&format!("{words}: {}\n", names.join(", ")));
        }
    }
    let distance =
        |distance: Option<f64>| distance.map_or_else(|| "not known".to_owned(), |value| format!("{value:.3}"));
    text.push_str(&format!(
        "distance of the gap distributions {}, of the train length distributions {} (0: identical, 1: nothing in \
         common)\n",
        distance(pair.gap_distance),
        distance(pair.train_distance)
    ));
    text
}

fn cells(row: &Row) -> Vec<String> {
    vec![
        row.heading.to_owned(),
        row.cell(&row.a),
        row.cell(&row.b),
        row.difference_cell(),
        row.relative_cell(),
        row.p_cell(),
        row.outcome_cell(),
    ]
}
