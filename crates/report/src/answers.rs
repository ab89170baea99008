//! How servers answered handshakes, as a table.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use quiclab_metrics::{FirstAnswer, HandshakeClass};
use quiclab_units::shown;

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
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width.unwrap_or(160));
    table.set_header(kept.iter().map(|column| columns[*column].0));
    for row in cells {
        table.add_row(kept.iter().map(|column| row[*column].clone().unwrap_or_else(|| "-".to_owned())));
    }
    let numbers = kept.iter().enumerate().filter(|(_, column)| (3..11).contains(*column)).map(|(place, _)| place);
    for place in numbers.collect::<Vec<_>>() {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n")
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
