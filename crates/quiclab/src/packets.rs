//! `quiclab packets`

pub(crate) mod row;
mod waiting;

use std::{
    collections::BTreeMap,
    io::{self, BufWriter, StdoutLock, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_metrics::{Analysis, AnalysisSettings, PayloadKey, TapPlace};
use quiclab_record::layout::{CAPTURE_FILE, RUN_FILE, SENDER_TAP};
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_units::{Duration, ShowPath, Time, shown_lines};
use quiclab_wire::{Capture, CaptureReader, Dissector, DissectorSettings, FlowProtocol, Observed, Role, Segment};

use crate::{bounded_input, cli::PacketsArguments, diff::packets::content};
use row::{HEADING, Row};
use waiting::WaitingRows;

/// Version of the JSON. Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 1;

/// Lists packets. Returns 0.
///
/// # Errors
/// Where the capture or a key log cannot be read, or has no such tap.
pub fn packets(arguments: &PacketsArguments) -> Result<u8> {
    let (path, is_record) = capture_of(&arguments.path)?;
    let name = path.shown();
    let file = bounded_input::open(&path).with_context(|| format!("{name}: cannot be opened"))?;
    let mut reader = CaptureReader::new(file).with_context(|| name.clone())?;
    let server_port = arguments.server_port.or(is_record.then_some(SERVER_PORT));
    let mut dissector = Dissector::new(DissectorSettings { server_port, interfaces_are_one_tap: false });
    for keys in &arguments.keys {
        dissector.add_keys(
            &bounded_input::read(keys, bounded_input::MOST_KEY_LOG_BYTES).context("the key log cannot be read")?,
        );
    }
    let mut listing = Listing::new(arguments.tap.as_deref(), is_record);
    listing.show_around(arguments.around, arguments.span);
    let mut printer = Printer::new(arguments, &name);
    let mut printed = Ok(());
    let mut on_segment = |number, segment: &Segment, capture: &Capture| {
        dissector.add_secrets(&capture.secrets);
        if !listing.wants(segment, capture) {
            return ControlFlow::Continue(());
        }
        let observed = dissector.on_segment(segment);
        listing.on_segment(number, segment, observed.as_ref());
        while let (Ok(()), Some(row)) = (&printed, listing.rows.pop(segment.time)) {
            printed = printer.row(&row);
        }
        // Without a row so far, the end of the capture is still to be named.
        let is_over = printer.is_closed || (printer.rows > 0 && listing.is_over(segment.time));
        if is_over || printed.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    reader.for_each_segment(None, &mut on_segment).with_context(|| name.clone())?;
    printed?;
    while let Some(row) = listing.rows.pop_anyway() {
        printer.row(&row)?;
    }
    if let (Some(tap), None) = (&arguments.tap, listing.tap) {
        let taps: Vec<_> = (0..reader.summary().interfaces.len()).map(|tap| tap_name(reader.summary(), tap)).collect();
        bail!("{name}: found no packet at tap {tap:?}; its taps are {}", taps.join(", "));
    }
    let tap = listing.tap.map(|tap| tap_name(reader.summary(), tap as usize));
    printer.finish(tap.as_deref(), listing.last_ns, listing.nearest_ns)?;
    if let Some(cut) = reader.summary().truncation {
        status!(
            "quiclab: warning: {name}: the capture is truncated in the middle of a record at byte {}: packets after \
             it are missing",
            cut.byte_offset
        );
        return Ok(1);
    }
    Ok(0)
}

/// The capture at `path`, and whether it is that of a record.
pub(crate) fn capture_of(path: &Path) -> Result<(PathBuf, bool)> {
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

pub(crate) fn tap_name(capture: &Capture, tap: usize) -> String {
    let name = capture.interfaces.get(tap).and_then(|interface| interface.name.as_deref());
    name.map_or_else(|| format!("{tap}"), |name| format!("{name} ({tap})"))
}

/// Follows the capture and keeps the packets that are asked for.
pub(crate) struct Listing<'a> {
    wanted_tap: Option<&'a str>,
    is_record: bool,
    from_ns: u64,
    until_ns: Option<u64>,
    pub(crate) tap: Option<u32>,
    /// Time of the first packet at the tap.
    start: Option<Time>,
    /// Time of the last packet at the tap, since the first.
    last_ns: Option<u64>,
    /// Times of the last packet before those that are asked for, and of the first after them, where none is in between.
    nearest_ns: [Option<u64>; 2],
    analysis: Analysis,
    before: BTreeMap<(usize, Role), Time>,
    looks_behind: bool,
    pub(crate) rows: WaitingRows,
    /// The flow of the dissector as the analysis counts flows: those at the tap alone.
    flows: BTreeMap<usize, usize>,
}

impl<'a> Listing<'a> {
    /// Makes a listing of all packets. `wanted_tap`: name or number; `None`: the sender's, or that of the first packet.
    pub(crate) fn new(wanted_tap: Option<&'a str>, is_record: bool) -> Self {
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
            rows: WaitingRows::default(),
            flows: BTreeMap::new(),
        }
    }

    /// Only of those around a time.
    fn show_around(&mut self, around: Option<Duration>, span: Duration) {
        let (around, span) = (around.map(Duration::as_nanos), span.as_nanos());
        self.from_ns = around.map_or(0, |around| around.saturating_sub(span));
        self.until_ns = around.map(|around| around.saturating_add(span));
    }

    /// Whether the packet is at the tap, or at the one behind it. Finds the tap.
    pub(crate) fn wants(&mut self, segment: &Segment, capture: &Capture) -> bool {
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
                self.looks_behind = TapPlace::of(capture, segment.interface) == Some(TapPlace::Sender);
            }
        }
        match self.tap {
            Some(tap) => tap == segment.interface || self.looks_behind,
            // The client's first packets pass the other tap first, and show there who is the client.
            None => TapPlace::of(capture, segment.interface).is_some(),
        }
    }

    pub(crate) fn on_segment(&mut self, frame: u64, segment: &Segment, observed: Option<&Observed>) {
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
        // Only what the server sends passes the bottleneck after this tap; a TCP segment sent again is like the first.
        let is_quic = observed.connection.protocol() != FlowProtocol::Tcp;
        let payload = payload.filter(|_| observed.sender == Role::Server && is_quic);
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
                content: content(segment, observed),
            };
            self.rows.push(row, segment.time, observed, payload);
        } else if let Some(payload) = payload {
            self.rows.push_later(observed.sender, payload);
        }
    }

    /// Whether no packet can come any more that is asked for.
    fn is_over(&self, now: Time) -> bool {
        let since = self.start.and_then(|start| now.checked_since(start)).map_or(0, Duration::as_nanos);
        self.rows.is_empty() && self.until_ns.is_some_and(|until| since > until)
    }
}

