//! Rows of a scan, small in memory: each text is kept once.

use std::{collections::BTreeMap, sync::Arc};

use quiclab_metrics::FirstAnswer;
use quiclab_units::shown;

use super::report_row::ScanReportRow;

/// What `outcome` says of a handshake that completed.
pub(super) const COMPLETED: &str = "completed";
/// The study chose its popular names from as many of the list's first.
const POPULAR_RANKS: u64 = 1000;
/// Characters of the longest name that is shown whole; longer names are cut where they are shown.
const LONGEST_NAME: usize = 60;
const NANOSECONDS_PER_DAY: u64 = 86_400_000_000_000;

/// A text that rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TextId(u32);

/// Every text once.
#[derive(Clone, Debug, Default)]
struct Texts {
    ids: BTreeMap<Arc<str>, TextId>,
    all: Vec<Arc<str>>,
}

impl Texts {
    /// `None` of no text, and of the empty one, which is how CSV writes a missing value.
    fn id(&mut self, text: Option<&str>) -> Option<TextId> {
        let text = text.filter(|text| !text.is_empty())?;
        if let Some(id) = self.ids.get(text) {
            return Some(*id);
        }
        // More texts than that would not be in memory.
        let id = TextId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        let text: Arc<str> = text.into();
        self.all.push(text.clone());
        self.ids.insert(text, id);
        Some(id)
    }
}

/// A row, with what the tables and pictures need of it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub time_ns: u64,
    pub name: Option<TextId>,
    pub group: Option<TextId>,
    pub cdn: Option<TextId>,
    pub location: Option<TextId>,
    pub place: Option<TextId>,
    pub outcome: Option<TextId>,
    pub is_completed: bool,
    pub answer: Option<FirstAnswer>,
    pub is_ack_padded: Option<bool>,
    pub ack_to_hello_ns: Option<u64>,
    pub first_rtt_ns: Option<u64>,
    pub initial_ack_delay_ns: Option<u64>,
    pub handshake_ack_delay_ns: Option<u64>,
    pub amplification_factor: Option<f64>,
    pub certificate_bytes: Option<u64>,
    pub blocked_ns: Option<u64>,
}

impl Row {
    /// Days since 1970, in UTC.
    pub fn day(&self) -> u64 {
        self.time_ns / NANOSECONDS_PER_DAY
    }

    /// Whether the first answer was ACK and ServerHello in one datagram.
    pub fn is_coalesced(&self) -> bool {
        self.answer == Some(FirstAnswer::Coalesced)
    }

    /// Whether the server acknowledged the ClientHello in an Initial packet.
    pub fn is_acknowledged(&self) -> bool {
        use FirstAnswer::{AckAlone, Coalesced, Instant, Later};
        matches!(self.answer, Some(Instant | Coalesced | Later | AckAlone))
    }
}

/// Rows in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub all: Vec<Row>,
    texts: Texts,
}

impl Rows {
    pub fn push(&mut self, row: &ScanReportRow) {
        let texts = &mut self.texts;
        let by_rank = row.rank.map(|rank| if rank <= POPULAR_RANKS { "ranks up to 1000" } else { "ranks above 1000" });
        self.all.push(Row {
            time_ns: row.time_ns,
            name: texts.id(row.name.as_deref()),
            group: texts.id(row.group.as_deref().filter(|group| !group.is_empty()).or(by_rank)),
            cdn: texts.id(row.cdn.as_deref()),
            location: texts.id(row.location.as_deref()),
            place: texts.id(row.place.as_deref()),
            outcome: texts.id(row.outcome.as_deref()),
            is_completed: row.outcome.as_deref() == Some(COMPLETED),
            answer: row.first_answer.as_deref().and_then(first_answer),
            is_ack_padded: row.is_ack_padded,
            ack_to_hello_ns: row.ack_to_hello_ns,
            first_rtt_ns: row.first_rtt_ns,
            initial_ack_delay_ns: row.initial_ack_delay_ns,
            handshake_ack_delay_ns: row.handshake_ack_delay_ns,
            amplification_factor: row.amplification_factor.filter(|factor| factor.is_finite() && *factor >= 0.0),
            certificate_bytes: row.certificate_bytes,
            blocked_ns: row.blocked_ns,
        });
    }

    /// Keeps texts with this id in order of the alphabet, and what has none at the end.
    pub fn key(&self, id: Option<TextId>) -> Key<'_> {
        let text = id.and_then(|TextId(id)| self.texts.all.get(id as usize));
        Key { is_none: text.is_none(), text: text.map_or("", |text| text) }
    }

    /// The CDN of a row, where a row without one is of the same as one of "Others".
    pub fn cdn(&self, row: &Row) -> Key<'_> {
        let key = self.key(row.cdn);
        if key.text == OTHERS { Key { is_none: true, text: "" } } else { key }
    }
}

/// What the study calls servers that are of none of its CDNs.
pub(super) const OTHERS: &str = "Others";

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'a> {
    is_none: bool,
    text: &'a str,
}

impl Key<'_> {
    /// The text as it may be shown, or `none` where there is none.
    pub fn name(&self, none: &str) -> String {
        if self.is_none { none.to_owned() } else { label(self.text) }
    }

    /// Whether rows with this key had no text.
    pub fn is_none(&self) -> bool {
        self.is_none
    }
}

/// Foreign text in one line, without characters that turn or hide others, and not too long.
pub(super) fn label(text: &str) -> String {
    let text = shown(text);
    if text.chars().count() <= LONGEST_NAME {
        return text.into_owned();
    }
    text.chars().take(LONGEST_NAME - 1).chain(['\u{2026}']).collect()
}

/// The answer by its name in output; `None` of another word.
fn first_answer(name: &str) -> Option<FirstAnswer> {
    ANSWERS.into_iter().find(|answer| answer.name() == name)
}

/// All of them, in the order of tables.
pub(super) const ANSWERS: [FirstAnswer; 9] = [
    FirstAnswer::Instant,
    FirstAnswer::Coalesced,
    FirstAnswer::Later,
    FirstAnswer::AckAlone,
    FirstAnswer::HelloAlone,
    FirstAnswer::VersionNegotiation,
    FirstAnswer::Closed,
    FirstAnswer::RetryAlone,
    FirstAnswer::Silent,
];
