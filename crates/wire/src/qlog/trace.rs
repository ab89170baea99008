//! One trace: the fields that say how to read its events, and the events.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::clock::{Clock, plain};
use super::data::{self, ConnectionIds, Context, Dialect};
use super::event::{QlogEvent, QlogEventKind, QlogSpace};
use super::parts::{Field, Parts};
use super::summary::{QlogSummary, QlogTimeFormat, QlogTrace};

/// Events that wait for the fields that say how to read them, where those come later in the file; beyond this the
/// schema's defaults are taken.
pub const MAXIMUM_HELD_BYTES: usize = 4 * 1024 * 1024;

/// The file's own members, before or beside its traces.
#[derive(Debug, Clone, Default)]
pub(super) struct FileFields {
    pub version: Option<String>,
    pub title: Option<String>,
}

/// The trace that is being read.
pub(super) struct OpenTrace {
    index: usize,
    clock: Clock,
    fields: Option<Vec<Field>>,
    /// Members seen that events depend on.
    seen_common_fields: bool,
    seen_configuration: bool,
    dialect: Dialect,
    held: Vec<Vec<u8>>,
    held_bytes: usize,
    /// Held events have been let go; those that follow do not wait.
    released: bool,
    /// An event could not be read, so that a delta after it has lost its predecessor.
    gap: bool,
    /// The first `group_id` of an event.
    group_id: Option<String>,
    /// `reference_time`, read when the unit is known.
    reference_text: Option<String>,
    /// The first Initial is past: the destination of a later one is no longer of interest.
    initial_seen: bool,
}

/// Everything an event needs to leave.
pub(super) struct Outlet<'a> {
    pub summary: QlogSummary,
    pub on_event: &'a mut dyn FnMut(QlogEvent),
}

impl OpenTrace {
    /// Begins a trace. `whole_header`: nothing about it will come after its events.
    pub fn begin(file: &FileFields, whole_header: bool, summary: &mut QlogSummary) -> Self {
        summary.traces.push(QlogTrace { version: file.version.clone().unwrap_or_default(), ..QlogTrace::default() });
        let mut trace = OpenTrace {
            index: summary.traces.len() - 1,
            clock: Clock::default(),
            fields: None,
            seen_common_fields: false,
            seen_configuration: false,
            dialect: Dialect::Default,
            held: Vec::new(),
            held_bytes: 0,
            released: whole_header,
            gap: false,
            group_id: None,
            reference_text: None,
            initial_seen: false,
        };
        trace.apply_file(file, summary);
        trace
    }

    /// Takes over what the file says where the trace says nothing.
    pub fn apply_file(&mut self, file: &FileFields, summary: &mut QlogSummary) {
        let trace = &mut summary.traces[self.index];
        if trace.version.is_empty() {
            trace.version = file.version.clone().unwrap_or_default();
        }
        if trace.title.is_none() {
            trace.title.clone_from(&file.title);
        }
        self.notice_quiche(file.title.as_deref());
    }

    /// True: [`set_member`](Self::set_member) has a use for it.
    pub fn knows_member(name: &str) -> bool {
        matches!(
            name,
            "vantage_point" | "title" | "common_fields" | "configuration" | "event_fields" | "error_description"
        )
    }

    /// Takes one member of the trace's object.
    pub fn set_member(&mut self, name: &str, text: &[u8], summary: &mut QlogSummary) {
        let before = self.clock.clone();
        let fields_before = self.fields.clone();
        let understood = match name {
            "vantage_point" => self.set_vantage_point(text, summary),
            "title" => serde_json::from_slice::<String>(text).ok().map(|title| {
                self.notice_quiche(Some(&title));
                summary.traces[self.index].title = Some(title);
            }),
            "common_fields" => self.set_common_fields(text, summary),
            "configuration" => self.set_configuration(text, summary),
            "event_fields" => serde_json::from_slice::<Vec<String>>(text).ok().map(|names| {
                self.fields = Some(names.iter().map(|name| Field::parse(name)).collect());
            }),
            "error_description" => {
                summary.warn(format!("trace {}: its writer says: {}", self.index, String::from_utf8_lossy(text)));
                Some(())
            }
            _ => Some(()),
        };
        if understood.is_none() {
            summary.count(&format!("{name} of a trace"));
        }
        let was_used = self.released && summary.events > 0;
        if was_used && (before.unit_ns != self.clock.unit_ns || fields_before != self.fields) {
            summary.warn(format!("trace {}: {name} comes after events that were read without it", self.index));
        }
    }

