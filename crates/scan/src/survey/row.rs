//! What a scan writes of each handshake: docs/reference/scan.md has a line for every column.

use std::net::SocketAddr;

use quiclab_metrics::{Close, HandshakeClass, SeenHandshake};
use serde_json::Value;

use super::csv_text;

/// One handshake.
#[derive(Clone, Debug, Default)]
pub struct ScanRow {
    /// The target as the list has it.
    pub target: Option<String>,
    /// Its rank in the list, where that has one.
    pub rank: Option<u64>,
    /// The name asked for.
    pub name: Option<String>,
    /// The server.
    pub server: Option<SocketAddr>,
    /// The client, of captures.
    pub client: Option<SocketAddr>,
    /// Group of targets, where there are several.
    pub group: Option<String>,
    /// When the first datagram left, since 1970.
    pub time_ns: Option<u64>,
    /// What came of it, in a word; of captures none.
    pub outcome: Option<String>,
    /// What more is known of that.
    pub detail: Option<String>,
    /// Time until the handshake was complete at the client.
    pub handshake_ns: Option<u64>,
    /// How the server answered.
    pub class: Option<HandshakeClass>,
    /// Status of the answer to the HTTP request.
    pub http_status: Option<u16>,
    /// Its field `server`.
    pub http_server: Option<String>,
    /// Its field `alt-svc`.
    pub http_alt_svc: Option<String>,
    /// Fields that were asked for.
    pub http_headers: Vec<(String, String)>,
    /// Where the server is, by these fields: the code of an airport.
    pub location: Option<String>,
    /// The systems that announce its address, joined by `_` where there are several.
    pub origin_as: Option<String>,
    /// Who runs these systems.
    pub cdn: Option<String>,
}

impl From<SeenHandshake> for ScanRow {
    fn from(seen: SeenHandshake) -> Self {
        ScanRow {
            name: seen.server_name,
            server: Some(seen.server),
            client: Some(seen.client),
            time_ns: Some(seen.time.as_nanos()),
            class: Some(seen.class),
            ..ScanRow::default()
        }
    }
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// UTF-8.
    Text(Option<String>),
    /// A whole number.
    Whole(Option<u64>),
    /// A number.
    Number(Option<f64>),
    /// True or false.
    Truth(Option<bool>),
}

impl Cell {
    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        let text = match self {
            Cell::Text(Some(text)) => text.len(),
            _ => 0,
        };
        size_of::<Self>() + text
    }

    /// The value in JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Cell::Text(value) => Value::from(value.clone()),
            Cell::Whole(value) => Value::from(*value),
            Cell::Number(value) => Value::from(*value),
            Cell::Truth(value) => Value::from(*value),
        }
    }

    /// The value in CSV: nothing where there is none, and no text that a spreadsheet takes for a formula.
    pub fn to_csv(&self) -> String {
        match self {
            Cell::Text(Some(value)) => csv_text::written(value).into_owned(),
            other => other.to_text(),
        }
    }

    /// The value as text: nothing where there is none.
    pub fn to_text(&self) -> String {
        match self {
            Cell::Text(value) => value.clone().unwrap_or_default(),
            Cell::Whole(value) => value.map_or(String::new(), |value| value.to_string()),
            Cell::Number(value) => value.map_or(String::new(), |value| value.to_string()),
            Cell::Truth(value) => value.map_or(String::new(), |value| value.to_string()),
        }
    }
}

