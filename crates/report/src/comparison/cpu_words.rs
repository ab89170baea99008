//! CPU time by function, for people: in the terminal, in Markdown and on a page.

use std::fmt::Write as _;

use maud::{Markup, html};
use quiclab_units::shown;

use super::{
    cpu::{CpuChange, CpuDifference, FunctionChange},
    words,
};
use crate::{markdown::text::escaped, terminal::paragraph::paragraph};

/// Functions of an endpoint that are shown unless all are asked for.
const MOST_FUNCTIONS: usize = 8;
/// Columns that the terminal leaves to the name of a function at least.
const LEAST_NAME: usize = 20;
/// Mark of functions that differ by more than chance.
const MARK: &str = "*";
/// Name of the row of the sum over all functions.
const TOTAL: &str = "total";

/// A line of a table.
struct Row<'a> {
    name: &'a str,
    cpu: &'a CpuChange,
    is_shown: bool,
}

impl<'a> Row<'a> {
    fn of(one: &'a FunctionChange) -> Self {
        Self { name: &one.function, cpu: &one.cpu, is_shown: one.is_shown }
    }

    fn mark(&self) -> &'static str {
        if self.is_shown { MARK } else { "" }
    }
}

/// A, B, and the difference with its interval, in ms.
fn cells(cpu: &CpuChange) -> [String; 3] {
    let [a, b] = cpu.means_ns.map(|mean| format!("{:.2}", mean / 1e6));
    let interval =
        cpu.interval_ns.map_or_else(String::new, |(low, high)| format!(" ({} to {})", signed(low), signed(high)));
    [a, b, signed(cpu.difference_ns) + &interval]
}

fn signed(time_ns: f64) -> String {
    let text = format!("{:+.2}", time_ns / 1e6);
    // A rounded zero has no sign.
    if text[1..] == *"0.00" { text[1..].to_owned() } else { text.replace('-', "\u{2212}") }
}

impl CpuDifference {
    fn heading(&self, alpha: f64) -> String {
        let how = match self.is_paired {
            true => "seed by seed".to_owned(),
            false => format!("by the means of {} and {} runs", self.runs[0], self.runs[1]),
        };
        let interval = match self.total.as_ref().and_then(|total| total.interval_ns) {
            Some(_) => format!(", with the {} interval of each difference", words::level(alpha)),
            None => String::new(),
        };
        format!("{}: CPU time of the {} in ms, {how}{interval}", self.label, self.role)
    }

