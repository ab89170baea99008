//! What a scan found, in short.

use std::collections::BTreeMap;

use quiclab_metrics::{FirstAnswer, HandshakeClass};
use serde_json::{Value, json};

use super::row::ScanRow;

/// Handshakes that are listed one by one.
const MOST_LISTED: usize = 40;
/// Values that percentiles are taken of.
const MOST_VALUES: usize = 1 << 20;

/// Counts of all handshakes, and the first of them.
#[derive(Default)]
pub struct Summary {
    /// All handshakes, and targets without one.
    pub handshakes: u64,
    /// Handshakes that were completed.
    pub complete: u64,
    /// Number of handshakes by outcome, where somebody was asked.
    pub outcomes: BTreeMap<String, u64>,
    /// Handshakes by the name of the first answer.
    pub answers: BTreeMap<&'static str, AnswerGroup>,
    first: Vec<ScanRow>,
}

/// Handshakes that were answered alike.
#[derive(Default)]
pub struct AnswerGroup {
    /// Number of them.
    pub handshakes: u64,
    /// Handshakes whose first acknowledgement was padded.
    pub padded: u64,
    ack_to_hello_ns: Vec<u64>,
    rtt_ns: Vec<u64>,
}

impl AnswerGroup {
    fn add(&mut self, class: &HandshakeClass) {
        self.handshakes += 1;
        self.padded += u64::from(class.is_ack_padded == Some(true));
        for (values, value) in
            [(&mut self.ack_to_hello_ns, class.ack_to_hello_ns), (&mut self.rtt_ns, class.first_rtt_ns)]
        {
            values.extend(value.filter(|_| values.len() < MOST_VALUES));
        }
    }

    /// The median time from the first acknowledgement to the ServerHello.
    pub fn ack_to_hello_median_ns(&self) -> Option<u64> {
        median(&self.ack_to_hello_ns)
    }

    /// The median of the first round-trip times.
    pub fn first_rtt_median_ns(&self) -> Option<u64> {
        median(&self.rtt_ns)
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
            if self.first.len() < MOST_LISTED {
                self.first.push(row.clone());
            }
        }
    }

    /// Rows by now.
    pub fn rows(&self) -> u64 {
        self.handshakes
    }

    /// Handshakes to list one by one: all of them where they are few. `None`: they are too many.
    pub fn listed(&self) -> Option<&[ScanRow]> {
        (self.first.len() < MOST_LISTED || self.handshakes as usize == self.first.len()).then_some(&self.first)
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
                    "ack_to_hello_median_ns": group.ack_to_hello_median_ns(),
                    "first_rtt_median_ns": group.first_rtt_median_ns(),
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
}