/// A column: its name, and its value.
pub type ScanColumn = (&'static str, fn(&ScanRow) -> Cell);

/// All columns, in the order of the files.
pub const COLUMNS: &[ScanColumn] = &[
    ("target", |row| Cell::Text(row.target.clone())),
    ("rank", |row| Cell::Whole(row.rank)),
    ("name", |row| Cell::Text(row.name.clone())),
    ("server", |row| Cell::Text(row.server.map(|server| server.ip().to_string()))),
    ("port", |row| Cell::Whole(row.server.map(|server| u64::from(server.port())))),
    ("client", |row| Cell::Text(row.client.map(|client| client.to_string()))),
    ("group", |row| Cell::Text(row.group.clone())),
    ("time_ns", |row| Cell::Whole(row.time_ns)),
    ("outcome", |row| Cell::Text(row.outcome.clone())),
    ("detail", |row| Cell::Text(row.detail.clone())),
    ("handshake_ns", |row| Cell::Whole(row.handshake_ns)),
    ("first_answer", |row| text(row, |class| Some(class.first_answer?.name().to_owned()))),
    ("first_ack_ns", |row| whole(row, |class| class.first_ack_ns)),
    ("first_ack_bytes", |row| whole(row, |class| class.first_ack_bytes)),
    ("is_ack_padded", |row| truth(row, |class| class.is_ack_padded)),
    ("server_hello_ns", |row| whole(row, |class| class.server_hello_ns)),
    ("ack_to_hello_ns", |row| whole(row, |class| class.ack_to_hello_ns)),
    ("first_rtt_ns", |row| whole(row, |class| class.first_rtt_ns)),
    ("initial_ack_delay_ns", |row| whole(row, |class| class.initial_ack_delay_ns)),
    ("handshake_ack_delay_ns", |row| whole(row, |class| class.handshake_ack_delay_ns)),
    ("first_flight_datagrams", |row| whole(row, |class| class.first_flight_datagrams)),
    ("first_flight_bytes", |row| whole(row, |class| class.first_flight_bytes)),
    ("unvalidated_received_bytes", |row| whole(row, |class| class.unvalidated_received_bytes)),
    ("unvalidated_sent_bytes", |row| whole(row, |class| class.unvalidated_sent_bytes)),
    ("amplification_factor", |row| Cell::Number(row.class.as_ref().and_then(|class| class.amplification_factor))),
    ("blocked_ns", |row| whole(row, |class| class.blocked_ns)),
    ("has_retry", |row| truth(row, |class| Some(class.has_retry))),
    ("version", |row| text(row, |class| Some(format!("{:#010x}", class.version?)))),
    ("offered_versions", |row| text(row, |class| list(&class.offered_versions))),
    ("connection_id_bytes", |row| whole(row, |class| class.connection_id_bytes)),
    ("transport_parameters", |row| text(row, |class| list(class.transport_parameters.as_deref()?))),
    ("application_protocol", |row| text(row, |class| class.application_protocol.clone())),
    ("certificate_bytes", |row| whole(row, |class| class.certificate_bytes)),
    ("closes", |row| text(row, |class| closes(&class.closes))),
    ("is_complete", |row| truth(row, |class| Some(class.is_complete))),
    ("stack", |row| text(row, |class| class.stack.clone())),
    ("unread", |row| text(row, |class| joined(&class.unread))),
    ("http_status", |row| Cell::Whole(row.http_status.map(u64::from))),
    ("http_server", |row| Cell::Text(row.http_server.clone())),
    ("http_alt_svc", |row| Cell::Text(row.http_alt_svc.clone())),
    ("http_headers", |row| Cell::Text(headers(&row.http_headers))),
    ("location", |row| Cell::Text(row.location.clone())),
    ("origin_as", |row| Cell::Text(row.origin_as.clone())),
    ("cdn", |row| Cell::Text(row.cdn.clone())),
];

/// A row's values, in the order of [`COLUMNS`].
pub fn cells(row: &ScanRow) -> Vec<Cell> {
    COLUMNS.iter().map(|(_, value)| value(row)).collect()
}

/// A row as it was written in JSON; what is missing or of another type has no value.
pub fn cells_of_json(object: &Value) -> Vec<Cell> {
    let empty = ScanRow::default();
    let cell = |(name, value): &ScanColumn| match (value(&empty), &object[*name]) {
        (Cell::Text(_), value) => Cell::Text(value.as_str().map(str::to_owned)),
        (Cell::Whole(_), value) => Cell::Whole(value.as_u64()),
        (Cell::Number(_), value) => Cell::Number(value.as_f64()),
        (Cell::Truth(_), value) => Cell::Truth(value.as_bool()),
    };
    COLUMNS.iter().map(cell).collect()
}

fn text(row: &ScanRow, value: impl Fn(&HandshakeClass) -> Option<String>) -> Cell {
    Cell::Text(row.class.as_ref().and_then(value))
}

fn whole(row: &ScanRow, value: impl Fn(&HandshakeClass) -> Option<u64>) -> Cell {
    Cell::Whole(row.class.as_ref().and_then(value))
}

fn truth(row: &ScanRow, value: impl Fn(&HandshakeClass) -> Option<bool>) -> Cell {
    Cell::Truth(row.class.as_ref().and_then(value))
}

/// Numbers as they stand in registries, with blanks between them.
fn list<T: std::fmt::LowerHex>(numbers: &[T]) -> Option<String> {
    let texts: Vec<String> = numbers.iter().map(|number| format!("{number:#x}")).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn closes(closes: &[Close]) -> Option<String> {
    let text = |close: &Close| {
        let by = if close.by_server { "server" } else { "client" };
        let what = if close.by_application { "application error" } else { "error" };
        format!("{by}: {what} {:#x} {}", close.error, close.reason).trim_end().to_owned()
    };
    joined(&closes.iter().map(text).collect::<Vec<_>>())
}

/// One object.
fn headers(fields: &[(String, String)]) -> Option<String> {
    let object: serde_json::Map<String, Value> =
        fields.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect();
    (!object.is_empty()).then(|| Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_column_is_in_the_reference() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scan.md");
        let page = fs::read_to_string(page).unwrap();
        for (name, _) in COLUMNS {
            assert!(page.contains(&format!("`{name}`")), "docs/reference/scan.md has no {name}");
        }
        for outcome in crate::Outcome::ALL {
            assert!(
                page.contains(&format!("`{}`", outcome.name())),
                "docs/reference/scan.md has no {}",
                outcome.name()
            );
        }
    }

    #[test]
    fn a_row_is_the_same_after_it_was_written_in_json() {
        let row = ScanRow {
            target: Some("a \"name\",\n".to_owned()),
            server: Some(([192, 0, 2, 1], 443).into()),
            time_ns: Some(u64::MAX >> 1),
            http_headers: vec![("cf-ray".to_owned(), "0-FRA".to_owned())],
            ..ScanRow::default()
        };
        let text = super::super::rows::to_json(&row).to_string();
        assert_eq!(cells_of_json(&serde_json::from_str(&text).unwrap()), cells(&row));
    }
}
