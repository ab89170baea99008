//! What a survey found, and what it would send, for people.

use comfy_table::CellAlignment;
use quiclab_report::{AnswerRow, render_answers_terminal};
use quiclab_scan::{
    survey::{ScanRow, Summary},
    targets::{self, Frequency},
};
use quiclab_units::Duration;

use crate::terminal::output;

/// The summary of a survey.
pub fn summary(summary: &Summary) -> String {
    let all = if summary.outcomes.is_empty() { "handshakes" } else { "targets" };
    let mut text = format!("{} {all}, {} complete handshakes\n", summary.handshakes, summary.complete);
    for (outcome, count) in &summary.outcomes {
        text.push_str(&format!("  {outcome}: {count}\n"));
    }
    if summary.answers.is_empty() {
        return text;
    }
    let mut table = output::table(["first answer", "handshakes", "share", "padded", "to ServerHello, ms", "RTT, ms"]);
    let milliseconds = |value: Option<u64>| value.map_or("-".to_owned(), |value| format!("{:.3}", value as f64 / 1e6));
    for (name, group) in &summary.answers {
        table.add_row([
            name.replace('_', " "),
            group.handshakes.to_string(),
            format!("{:.3}", group.handshakes as f64 / summary.handshakes as f64),
            group.padded.to_string(),
            milliseconds(group.ack_to_hello_median_ns()),
            milliseconds(group.first_rtt_median_ns()),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    text.push_str(&format!("{table}\nMedians in the two last columns.\n"));
    if let Some(listed) = summary.listed() {
        let listed: Vec<AnswerRow> = listed.iter().filter_map(answer).collect();
        text.push_str(&render_answers_terminal(&listed, output::terminal_width()));
    }
    text
}

fn answer(row: &ScanRow) -> Option<AnswerRow<'_>> {
    let server = row.server?.to_string();
    Some(AnswerRow { server, server_name: row.name.as_deref(), class: row.class.as_ref()? })
}

/// How many packets would go to whom.
pub fn plan(summary: &targets::Summary, rate: Frequency) -> String {
    let mut text = format!(
        "{} targets, {} of them excluded, {} names that would be resolved first\n",
        summary.targets, summary.excluded, summary.unresolved
    );
    text += &format!(
        "{} handshakes to {} addresses in {} networks, at {}: at least {}\n",
        summary.connections,
        summary.addresses,
        summary.networks,
        rate,
        Duration::from_nanos(summary.duration_ns),
    );
    text += &format!(
        "at most {} packets and {} bytes to them, and {} bytes back; each name adds a handshake\n",
        summary.cost.packets_sent, summary.cost.bytes_sent, summary.cost.bytes_received
    );
    if !summary.busiest.is_empty() {
        let mut table = output::table(["network", "addresses", "handshakes", "packets, at most"]);
        for network in &summary.busiest {
            table.add_row([
                network.prefix.clone(),
                network.addresses.to_string(),
                network.connections.to_string(),
                network.cost.packets_sent.to_string(),
            ]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        text += &format!("{table}\n");
    }
    text + "No packet was sent.\n"
}
