//! A comparison as a comment on a pull request.

use std::fmt::Write as _;

use super::{result::Comparison, words};
use crate::{markdown::text::escaped, squares::picture};

/// The verdict, the conditions, and for each pair a table of five columns and a picture of its trains.
pub fn render_comparison_markdown(comparison: &Comparison) -> String {
    let [a, b] = &comparison.names;
    let mut text = format!("### quiclab: {} against {}\n\n", escaped(b), escaped(a));
    for note in &comparison.notes {
        let _ = writeln!(text, "{}\n", escaped(note));
    }
    for verdict in &comparison.verdict {
        let _ = writeln!(text, "**{}**: {}\n", escaped(&verdict.label), escaped(&verdict.text));
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
    for pair in &comparison.pairs {
        let level = words::level(comparison.alpha);
        let _ = writeln!(text, "\n| {} | A | B | B \u{2212} A ({level} interval) | outcome |", escaped(&pair.label));
        text.push_str("|---|--:|--:|--:|---|\n");
        for row in pair.metrics.iter().filter(|row| row.is_primary) {
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
    text
}
