//! The laws, and what came of comparing packets with them.

use quiclab_units::{Duration, Time};
use serde::Serialize;

use crate::tap_packet::TapPacket;

/// Violations of one law in one direction that are listed; more are counted.
pub const MOST_LISTED: usize = 10;

/// A law that holds for every packet of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Each packet that leaves the path has entered it.
    NoneCreated,
    /// A packet that entered once leaves once, unless a stage copies.
    NoneDuplicated,
    /// Bytes stay as they are, unless a stage changes them.
    ContentUnchanged,
    /// No packet leaves before its delay has passed.
    Delay,
    /// No packet leaves before a rate could have carried it.
    Rate,
    /// No queue holds more than it has room for.
    Buffer,
    /// Each packet that does not leave was counted by a stage.
    LossesAccounted,
    /// Packets leave in the order in which they entered, unless a stage reorders.
    Order,
}

impl Law {
    /// Every law, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::NoneCreated,
        Self::NoneDuplicated,
        Self::ContentUnchanged,
        Self::Delay,
        Self::Rate,
        Self::Buffer,
        Self::LossesAccounted,
        Self::Order,
    ];

    /// The law in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoneCreated => "no packet created",
            Self::NoneDuplicated => "none duplicated",
            Self::ContentUnchanged => "content unchanged",
            Self::Delay => "none faster than its delay",
            Self::Rate => "none over the rate",
            Self::Buffer => "none over the buffer",
            Self::LossesAccounted => "every loss accounted for",
            Self::Order => "order kept",
        }
    }
}

/// The result of one law in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LawReport {
    /// The law.
    pub law: Law,
    /// Packets that were compared with it.
    pub checked: u64,
    /// The number of violations.
    pub violated: u64,
    /// The first violations, at most [`MOST_LISTED`].
    pub violations: Vec<Violation>,
    /// Everything that was not audited, with the reason.
    pub not_audited: Vec<String>,
}

/// A packet that violates a law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Number of its frame in the capture, from 1, as `quiclab packets` counts.
    pub frame: u64,
    /// Name of the tap that saw it.
    pub tap: String,
    /// Time since the first packet at that tap, in ns.
    pub time_ns: u64,
    /// A sentence that says what is wrong, without the packet.
    pub message: String,
}

impl Violation {
    /// The violation as one line.
    pub fn in_words(&self) -> String {
        let seconds = self.time_ns as f64 / 1e9;
        format!("frame {} at the tap {}, {seconds:.9} s: {}", self.frame, self.tap, self.message)
    }
}

/// One direction of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirectionReport {
    /// Name of the direction, `to_client` or `to_server`.
    pub direction: String,
    /// Packets at the tap where it begins.
    pub packets_entered: u64,
    /// Packets at the tap where it ends.
    pub packets_left: u64,
    /// Each law, in the order of [`Law::ALL`].
    pub laws: Vec<LawReport>,
}

/// The findings of the auditor about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// A sentence that says how exact the times are that the laws rest on.
    pub tolerance: String,
    /// Both directions; empty where nothing could be audited.
    pub directions: Vec<DirectionReport>,
    /// Why nothing was audited; `None` where something was.
    pub not_audited: Option<String>,
}

impl AuditReport {
    /// A run of which nothing can be audited.
    pub fn nothing(reason: impl Into<String>) -> Self {
        Self { tolerance: String::new(), directions: Vec::new(), not_audited: Some(reason.into()) }
    }

    /// Violations of all laws in both directions.
    pub fn violated(&self) -> u64 {
        self.laws().map(|(_, law)| law.violated).sum()
    }

    /// Each law with the name of its direction.
    pub fn laws(&self) -> impl Iterator<Item = (&str, &LawReport)> {
        self.directions.iter().flat_map(|one| one.laws.iter().map(|law| (&*one.direction, law)))
    }
}

/// The findings about one law while packets are compared.
pub(crate) struct Findings<'a> {
    report: LawReport,
    tap: &'a TapFacts,
}

/// Name and beginning of a tap.
#[derive(Clone, Debug)]
pub(crate) struct TapFacts {
    pub(crate) name: String,
    pub(crate) first: Option<Time>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet about packets that this tap saw.
    pub(crate) fn new(law: Law, tap: &'a TapFacts) -> Self {
        let report = LawReport { law, checked: 0, violated: 0, violations: Vec::new(), not_audited: Vec::new() };
        Self { report, tap }
    }

    pub(crate) fn checked(&mut self, packets: usize) {
        self.report.checked += packets as u64;
    }

    /// `message` is only asked for where it is listed.
    pub(crate) fn violated(&mut self, packet: &TapPacket, message: impl FnOnce() -> String) {
        let tap = self.tap;
        self.report.violated += 1;
        if self.report.violations.len() < MOST_LISTED {
            let since = tap.first.and_then(|first| packet.time.checked_since(first)).unwrap_or(Duration::ZERO);
            self.report.violations.push(Violation {
                frame: packet.frame,
                tap: tap.name.clone(),
                time_ns: since.as_nanos(),
                message: message(),
            });
        }
    }

    /// Violations so far.
    pub(crate) fn violations(&self) -> u64 {
        self.report.violated
    }

    pub(crate) fn not_audited(&mut self, reason: impl Into<String>) {
        self.report.not_audited.push(reason.into());
    }

    pub(crate) fn finish(self) -> LawReport {
        self.report
    }
}
