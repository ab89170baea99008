//! Verdicts as rows of a Markdown table.

use std::fmt::Write as _;

use super::finding::Finding;
use crate::markdown::text::escaped;

/// The head of the table that [`findings_as_rows`] fills.
pub const FINDINGS_HEAD: &str = "| experiment | claim | source | verdict | numbers |\n|---|---|---|---|---|\n";

/// A row for each finding of an experiment. A verdict other than "holds" is in bold.
pub fn findings_as_rows(experiment: &str, findings: &[Finding]) -> String {
    let mut rows = String::new();
    for finding in findings {
        let source = finding.source.as_deref().unwrap_or("\u{2013}");
        let word = finding.outcome.word().to_lowercase();
        let word = if word == "holds" { word } else { format!("**{word}**") };
        let [claim, source, numbers] = [&finding.claim, source, &finding.numbers()].map(escaped);
        let _ = writeln!(rows, "| {} | {claim} | {source} | {word} | {numbers} |", escaped(experiment));
    }
    rows
}
