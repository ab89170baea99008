//! An event taken apart, whichever way it is written.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::clock::{Clock, plain};
use super::summary::{QlogSummary, QlogTimeFormat};

/// `event_fields` where a file has none: the order that every such stack writes.
const USUAL_FIELDS: [Field; 4] = [Field::Time(None), Field::Category, Field::Event, Field::Data];

/// What one place of an event array holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Time(Option<QlogTimeFormat>),
    Category,
    Event,
    Data,
    GroupId,
    /// Known to the schema, of no use here.
    Unused,
}

impl Field {
    /// Finds a field by its name in `event_fields`, in any case.
    pub fn parse(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "time" => Field::Time(None),
            "category" => Field::Category,
            "event" | "event_type" | "type" | "name" => Field::Event,
            "data" => Field::Data,
            "group_id" | "odcid" => Field::GroupId,
            _ => Clock::parse_format(&name).map_or(Field::Unused, |format| Field::Time(Some(format))),
        }
    }
}

/// An event taken apart.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub time: Option<&'a RawValue>,
    /// The event's own, or that of the place in which its time stands.
    pub time_format: Option<QlogTimeFormat>,
    pub category: Option<String>,
    pub event: Option<String>,
    pub data: Option<&'a RawValue>,
    pub group_id: Option<String>,
}

impl<'a> Parts<'a> {
    /// `fields`: the trace's `event_fields`. Of the parts, each may be missing.
    ///
    /// # Errors
    /// The reason for which [`QlogSummary::not_understood`] counts the event.
    pub fn of(text: &'a [u8], fields: Option<&[Field]>, summary: &mut QlogSummary) -> Result<Self, String> {
        if text.first() == Some(&b'[') {
            array_parts(text, fields.unwrap_or(&USUAL_FIELDS), summary)
        } else {
            object_parts(text)
        }
    }
}

fn array_parts<'a>(text: &'a [u8], fields: &[Field], summary: &mut QlogSummary) -> Result<Parts<'a>, String> {
    let values: Vec<&RawValue> = serde_json::from_slice(text).map_err(|error| invalid(&error))?;
    if values.len() > fields.len() {
        summary.count("values of an event array beyond event_fields");
    }
    let mut parts = Parts::default();
    for (field, value) in fields.iter().zip(values) {
        match field {
            Field::Time(format) => (parts.time, parts.time_format) = (Some(value), *format),
            Field::Category => parts.category = Some(plain(value)),
            Field::Event => parts.event = Some(plain(value)),
            Field::Data => parts.data = Some(value),
            Field::GroupId => parts.group_id = Some(plain(value)),
            Field::Unused => {}
        }
    }
    Ok(parts)
}

fn object_parts(text: &[u8]) -> Result<Parts<'_>, String> {
    #[derive(Deserialize)]
    struct EventText<'a> {
        #[serde(borrow)]
        time: Option<&'a RawValue>,
        relative_time: Option<&'a RawValue>,
        delta_time: Option<&'a RawValue>,
        time_format: Option<String>,
        category: Option<String>,
        name: Option<String>,
        event: Option<String>,
        data: Option<&'a RawValue>,
        group_id: Option<&'a RawValue>,
    }
    let event: EventText = serde_json::from_slice(text).map_err(|error| invalid(&error))?;
    let own_format = match event.time_format.as_deref() {
        None => None,
        Some(name) => Some(Clock::parse_format(name).ok_or("time_format of an event")?),
    };
    let (time, time_format) = match (event.time, event.relative_time, event.delta_time) {
        (Some(time), _, _) => (Some(time), own_format),
        (None, Some(time), _) => (Some(time), Some(QlogTimeFormat::Relative)),
        (None, None, time) => (time, Some(QlogTimeFormat::Delta)),
    };
    Ok(Parts {
        time,
        time_format,
        category: event.category,
        event: event.name.or(event.event),
        data: event.data,
        group_id: event.group_id.map(plain),
    })
}

/// Says what is wrong without line and column: those of the event's text say nothing, and would make each a reason of its own.
fn invalid(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "event with members of another type".to_owned(),
        _ => "event that is not JSON".to_owned(),
    }
}