    /// The rows of a table: the total, then functions that differ, those that differ most first.
    fn rows(&self, most: usize) -> Vec<Row<'_>> {
        let total = self.total.iter().map(|cpu| Row { name: TOTAL, cpu, is_shown: false });
        let functions = self.functions.iter().flatten().take(most).filter(|one| one.cpu.difference_ns != 0.0);
        total.chain(functions.map(Row::of)).collect()
    }

    /// What the tables mark, in a sentence; `None` without intervals.
    fn what_is_shown(&self, alpha: f64) -> Option<String> {
        let functions = self.functions.as_deref()?;
        functions.iter().find_map(|one| one.p_corrected)?;
        let level = words::level(1.0 - alpha);
        Some(match functions.iter().filter(|one| one.is_shown).count() {
            0 => format!(
                "no function differs by more than chance, corrected for their number ({level}): more repetitions and \
                 larger transfers show smaller differences"
            ),
            count => {
                let differ = if count == 1 { "function differs" } else { "functions differ" };
                format!("{MARK} {count} {differ} by more than chance, corrected for their number ({level})")
            }
        })
    }

    /// How many functions are not in a table of so many rows; `None` where all are.
    fn rest(&self, rows: usize) -> Option<String> {
        let hidden = self.functions.as_deref()?.get(rows.saturating_sub(1)..).filter(|hidden| !hidden.is_empty())?;
        let differ = hidden.iter().filter(|one| one.cpu.difference_ns != 0.0).count();
        Some(match differ {
            0 => format!("{} other functions do not differ", hidden.len()),
            _ => format!("of {} other functions {differ} differ, by less", hidden.len()),
        })
    }

    /// Lines for the terminal.
    pub(super) fn in_words(&self, alpha: f64, columns: u16, all: bool) -> Vec<String> {
        let mut lines = vec![paragraph(&self.heading(alpha), columns, 2)];
        let rows = self.rows(if all { usize::MAX } else { MOST_FUNCTIONS });
        let cells: Vec<_> = rows.iter().map(|row| (row, cells(row.cpu))).collect();
        let headings = ["A", "B", "B \u{2212} A"].map(str::to_owned);
        let width = |column: usize| {
            let texts = cells.iter().map(|(_, cells)| cells).chain([&headings]);
            texts.map(|cells| cells[column].chars().count()).max().unwrap_or(0)
        };
        let widths = [0, 1, 2].map(width);
        let line = |[a, b, difference]: &[String; 3], mark: &str, name: &str| {
            let [w0, w1, w2] = widths;
            let numbers = format!("  {a:>w0$}  {b:>w1$}  {difference:<w2$} {mark:1} ");
            let room = usize::from(columns).saturating_sub(numbers.chars().count()).max(LEAST_NAME);
            let name = if all { shown(name).into_owned() } else { shortened(&shown(name), room) };
            (numbers + &name).trim_end().to_owned()
        };
        if !cells.is_empty() {
            lines.push(line(&headings, "", "function"));
        }
        lines.extend(cells.iter().map(|(row, cells)| line(cells, row.mark(), row.name)));
        let more = if all { "" } else { ": --all shows what differs" };
        let texts = self.sentences(alpha).into_iter().chain(self.rest(rows.len()).map(|rest| rest + more));
        lines.extend(texts.map(|text| paragraph(&format!("  {}", shown(&text)), columns, 4)));
        lines
    }

    /// A folded table of Markdown.
    pub(super) fn in_markdown(&self, alpha: f64) -> String {
        let rows = self.rows(MOST_FUNCTIONS);
        // Markdown does not hold inside of the summary.
        let summary = format!("<summary>CPU time of the {} by function</summary>", self.role);
        let mut text = format!("\n<details>{summary}\n\n{}\n", escaped(&self.heading(alpha)));
        if !rows.is_empty() {
            text.push_str("\n| function | A | B | B \u{2212} A | |\n|---|--:|--:|--:|---|\n");
        }
        for row in &rows {
            let [a, b, difference] = cells(row.cpu);
            let _ = writeln!(text, "| {} | {a} | {b} | {difference} | {} |", escaped(row.name), escaped(row.mark()));
        }
        for sentence in self.sentences(alpha).into_iter().chain(self.rest(rows.len())) {
            let _ = writeln!(text, "\n{}", escaped(&sentence));
        }
        text + "\n</details>\n"
    }

    /// A folded table of a page, with every function that differs.
    pub(super) fn on_page(&self, alpha: f64) -> Markup {
        let rows = self.rows(usize::MAX);
        html! {
            details {
                summary { (self.heading(alpha)) }
                @for sentence in self.sentences(alpha) { p.note { (shown(&sentence)) } }
                @if !rows.is_empty() {
                    div.wide {
                        table {
                            thead { tr { th.text { "function" } th { "A" } th { "B" } th { "B \u{2212} A" } th {} } }
                            tbody {
                                @for row in &rows {
                                    @let [a, b, difference] = cells(row.cpu);
                                    tr {
                                        th.text { (shown(row.name)) }
                                        td { (a) }
                                        td { (b) }
                                        td { (difference) }
                                        td { (row.mark()) }
                                    }
                                }
                            }
                        }
                    }
                    @if let Some(rest) = self.rest(rows.len()) { p.note { (rest) } }
                }
            }
        }
    }

    /// What a reader has to know of the numbers, or why there are none.
    fn sentences(&self, alpha: f64) -> Vec<String> {
        match &self.missing {
            Some(why) => vec![format!("no functions: {why}")],
            None => self.what_is_shown(alpha).into_iter().chain(self.notes.iter().cloned()).collect(),
        }
    }
}

/// A name in at most so many columns: the end of a path says most.
fn shortened(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - (room - 1)).collect();
    format!("\u{2026}{end}")
}