    /// Hands out an event, or keeps it until it is known how to read it.
    pub fn take_event(&mut self, text: &[u8], outlet: &mut Outlet) {
        let is_array = text.first() == Some(&b'[');
        let settled = if is_array { self.fields.is_some() && self.seen_configuration } else { self.seen_common_fields };
        if settled || self.released {
            self.release(outlet);
            self.deliver(text, outlet);
            return;
        }
        self.held_bytes += text.len();
        self.held.push(text.to_vec());
        if self.held_bytes > MAXIMUM_HELD_BYTES {
            self.release(outlet);
        }
    }

    /// Hands out what was kept. To be called at the trace's end, or where the file is cut.
    pub fn release(&mut self, outlet: &mut Outlet) {
        self.released = true;
        self.held_bytes = 0;
        for text in std::mem::take(&mut self.held) {
            self.deliver(&text, outlet);
        }
    }

    /// Completes the trace's entry.
    pub fn finish(&mut self, outlet: &mut Outlet) {
        self.release(outlet);
        let reference = self.reference_text.as_deref().map_or(Ok(None), |text| self.clock.reference_ns(text));
        if reference.is_err() {
            outlet.summary.count("reference_time of a trace");
        }
        let trace = &mut outlet.summary.traces[self.index];
        trace.time_format = self.clock.format;
        trace.reference_ns = match self.clock.format {
            Some(QlogTimeFormat::Absolute) => Some(0),
            _ => reference.unwrap_or(None),
        };
    }

    fn deliver(&mut self, text: &[u8], outlet: &mut Outlet) {
        match self.read_event(text, &mut outlet.summary) {
            Ok(event) => {
                outlet.summary.events += 1;
                (outlet.on_event)(event);
            }
            Err(reason) => {
                self.gap = true;
                outlet.summary.count(&reason);
            }
        }
    }

    fn read_event(&mut self, text: &[u8], summary: &mut QlogSummary) -> Result<QlogEvent, String> {
        let parts = Parts::of(text, self.fields.as_deref(), summary)?;
        let time = parts.time.ok_or("event without a time")?;
        let time_ns = self.clock.event_ns(time.get(), parts.time_format).ok_or("time of an event")?;
        if self.gap && self.clock.format == Some(QlogTimeFormat::Delta) {
            summary.warn(format!("trace {}: times are too early after an event that could not be read", self.index));
        }
        self.notice_group(parts.group_id, summary);
        let event = parts.event.ok_or("event without a name")?;
        let name = match parts.category {
            Some(category) if !event.contains(':') => format!("{category}:{event}"),
            _ => event,
        };
        let is_parameters = name.ends_with(":parameters_set");
        let mut context = Context { clock: &self.clock, dialect: self.dialect, summary };
        let kind = data::kind(name, parts.data, &mut context);
        let is_initial = match &kind {
            QlogEventKind::PacketSent(packet) | QlogEventKind::PacketReceived(packet) if !self.initial_seen => {
                packet.space == Some(QlogSpace::Initial)
            }
            _ => false,
        };
        if is_parameters || is_initial {
            self.initial_seen |= is_initial;
            let from_client = match kind {
                QlogEventKind::PacketSent(_) => "client",
                _ => "server",
            };
            self.notice_connection_id(parts.data, from_client, summary);
        }
        Ok(QlogEvent { trace: self.index, time_ns, kind })
    }

