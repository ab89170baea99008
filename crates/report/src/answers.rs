//! How servers answered handshakes, as a table.

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};
use quiclab_metrics::{FirstAnswer, HandshakeClass};
use quiclab_units::shown;

use crate::columns::NOTHING;
use crate::terminal::{
    paragraph::paragraphs,
    table::{fits_framed, framed, longest},
};

/// Columns where standard output is no terminal.
const USUAL_WIDTH: u16 = 160;
/// Up to so many handshakes stand beside each other where a line is too short for one.
const MOST_SIDE_BY_SIDE: usize = 4;
/// Columns that are shown in any case: who answered, and how.
const LEAST_SHOWN: usize = 3;

/// One handshake.
pub struct AnswerRow<'a> {
    /// The server's address, with what tells the handshake from others.
    pub server: String,
    /// The name that the client asked for.
    pub server_name: Option<&'a str>,
    /// How the server answered.
    pub class: &'a HandshakeClass,
}

/// A column: its heading, and its value.
type AnswerColumn = (&'static str, fn(&AnswerRow) -> Option<String>);

/// Times are in milliseconds, from the client's first datagram on. `width`: columns of the terminal; `None` where the output is none.
pub fn render_answers_terminal(rows: &[AnswerRow], width: Option<u16>) -> String {
    let columns: [AnswerColumn; 13] = [
        ("server", |row| Some(row.server.clone())),
        ("name", |row| row.server_name.map(|name| shown(name).to_string())),
        ("first ACK", |row| Some(in_words(row.class).to_owned())),
        ("after, ms", |row| milliseconds(row.class.first_ack_ns)),
        ("to ServerHello, ms", |row| milliseconds(row.class.ack_to_hello_ns)),
        ("RTT, ms", |row| milliseconds(row.class.first_rtt_ns)),
        ("ACK delay, ms", |row| milliseconds(row.class.initial_ack_delay_ns)),
        ("first flight", first_flight),
        ("sent / received", |row| row.class.amplification_factor.map(|factor| format!("{factor:.2}"))),
        ("blocked, ms", |row| milliseconds(row.class.blocked_ns)),
        ("certificate, B", |row| row.class.certificate_bytes.map(|bytes| bytes.to_string())),
        ("complete", |row| Some(if row.class.is_complete { "yes" } else { "no" }.to_owned())),
        ("stack", |row| row.class.stack.clone()),
    ];
    let cells: Vec<[Option<String>; 13]> = rows.iter().map(|row| columns.map(|(_, value)| value(row))).collect();
    // What is known of no handshake takes no room.
    let kept: Vec<usize> = (0..columns.len()).filter(|column| cells.iter().any(|row| row[*column].is_some())).collect();
    let width = width.unwrap_or(USUAL_WIDTH);
    let headings = kept.iter().map(|column| columns[*column].0);
    let value = |row: &[Option<String>; 13], column: &usize| row[*column].clone().unwrap_or_else(|| NOTHING.to_owned());
    let rows: Vec<Vec<String>> =
        cells.iter().map(|row| kept.iter().map(|column| value(row, column)).collect()).collect();
    let widest = headings.clone().enumerate().map(|(place, heading)| {
        let values = rows.iter().map(|row| row[place].chars().count());
        values.chain([longest(heading, ' ')]).max().unwrap_or(0)
    });
    let widest: Vec<usize> = widest.collect();
    let fits = |count: &usize| fits_framed(widest[..*count].iter().copied(), width);
    if !fits(&kept.len()) && rows.len() <= MOST_SIDE_BY_SIDE {
        return transposed(headings, &rows, width);
    }
    let shown = (LEAST_SHOWN..=kept.len()).rev().find(fits).unwrap_or(LEAST_SHOWN.min(kept.len()));
    let mut table = Table::new();
    table.set_header(headings.clone().take(shown));
    table.add_rows(rows.iter().map(|row| &row[..shown]));
    for (cells, (column, widest)) in table.column_iter_mut().zip(kept.iter().zip(&widest)) {
        cells.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*widest as u16 + 2)));
        if (3..11).contains(column) {
            cells.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{}\n", framed(table, width));
    if shown < kept.len() {
        let hidden: Vec<_> = headings.skip(shown).collect();
        text += &paragraphs(&format!("a wider terminal also shows: {}", hidden.join("; ")), Some(width));
    }
    text
}

