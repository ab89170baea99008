//! The packets at one tap of a capture, as rows that know what became of each.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use quiclab_metrics::{Analysis, AnalysisSettings, PayloadKey, TapPlace};
use quiclab_record::layout::{CAPTURE_FILE, RUN_FILE, SENDER_TAP};
use quiclab_units::{Duration, ShowPath, Time};
use quiclab_wire::{Capture, FlowProtocol, Observed, Role, Segment};

use super::{row::Row, sequence::content, waiting::WaitingRows};

/// The capture at `path`, and whether it is that of a record.
///
/// # Errors
/// Where it is a folder without a capture.
pub fn capture_of(path: &Path) -> Result<(PathBuf, bool)> {
    let name = path.shown();
    if path.is_dir() {
        let capture = path.join(CAPTURE_FILE);
        if capture.is_file() {
            return Ok((capture, true));
        }
        bail!("{name}: found a folder without {CAPTURE_FILE}, expected a record's folder or a capture file");
    }
    let is_record = path.with_file_name(RUN_FILE).is_file() && path.ends_with(CAPTURE_FILE);
    Ok((path.to_owned(), is_record))
}

/// Names of the frames of a datagram, each once.
fn frame_names(observed: &Observed) -> Vec<&'static str> {
    let mut names = Vec::new();
    for frame in observed.packets.iter().flat_map(|packet| &observed.frames[packet.frames.clone()]) {
        if !names.contains(&frame.name()) {
            names.push(frame.name());
        }
    }
    names
}

/// The name of a tap, with its number.
pub fn tap_name(capture: &Capture, tap: usize) -> String {
    let name = capture.interfaces.get(tap).and_then(|interface| interface.name.as_deref());
    name.map_or_else(|| format!("{tap}"), |name| format!("{name} ({tap})"))
}

/// Follows the capture and keeps the packets that are asked for.
pub struct Listing<'a> {
    wanted_tap: Option<&'a str>,
    is_record: bool,
    from_ns: u64,
    until_ns: Option<u64>,
    /// Number of the tap, once a packet of it was seen.
    pub tap: Option<u32>,
    /// Time of the first packet at the tap.
    start: Option<Time>,
    /// Time of the last packet at the tap, since the first.
    pub last_ns: Option<u64>,
    /// Times of the last packet before those that are asked for, and of the first after them, where none is in between.
    pub nearest_ns: [Option<u64>; 2],
    analysis: Analysis,
    before: BTreeMap<(usize, Role), Time>,
    looks_behind: bool,
    /// The end whose packets the taps are there for.
    sender: Role,
    /// The packets that are asked for, until they are taken.
    pub rows: WaitingRows,
    /// The flow of the dissector as the analysis counts flows: those at the tap alone.
    flows: BTreeMap<usize, usize>,
}

impl<'a> Listing<'a> {
    /// Makes a listing of all packets. `wanted_tap`: name or number; `None`: the sender's, or that of the first packet.
    pub fn new(wanted_tap: Option<&'a str>, is_record: bool) -> Self {
        Listing {
            wanted_tap,
            is_record,
            from_ns: 0,
            until_ns: None,
            tap: None,
            start: None,
            last_ns: None,
            nearest_ns: [None; 2],
            analysis: Analysis::new(AnalysisSettings::default()),
            before: BTreeMap::new(),
            looks_behind: false,
            sender: Role::Server,
            rows: WaitingRows::default(),
            flows: BTreeMap::new(),
        }
    }

    /// Leaves out packets that are not around a time.
    pub fn show_around(&mut self, around: Option<Duration>, span: Duration) {
        let (around, span) = (around.map(Duration::as_nanos), span.as_nanos());
        self.from_ns = around.map_or(0, |around| around.saturating_sub(span));
        self.until_ns = around.map(|around| around.saturating_add(span));
    }

