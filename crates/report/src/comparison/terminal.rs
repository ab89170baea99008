//! A comparison in the terminal.

use std::fmt::Write as _;

use super::{
    measure::{Change, Row},
    result::{Comparison, Pair},
    words,
};
use crate::terminal::table::{DEFAULT_WIDTH, table};

/// Verdict and conditions first, then a table for each pair; lines are at most `width` columns wide where the words allow it.
pub fn render_comparison_terminal(comparison: &Comparison, width: Option<u16>) -> String {
    let mut text = String::new();
    for (letter, name) in ["A", "B"].into_iter().zip(&comparison.names) {
        let _ = writeln!(text, "{letter}  {name}");
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "{note}");
    }
    text.push('\n');
    for verdict in &comparison.verdict {
        let _ = writeln!(text, "{}: {}", verdict.label, verdict.text);
    }
    if let Some(failures) = comparison.failures.in_words() {
        let _ = writeln!(text, "FAILED RUNS: {failures}");
        for (letter, messages) in ["A", "B"].into_iter().zip(&comparison.failures.messages) {
            for (record, message) in messages {
                let _ = writeln!(text, "  {letter}  {record}: {message}");
            }
        }
    }
    for judgement in &comparison.conditions {
        let _ = writeln!(
            text,
            "{:<12}  fail if {} ({})\n{:14}{}",
            judgement.outcome.word(),
            judgement.condition,
            judgement.label,
            "",
            judgement.numbers
        );
    }
    for pair in &comparison.pairs {
        text.push_str(&pair_in_words(pair, comparison.alpha, width));
    }
    if !comparison.trains.is_empty() {
        text.push('\n');
    }
    for train in &comparison.trains {
        text.push_str(&train.in_words());
    }
    for (letter, alone) in ["A", "B"].into_iter().zip(&comparison.only_in) {
        for label in alone {
            let _ = writeln!(text, "\nonly in {letter}: {label}");
        }
    }
    text
}

fn pair_in_words(pair: &Pair, alpha: f64, width: Option<u16>) -> String {
    let [a, b] = pair.runs;
    let mut text = format!("\n{}: {a} runs of A, {b} of B, {}\n", pair.label, pair.how_compared());
    let rows: Vec<_> = pair.metrics.iter().filter(|row| row.is_primary).map(cells).collect();
    let interval = format!("B \u{2212} A, {} interval", words::level(alpha));
    let headings = ["", "A", "B", &interval, "of A", "p, corrected", "outcome"];
    let _ = writeln!(text, "{}", table(headings.into_iter(), &rows, width.unwrap_or(DEFAULT_WIDTH)));
    let others: Vec<_> = pair.metrics.iter().filter(|row| !row.is_primary).collect();
    let named = |change: &dyn Fn(&Row) -> bool| {
        let names = others.iter().filter(|row| change(row)).map(|row| row.metric);
        names.collect::<Vec<_>>()
    };
    let shown = named(&|row| row.change.is_shown());
    let _ = match &shown[..] {
        [] => writeln!(text, "of {} other metrics, none shows a difference", others.len()),
        names => writeln!(text, "of {} other metrics, {} differ: {}", others.len(), names.len(), names.join(", ")),
    };
    for (words, is_it) in [
        ("not measured on either side", (&|row: &Row| row.a.is_none() && row.b.is_none()) as &dyn Fn(&Row) -> bool),
        ("not measured in A", &|row| row.a.is_none() && row.b.is_some()),
        ("not measured in B", &|row| row.a.is_some() && row.b.is_none()),
        ("not measured in some runs", &|row| row.change != Change::NotMeasured && row.without_value != [0, 0]),
    ] {
        let names = named(is_it);
        if !names.is_empty() {
            let _ = writeln!(text, "{words}: {}", names.join(", "));
        }
    }
    let distance =
        |distance: Option<f64>| distance.map_or_else(|| "not known".to_owned(), |value| format!("{value:.3}"));
    let _ = writeln!(
        text,
        "distance of the gap distributions {}, of the train length distributions {} (0: identical, 1: nothing in \
         common)",
        distance(pair.gap_distance),
        distance(pair.train_distance)
    );
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