/// A line for each column, and a column for each handshake.
fn transposed<'a>(headings: impl Iterator<Item = &'a str>, rows: &[Vec<String>], width: u16) -> String {
    let mut table = Table::new();
    for (place, heading) in headings.enumerate() {
        table.add_row([heading].into_iter().chain(rows.iter().map(|row| row[place].as_str())));
    }
    format!("{}\n", framed(table, width))
}

/// The first answer, as a reader would call it.
fn in_words(class: &HandshakeClass) -> &'static str {
    match (class.first_answer, class.is_ack_padded) {
        (Some(FirstAnswer::Instant), Some(true)) => "instant, padded",
        (Some(FirstAnswer::Instant), _) => "instant",
        (Some(FirstAnswer::Coalesced), _) => "with ServerHello",
        (Some(FirstAnswer::Later), _) => "after ServerHello",
        (Some(FirstAnswer::AckAlone), _) => "no ServerHello",
        (Some(FirstAnswer::HelloAlone), _) => "none, ServerHello alone",
        (Some(FirstAnswer::VersionNegotiation), _) => "other versions",
        (Some(FirstAnswer::Closed), _) => "closed",
        (Some(FirstAnswer::RetryAlone), _) => "Retry only",
        (Some(FirstAnswer::Silent), _) => "silent",
        (None, _) => "not readable",
    }
}

fn milliseconds(time: Option<u64>) -> Option<String> {
    Some(format!("{:.3}", time? as f64 / 1e6))
}

/// Datagrams and bytes.
fn first_flight(row: &AnswerRow) -> Option<String> {
    let (datagrams, bytes) = row.class.first_flight_datagrams.zip(row.class.first_flight_bytes)?;
    Some(format!("{datagrams}, {bytes} B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> HandshakeClass {
        serde_json::from_value(serde_json::json!({
            "first_answer": "instant",
            "first_ack_ns": 3_813_000, "ack_to_hello_ns": 0, "first_rtt_ns": 3_807_000, "initial_ack_delay_ns": 1_912_000,
            "first_flight_datagrams": 2, "first_flight_bytes": 2400, "amplification_factor": 0.67, "blocked_ns": 0,
            "certificate_bytes": 400, "is_complete": true, "stack": "quiche",
            "has_retry": false, "offered_versions": [], "closes": [], "unread": []
        }))
        .unwrap()
    }

    /// The answers of so many equal handshakes.
    fn shown_in(width: u16, count: usize) -> String {
        let class = class();
        let row =
            || AnswerRow { server: "193.167.100.100:443".to_owned(), server_name: Some("server4"), class: &class };
        let rows: Vec<_> = std::iter::repeat_with(row).take(count).collect();
        render_answers_terminal(&rows, Some(width))
    }

    #[test]
    fn no_word_is_broken_in_a_narrow_terminal() {
        for count in [1, 20] {
            let text = shown_in(80, count);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            for whole in ["193.167.100.100:443", "server4", "instant"] {
                assert_eq!(text.matches(whole).count(), count, "{whole}:\n{text}");
            }
        }
        assert!(shown_in(80, 1).contains("quiche"), "one handshake is shown whole:\n{}", shown_in(80, 1));
        assert!(shown_in(80, 20).contains("a wider terminal also shows: "), "{}", shown_in(80, 20));
        assert_eq!(shown_in(200, 20).matches("quiche").count(), 20, "{}", shown_in(200, 20));
    }
}
