//! What a scan found, in short.

use std::collections::BTreeMap;

use comfy_table::CellAlignment;
use quiclab_metrics::{FirstAnswer, HandshakeClass};
use quiclab_report::{AnswerRow, render_answers_terminal};
use serde_json::{Value, json};

use super::row::ScanRow;
use crate::terminal::output;

/// Handshakes that are listed one by one.
const MOST_LISTED: usize = 40;
/// Values that percentiles are taken of.
const MOST_VALUES: usize = 1 << 20;

/// Counts of all handshakes, and the first of them.
#[derive(Default)]
pub struct Summary {
    handshakes: u64,
    complete: u64,
    /// Number of handshakes by outcome, where somebody was asked.
    outcomes: BTreeMap<String, u64>,
    /// Groups by the name of the first answer.
    answers: BTreeMap<&'static str, Group>,
    listed: Vec<ScanRow>,
}

/// Handshakes that were answered alike.
#[derive(Default)]
struct Group {
    handshakes: u64,
    padded: u64,
    ack_to_hello_ns: Vec<u64>,
    rtt_ns: Vec<u64>,
}

impl Group {
    fn add(&mut self, class: &HandshakeClass) {
        self.handshakes += 1;
        self.padded += u64::from(class.is_ack_padded == Some(true));
        for (values, value) in
            [(&mut self.ack_to_hello_ns, class.ack_to_hello_ns), (&mut self.rtt_ns, class.first_rtt_ns)]
        {
            values.extend(value.filter(|_| values.len() < MOST_VALUES));
        }
    }
}

/// Nearest rank, of values that are not empty.
fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

impl Summary {
    /// One more.
    pub fn add(&mut self, row: &ScanRow) {
        self.handshakes += 1;
        if let Some(outcome) = &row.outcome {
            *self.outcomes.entry(outcome.clone()).or_default() += 1;
        }
        if let Some(class) = &row.class {
            self.complete += u64::from(class.is_complete);
            self.answers.entry(class.first_answer.map_or("not readable", FirstAnswer::name)).or_default().add(class);
            if self.listed.len() < MOST_LISTED {
                self.listed.push(row.clone());
            }
        }
    }

    /// Rows by now.
    pub fn rows(&self) -> u64 {
        self.handshakes
    }

    /// Counts of outcomes, in one line.
    pub fn in_brief(&self) -> String {
        self.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect::<Vec<_>>().join(", ")
    }

    /// The summary for programs.
    pub fn to_json(&self) -> Value {
        let answers: serde_json::Map<String, Value> = self
            .answers
            .iter()
            .map(|(name, group)| {
                let of = json!({
                    "handshakes": group.handshakes,
                    "padded": group.padded,
                    "ack_to_hello_median_ns": median(&group.ack_to_hello_ns),
                    "first_rtt_median_ns": median(&group.rtt_ns),
                });
                ((*name).to_owned(), of)
            })
            .collect();
        json!({
            "schema": 1,
            "handshakes": self.handshakes,
            "complete": self.complete,
            "outcomes": self.outcomes,
            "first_answers": answers,
        })
    }

    /// The summary for people.
    pub fn to_text(&self) -> String {
        let all = if self.outcomes.is_empty() { "handshakes" } else { "targets" };
        let mut text = format!("{} {all}, {} complete handshakes\n", self.handshakes, self.complete);
        for (outcome, count) in &self.outcomes {
            text.push_str(&format!("  {outcome}: {count}\n"));
        }
        if self.answers.is_empty() {
            return text;
        }
        let mut table =
            output::table(["first answer", "handshakes", "share", "padded", "to ServerHello, ms", "RTT, ms"]);
        let milliseconds =
            |value: Option<u64>| value.map_or("-".to_owned(), |value| format!("{:.3}", value as f64 / 1e6));
        for (name, group) in &self.answers {
            table.add_row([
                name.replace('_', " "),
                group.handshakes.to_string(),
                format!("{:.3}", group.handshakes as f64 / self.handshakes as f64),
                group.padded.to_string(),
                milliseconds(median(&group.ack_to_hello_ns)),
                milliseconds(median(&group.rtt_ns)),
            ]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        text.push_str(&format!("{table}\nMedians in the two last columns.\n"));
        let listed: Vec<AnswerRow> = self.listed.iter().filter_map(answer).collect();
        if self.handshakes as usize == listed.len() || self.listed.len() < MOST_LISTED {
            text.push_str(&render_answers_terminal(&listed, output::terminal_width()));
        }
        text
    }
}

fn answer(row: &ScanRow) -> Option<AnswerRow<'_>> {
    let server = row.server?.to_string();
    Some(AnswerRow { server, server_name: row.name.as_deref(), class: row.class.as_ref()? })
}
