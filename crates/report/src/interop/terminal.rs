//! The matrix in the terminal.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use quiclab_interop::Matrix;

use super::outcome::{Outcome, cases_with, count_words, counts, legend, letters};
use crate::terminal::table::DEFAULT_WIDTH;

/// The matrix, how often each case succeeded, and why others failed. The tables are at most `width` columns wide where the
/// letters allow it.
pub fn render_interop_terminal(matrix: &Matrix, width: Option<u16>) -> String {
    let width = width.unwrap_or(DEFAULT_WIDTH);
    let mut pairs = table(width, presets::UTF8_FULL);
    pairs.set_header(["client \\ server"].into_iter().chain(matrix.servers.iter().map(String::as_str)));
    for client in &matrix.clients {
        let cells = matrix.servers.iter().map(|server| cell(matrix, server, client));
        pairs.add_row([client.clone()].into_iter().chain(cells));
    }
    let mut cases = table(width, presets::UTF8_BORDERS_ONLY);
    cases.set_header(["letters", "case"].into_iter().chain(Outcome::ALL.map(Outcome::name)));
    for case in &matrix.cases {
        let counts = counts(matrix, |_, _, of| of == case).map(|count| count.to_string());
        cases.add_row([letters(case).to_owned(), case.clone()].into_iter().chain(counts));
    }
    for column in cases.column_iter_mut().skip(2) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    let all = count_words(counts(matrix, |_, _, _| true));
    let mut text = format!("{pairs}\n{}\n{cases}\n{all}\n", legend("   "));
    for (entry, kbps) in matrix.measured() {
        let _ = writeln!(text, "{}, server {}, client {}: {kbps} kbit/s", entry.case, entry.server, entry.client);
    }
    for (stack, why) in &matrix.left_out {
        let _ = writeln!(text, "SKIPPED {stack}: {why}");
    }
    for entry in matrix.in_order() {
        if entry.reasons().is_empty() {
            continue;
        }
        let record = entry.record.as_ref().map_or_else(String::new, |record| format!(" ({record})"));
        let word = Outcome::of(Some(&entry.verdict)).name().to_uppercase();
        let _ = writeln!(text, "{word} {}, server {}, client {}{record}", entry.case, entry.server, entry.client);
        for reason in entry.reasons() {
            let _ = writeln!(text, "    {reason}");
        }
    }
    text
}

fn table(width: u16, preset: &str) -> Table {
    let mut table = Table::new();
    table.load_preset(preset).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

/// A line for each outcome that occurred.
fn cell(matrix: &Matrix, server: &str, client: &str) -> String {
    let lines = Outcome::ALL.into_iter().filter_map(|outcome| {
        let cases = cases_with(matrix, server, client, outcome);
        let letters: Vec<&str> = cases.into_iter().map(letters).collect();
        (!letters.is_empty()).then(|| format!("{} {}", outcome.sign(), letters.join(" ")))
    });
    lines.collect::<Vec<_>>().join("\n")
}