    fn set_vantage_point(&mut self, text: &[u8], summary: &mut QlogSummary) -> Option<()> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum VantagePoint {
            /// The name alone, as before draft-01.
            Name(String),
            Object {
                #[serde(rename = "type")]
                kind: Option<String>,
                name: Option<String>,
            },
        }
        let (kind, name) = match serde_json::from_slice(text).ok()? {
            VantagePoint::Name(name) => (Some(name), None),
            VantagePoint::Object { kind, name } => (kind, name),
        };
        self.notice_quiche(name.as_deref());
        summary.traces[self.index].vantage_point = kind.map(|kind| kind.to_ascii_lowercase());
        Some(())
    }

    fn set_common_fields(&mut self, text: &[u8], summary: &mut QlogSummary) -> Option<()> {
        self.seen_common_fields = true;
        let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(text).ok()?;
        if let Some(name) = fields.get("time_format").map(|name| plain(name)) {
            match Clock::parse_format(&name) {
                Some(format) => self.set_format(format, summary),
                None => summary.count("time_format of a trace"),
            }
        }
        // Beside 0.3's time_units in the configuration, some files have them here.
        if let Some(unit) = fields.get("time_units") {
            self.set_unit(&plain(unit), summary);
        }
        if let Some(text) = fields.get("reference_time") {
            self.reference_text = Some(text.get().to_owned());
        }
        // mvfst's dcid is the one that the client chose first.
        let id = ["ODCID", "group_id", "dcid"].iter().find_map(|name| connection_id(&plain(fields.get(*name)?)));
        if id.is_some() {
            summary.traces[self.index].original_destination_connection_id = id;
        }
        Some(())
    }

    fn set_configuration(&mut self, text: &[u8], summary: &mut QlogSummary) -> Option<()> {
        self.seen_configuration = true;
        let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(text).ok()?;
        if let Some(unit) = fields.get("time_units") {
            self.set_unit(&plain(unit), summary);
        }
        if let Some(offset) = fields.get("time_offset")
            && self.clock.point_ns(offset.get()) != Some(0)
        {
            summary.warn(format!("trace {}: time_offset {} is not applied", self.index, offset.get()));
        }
        Some(())
    }

    fn set_format(&mut self, format: QlogTimeFormat, summary: &mut QlogSummary) {
        if self.clock.format.is_some_and(|known| known != format) {
            summary.warn(format!("trace {}: time_format comes after events that were read without it", self.index));
        }
        self.clock.format = Some(format);
    }

    fn set_unit(&mut self, unit: &str, summary: &mut QlogSummary) {
        match Clock::parse_unit(unit) {
            Some(unit_ns) => self.clock.unit_ns = unit_ns,
            None => summary.count("time_units of a trace"),
        }
    }

    fn notice_quiche(&mut self, title: Option<&str>) {
        if title.is_some_and(|title| title.to_ascii_lowercase().contains("quiche")) {
            self.dialect = Dialect::Quiche;
        }
    }

    fn notice_group(&mut self, group_id: Option<String>, summary: &mut QlogSummary) {
        let Some(group_id) = group_id else { return };
        // The only stack that does not know its own side, but the connection of each event.
        if self.dialect == Dialect::Default && summary.traces[self.index].vantage_point.as_deref() == Some("unknown") {
            self.dialect = Dialect::Quinn;
            summary.warn(format!("trace {}: assuming quinn's units: RTTs are read as seconds", self.index));
        }
        match &self.group_id {
            Some(first) if *first != group_id => {
                summary.warn(format!("trace {}: has more than one connection (group_id)", self.index));
            }
            Some(_) => {}
            None => {
                let trace = &mut summary.traces[self.index];
                if trace.original_destination_connection_id.is_none() {
                    trace.original_destination_connection_id = connection_id(&group_id);
                }
                self.group_id = Some(group_id);
            }
        }
    }

    /// `from_client`: the vantage point at which such a packet comes from the client.
    fn notice_connection_id(&self, data: Option<&RawValue>, from_client: &str, summary: &mut QlogSummary) {
        let trace = &mut summary.traces[self.index];
        let (None, Some(data)) = (&trace.original_destination_connection_id, data) else { return };
        let Ok(ids) = serde_json::from_str::<ConnectionIds>(data.get()) else { return };
        let is_from_client = trace.vantage_point.as_deref() == Some(from_client);
        let id = ids.original_destination_connection_id.or(ids.header.dcid.filter(|_| is_from_client));
        trace.original_destination_connection_id = id.and_then(|id| connection_id(&id));
    }
}

/// Reads a connection ID of at most 20 bytes: <https://www.rfc-editor.org/rfc/rfc9000#section-17.2>.
fn connection_id(hexadecimal: &str) -> Option<Vec<u8>> {
    const MAXIMUM_BYTES: usize = 20;
    let digits = hexadecimal.strip_prefix("0x").unwrap_or(hexadecimal).as_bytes();
    if digits.is_empty() || digits.len() % 2 == 1 || digits.len() > 2 * MAXIMUM_BYTES {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
