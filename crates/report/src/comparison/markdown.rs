//! A comparison as a comment on a pull request.

use std::fmt::Write as _;

use super::{
    handshakes::{HandshakeCell, Handshakes},
    measure::Row,
    result::{Comparison, Pair},
    words,
};
use crate::{markdown::text::escaped, squares::picture};

/// Most settings of handshakes in the table.
const MOST_CELLS: usize = 20;

/// The answer, the conditions, and for each pair a table of five columns and a picture of its trains; then, folded, what a reader needs to do it
/// again and what else differs.
pub fn render_comparison_markdown(comparison: &Comparison) -> String {
    let [a, b] = &comparison.names;
    let mut text = format!("### quiclab: {} against {}\n\n", escaped(b), escaped(a));
    let _ = writeln!(text, "**{}**\n", escaped(&comparison.answer));
    for verdict in &comparison.verdict {
        if comparison.verdict.len() > 1 || comparison.handshakes.is_some() {
            let _ = writeln!(text, "**{}**: {}\n", escaped(&verdict.label), escaped(&verdict.text));
        }
        if let Some(why) = &verdict.why {
            let _ = writeln!(text, "Why: {}\n", escaped(why));
        }
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
    if let Some(failures) = comparison.failures.in_words() {
        let _ = writeln!(text, "**Failed runs**: {failures}\n");
    }
    for judgement in &comparison.conditions {
        let _ = writeln!(
            text,
            "- **{}**: fail if `{}` ({}): {}",
            judgement.outcome.word(),
            judgement.condition,
            escaped(&judgement.label),
            escaped(&judgement.numbers)
        );
    }
    if let Some(handshakes) = &comparison.handshakes {
        text.push_str(&cells(handshakes, comparison.alpha));
    }
    let is_cell = |pair: &Pair| comparison.handshakes.as_ref().is_some_and(|all| all.cell_of(&pair.key).is_some());
    for pair in comparison.pairs.iter().filter(|pair| !is_cell(pair)) {
        text.push_str(&table(pair, comparison.alpha, &|row| row.is_primary));
        let [mix_a, mix_b] = pair.mixes;
        text.push_str(&picture(&[("A", mix_a), ("B", mix_b)]));
        let [of_a, of_b] = pair.runs;
        let _ = writeln!(text, "\n{of_a} runs of A, {of_b} of B, {}.", pair.how_compared());
    }
    for (letter, alone) in ["A", "B"].into_iter().zip(&comparison.only_in) {
        for label in alone {
            let _ = writeln!(text, "\nOnly in {letter}: {}", escaped(label));
        }
    }
    text.push_str("\n<details><summary>What was measured, and how to do it again</summary>\n\n");
    // Indented, as no character of a command ends such a block.
    for line in comparison.command.lines() {
        let _ = writeln!(text, "    {line}");
    }
    text.push('\n');
    for pair in &comparison.pairs {
        let _ = writeln!(text, "- {}: {}", escaped(&pair.label), escaped(&pair.network));
    }
    for (letter, versions) in ["A", "B"].into_iter().zip(&comparison.made_with) {
        if !versions.is_empty() {
            let _ = writeln!(text, "- {letter}: {}", escaped(&versions.join(", ")));
        }
    }
    text.push_str("\n</details>\n");
    let others: Vec<_> = comparison
        .pairs
        .iter()
        .map(|pair| table(pair, comparison.alpha, &|row| !row.is_primary && row.change.is_shown()))
        .collect();
    if others.iter().any(|table| !table.is_empty()) {
        let _ =
            writeln!(text, "\n<details><summary>Other metrics that differ</summary>\n{}\n</details>", others.concat());
    }
    for cpu in comparison.cpu.iter().filter(|cpu| cpu.was_asked) {
        text.push_str(&cpu.in_markdown(comparison.alpha));
    }
    if !comparison.trains.is_empty() {
        text.push_str("\n<details><summary>A train that shows it</summary>\n\n");
        for train in &comparison.trains {
            for paragraph in train.in_words() {
                let _ = writeln!(text, "{}\n", escaped(&paragraph));
            }
        }
        text.push_str("</details>\n");
    }
    text
}

/// The cells of handshakes that changed, worst first, and how many did not.
fn cells(handshakes: &Handshakes, alpha: f64) -> String {
    let shown: Vec<_> = handshakes.cells.iter().filter(|cell| cell.is_news()).collect();
    let mut text = String::new();
    if !shown.is_empty() {
        let level = words::level(alpha);
        let _ =
            writeln!(text, "\n| handshakes that complete ({level} interval) | A | B | outcome |\n|---|--:|--:|---|");
    }
    for cell in shown.iter().take(MOST_CELLS) {
        let [a, b] = [cell.rate(0), cell.rate(1)];
        let _ = writeln!(text, "| {} | {a} | {b} | {} |", escaped(&cell.label), escaped(&cell.outcome_text()));
    }
    let unchanged = handshakes.count(HandshakeCell::is_unchanged);
    let hidden = shown.len().saturating_sub(MOST_CELLS);
    let hidden = if hidden == 0 { String::new() } else { format!(", {hidden} others are not in this table") };
    let faster = handshakes.count(HandshakeCell::is_only_faster);
    let all = handshakes.cells.len();
    let _ = writeln!(text, "\nOf {all} settings {unchanged} are unchanged, {faster} faster{hidden}.");
    text
}

/// The metrics of a pair that are asked for; empty where there are none.
fn table(pair: &Pair, alpha: f64, is_in: &dyn Fn(&Row) -> bool) -> String {
    let rows: Vec<_> = pair.metrics.iter().filter(|row| is_in(row)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let level = words::level(alpha);
    let mut text = format!("\n| {} | A | B | B \u{2212} A ({level} interval) | outcome |\n", escaped(&pair.label));
    text.push_str("|---|--:|--:|--:|---|\n");
    for row in rows {
        let p = row.difference.as_ref().and_then(|difference| difference.p_corrected);
        let p = p.filter(|_| row.change.is_shown()).map_or_else(String::new, |p| format!(", {}", words::p(p)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {}{} |",
            row.heading,
            row.cell(&row.a),
            row.cell(&row.b),
            row.difference_cell(),
            row.outcome_cell(),
            escaped(&p)
        );
    }
    text
}
