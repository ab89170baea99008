//! The tables as Markdown.

use std::fmt::Write as _;

use super::{
    published::STUDY,
    report::ScanReport,
    rows::label,
    section::{Line, Table},
};
use crate::markdown::text::escaped;

/// Every table, and the captions of the pictures, which only the page has.
pub fn render_scan_markdown(report: &ScanReport) -> String {
    let mut text = format!("# {}\n\nAnswers to QUIC handshakes, after {STUDY}.\n", escaped(&label(&report.title)));
    // A command is one line of code, whatever is in it.
    let _ = writeln!(text, "\n    {}", quiclab_units::shown(&report.command));
    for note in &report.notes {
        let _ = writeln!(text, "\n{}", escaped(note));
    }
    for section in report.sections() {
        let _ = writeln!(text, "\n## {}", escaped(&section.title));
        for paragraph in &section.paragraphs {
            let _ = writeln!(text, "\n{}", escaped(paragraph));
        }
        for figure in &section.figures {
            let _ = writeln!(text, "\n{}: {}", escaped(&figure.title), escaped(&figure.caption));
        }
        for table in &section.tables {
            write_table(&mut text, table);
        }
    }
    text
}

fn write_table(text: &mut String, table: &Table) {
    let headings: Vec<_> = table.headings.iter().map(|heading| escaped(heading)).collect();
    let _ = writeln!(text, "\n| {} |", headings.join(" | "));
    let _ = writeln!(text, "|---|{}", "--:|".repeat(headings.len().saturating_sub(1)));
    for line in &table.lines {
        write_line(text, line);
    }
}

fn write_line(text: &mut String, line: &Line) {
    let emphasis = if line.is_published { "*" } else { "" };
    let cells: Vec<_> = line.cells.iter().map(|cell| escaped(cell)).collect();
    let _ = writeln!(text, "| {emphasis}{}{emphasis} | {} |", escaped(&line.name), cells.join(" | "));
}