    /// Whether the packet is at the tap, or at the one behind it. Finds the tap.
    pub fn wants(&mut self, segment: &Segment, capture: &Capture) -> bool {
        if self.tap.is_none() {
            let name = capture.interfaces.get(segment.interface as usize).and_then(|it| it.name.as_deref());
            let is_tap = match self.wanted_tap {
                Some(wanted) => name == Some(wanted) || wanted.parse() == Ok(segment.interface),
                None => match TapPlace::of(capture, segment.interface) {
                    Some(place) => place == TapPlace::Sender,
                    None => !self.is_record || segment.interface == SENDER_TAP,
                },
            };
            if is_tap {
                self.tap = Some(segment.interface);
                self.sender = TapPlace::sender(capture).unwrap_or(Role::Server);
                self.looks_behind = TapPlace::of(capture, segment.interface) == Some(TapPlace::Sender);
            }
        }
        match self.tap {
            Some(tap) => tap == segment.interface || self.looks_behind,
            // The client's first packets pass the other tap first, and show there who is the client.
            None => TapPlace::of(capture, segment.interface).is_some(),
        }
    }

    /// Follows a packet that [`Listing::wants`]. `frame`: its number in the capture.
    pub fn on_segment(&mut self, frame: u64, segment: &Segment, observed: Option<&Observed>) {
        let is_at_tap = self.tap == Some(segment.interface);
        let payload = PayloadKey::of(segment).filter(|_| self.looks_behind);
        if !is_at_tap {
            if let (Some(payload), Some(observed)) = (payload, observed) {
                self.rows.on_behind(observed.sender, payload, segment.time);
            }
            return;
        }
        let start = *self.start.get_or_insert(segment.time);
        let time_ns = segment.time.checked_since(start).map_or(0, Duration::as_nanos);
        self.last_ns = self.last_ns.max(Some(time_ns));
        if time_ns < self.from_ns {
            self.nearest_ns[0] = self.nearest_ns[0].max(Some(time_ns));
        } else if self.until_ns.is_some_and(|until| time_ns > until) {
            self.nearest_ns[1] = Some(self.nearest_ns[1].map_or(time_ns, |nearest| nearest.min(time_ns)));
        }
        let Some(observed) = observed else { return };
        let next = self.flows.len();
        let flow = *self.flows.entry(observed.flow).or_insert(next);
        let observed = &Observed { flow, ..*observed };
        self.analysis.on_packet(segment, observed);
        for packet in observed.packets {
            for frame in &observed.frames[packet.frames.clone()] {
                if let Some(ack) = frame.acknowledgment() {
                    self.rows.on_ack(flow, observed.sender.peer(), packet.form, ack, segment.time);
                }
            }
        }
        // Only what the measured sender sends passes the bottleneck after this tap; a TCP segment sent again is like the first.
        let is_quic = observed.connection.protocol() != FlowProtocol::Tcp;
        let payload = payload.filter(|_| observed.sender == self.sender && is_quic);
        let before = self.before.insert((flow, observed.sender), segment.time);
        if time_ns >= self.from_ns && self.until_ns.is_none_or(|until| time_ns <= until) {
            let gap = before.and_then(|before| segment.time.checked_since(before));
            let bytes_in_flight = self.analysis.bytes_in_flight(flow, observed.sender);
            let row = Row {
                frame,
                time_ns,
                gap_ns: gap.map(Duration::as_nanos),
                flow,
                sender: observed.sender.name(),
                bytes: segment.frame_length,
                bytes_in_flight,
                acknowledged_after_ns: None,
                // What is in flight is known where acknowledgments are; TCP's losses are not looked for.
                is_lost: bytes_in_flight.filter(|_| is_quic).map(|_| false),
                is_dropped: None,
                behind_bottleneck_after_ns: None,
                frames: frame_names(observed),
                content: content(segment, observed),
            };
            self.rows.push(row, segment.time, observed, payload);
        } else if let Some(payload) = payload {
            self.rows.push_later(observed.sender, payload);
        }
    }

    /// Whether no packet can come any more that is asked for.
    pub fn is_over(&self, now: Time) -> bool {
        let since = self.start.and_then(|start| now.checked_since(start)).map_or(0, Duration::as_nanos);
        self.rows.is_empty() && self.until_ns.is_some_and(|until| since > until)
    }
}