/// Writes rows as they come.
struct Printer<'a> {
    arguments: &'a PacketsArguments,
    file: &'a str,
    rows: u64,
    /// The middle of the window has been passed.
    is_past: bool,
    output: BufWriter<StdoutLock<'static>>,
    /// Whoever reads has seen enough.
    is_closed: bool,
}

impl<'a> Printer<'a> {
    fn new(arguments: &'a PacketsArguments, file: &'a str) -> Self {
        Printer {
            arguments,
            file,
            rows: 0,
            is_past: false,
            output: BufWriter::new(io::stdout().lock()),
            is_closed: false,
        }
    }

    fn write(&mut self, text: &str) -> Result<()> {
        match self.output.write_all(shown_lines(text).as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            result => result.context("standard output"),
        }
    }

    fn row(&mut self, row: &Row) -> Result<()> {
        self.rows += 1;
        if self.arguments.output.json {
            let begin = if self.rows == 1 { self.json_begin()? } else { ",\n".to_owned() };
            return self.write(&(begin + &serde_json::to_string(row)?));
        }
        let around = self.arguments.around.filter(|around| row.time_ns >= around.as_nanos() && !self.is_past);
        self.is_past |= around.is_some();
        let mark = if around.is_some() { '>' } else { ' ' };
        let heading = if self.rows == 1 { format!("{HEADING}\n") } else { String::new() };
        self.write(&format!("{heading}{mark} {row}\n"))
    }

    fn json_begin(&self) -> Result<String> {
        Ok(format!(
            "{{\"schema\": {SCHEMA}, \"file\": {}, \"around_ns\": {}, \"span_ns\": {}, \"packets\": [\n",
            serde_json::to_string(self.file)?,
            serde_json::to_string(&self.arguments.around.map(Duration::as_nanos))?,
            serde_json::to_string(&self.arguments.around.map(|_| self.arguments.span.as_nanos()))?,
        ))
    }

    fn finish(mut self, tap: Option<&str>, last_ns: Option<u64>, nearest_ns: [Option<u64>; 2]) -> Result<()> {
        if self.arguments.output.json {
            let begin = if self.rows == 0 { self.json_begin()? } else { String::new() };
            self.write(&format!("{begin}\n], \"tap\": {}}}\n", serde_json::to_string(&tap)?))?;
        }
        if let Err(error) = self.output.flush()
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error).context("standard output");
        }
        if self.arguments.output.json {
            return Ok(());
        }
        let tap = tap.unwrap_or("none");
        match last_ns {
            None => status!("{}: no packet at the tap", self.file),
            Some(last) if self.rows == 0 => {
                let seconds = |ns: u64| format!("{:.9} s", ns as f64 / 1e9);
                let nearest: Vec<_> = nearest_ns.into_iter().flatten().map(seconds).collect();
                status!(
                    "{}: no packet within {} of that time; the nearest at tap {tap} are at {}, of packets from 0 to {}",
                    self.file,
                    self.arguments.span,
                    nearest.join(" and "),
                    seconds(last)
                );
            }
            Some(_) => status!("{}: {} packets at tap {tap}; times since its first packet", self.file, self.rows),
        }
        Ok(())
    }
}
