//! The page of one transfer, packet by packet, and what it takes from a capture, a record and logs.

mod extras;
mod facts;
pub mod window;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufReader},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::id_of_folder;
use quiclab_inputs::{open_regular, open_unlinked};
use quiclab_metrics::{
    AnalysisSettings, CaptureAnalysis, DEFAULT_TRAIN_THRESHOLD, Evidence, PacketFacts, PlannedTimes, RunMetrics,
    SenderLogMeter, analyze, judge,
};
use quiclab_record::{
    MOST_QLOG_BYTES, Profile, Record,
    layout::{QLOG_FOLDER, RUN_FILE, folder_of},
    measure::planned_times,
    profiles, qlog_files, wire_role,
};
use quiclab_report::{LookTransfer, render_look_html};
use quiclab_testbed::contract::SERVER_PORT;
use quiclab_units::{Bounded, Duration, ShowPath};
use quiclab_wire::{
    Capture, CaptureReader, Decompressed, Dissector, DissectorSettings, QlogEventKind, Role, Segment, read_qlog,
};

use super::{
    listing::{Listing, capture_of, tap_name},
    logs::planned_keys,
};
use crate::{folder, run_page};
use extras::{Extras, SeenPacket};
use window::Window;

/// What is read in addition to the capture, and which part of it.
pub struct PageInputs<'a> {
    /// Opens a file that the user named.
    pub open: fn(&Path) -> io::Result<File>,
    /// Reads the key logs.
    pub read_keys: &'a dyn Fn() -> Result<Vec<u8>>,
    /// qlogs of the server; those of the record where there are none.
    pub qlog: &'a [PathBuf],
    /// The tap, by name or number.
    pub tap: Option<&'a str>,
    /// Port of the server.
    pub port: Option<u16>,
    /// The times that are shown.
    pub window: Window,
}

impl Default for PageInputs<'_> {
    /// What a record needs: no keys but those in its capture, which is a regular file.
    fn default() -> Self {
        let window = Window::default();
        Self { open: open_regular, read_keys: &|| Ok(Vec::new()), qlog: &[], tap: None, port: None, window }
    }
}

/// A transfer with all that is known of its packets.
pub struct PagedTransfer {
    /// The transfer as the page shows it.
    pub transfer: LookTransfer,
    /// Facts for verdicts. `None`: not all packets were looked at.
    pub facts: Option<PacketFacts>,
    /// Whether the capture is cut off.
    pub is_cut: bool,
    /// CPU time by function, by role; of runs with `tap.profile`.
    pub profiles: Vec<(&'static str, Profile)>,
    /// Profiles that are missing or damaged.
    pub missing_profiles: Vec<String>,
}

/// Looks at a record. `None`: its capture has no packets of a server.
///
/// # Errors
/// As [`transfer`].
pub fn of_record(record: &Path) -> Result<Option<PagedTransfer>> {
    transfer(record, &PageInputs::default())
}

/// Says that a capture has no packets of a server.
pub fn no_server(path: &Path, window: Window) -> String {
    format!("{}: found no packets of a server{window}, expected a transfer of QUIC or TCP", path.shown())
}

/// Writes the page of two records, and gives it.
///
/// # Errors
/// As [`transfer`], and where the page cannot be written.
pub fn write_both(records: [&Path; 2], page: &Path) -> Result<PathBuf> {
    let [one, other] = records.map(|record| of_record(record)?.with_context(|| no_server(record, Window::default())));
    let mut transfers = [one?.transfer, other?.transfer];
    name_apart(&mut transfers, &records.map(Path::to_owned));
    folder::write_at(page, render_look_html(&transfers))?;
    Ok(page.to_owned())
}

/// Transfers with the same name are called by their paths.
pub fn name_apart(transfers: &mut [LookTransfer], paths: &[PathBuf]) {
    if let [one, other] = transfers
        && one.name == other.name
    {
        (one.name, other.name) = (paths[0].shown().to_string(), paths[1].shown().to_string());
    }
}

/// Where the page of a record or capture, or of two, is written where the user names no file: a record's with the other pages of its run, that
/// of a capture in the current folder.
///
/// # Errors
/// Where the folder of the pages cannot be made.
pub fn place(paths: &[PathBuf]) -> Result<PathBuf> {
    let Some(first) = paths.first() else { bail!("found no record, expected one") };
    // The identity of the second run tells enough, and file names have an end.
    let others = paths[1..].iter().map(|path| {
        let name = stem(path);
        format!("-with-{}", id_of_folder(&name).unwrap_or(&name))
    });
    let name = format!("{}{}-look.html", stem(first), others.collect::<String>());
    if !first.is_dir() {
        return Ok(name.into());
    }
    let (folder, _) = run_page::place(first)?;
    fs::create_dir_all(&folder).with_context(|| folder.shown())?;
    Ok(folder.join(name))
}

/// The name of a record or a capture, for that of its page.
fn stem(path: &Path) -> String {
    let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
    name.map_or_else(|| "capture".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Reads a transfer. `None`: there are no packets of a server.
///
/// # Errors
/// Where a file cannot be read, or has no such tap.
pub fn transfer(path: &Path, arguments: &PageInputs) -> Result<Option<PagedTransfer>> {
    let (capture, is_record) = capture_of(path)?;
    let record_folder = capture.parent().filter(|folder| is_record && folder.join(RUN_FILE).is_file());
    let record = record_folder.map(Record::load).transpose()?;
    let end = record
        .as_ref()
        .map_or(quiclab_experiment::stack::Role::Server, |record| record.run.run.settings.workload.sender.role());
    let sender = wire_role(end);
    let key_log = (arguments.read_keys)()?;
    let settings = || DissectorSettings {
        server_port: arguments.port.or(is_record.then_some(SERVER_PORT)),
        interfaces_are_one_tap: false,
    };
    let (log, logged) = match &record {
        Some(record) if arguments.qlog.is_empty() => {
            read_logs(&qlog_files(&record.folder.join(folder_of(end)).join(QLOG_FOLDER))?, open_unlinked)
        }
        _ => read_logs(arguments.qlog, arguments.open),
    }?;
    let listed = record.as_ref().map(|record| planned_times(&record.folder, end)).transpose()?.flatten();
    let planned = listed.unwrap_or(logged);
    let mut read = read_packets(&capture, &key_log, settings(), arguments, is_record, (sender, &planned))?;
    if let Some(clocks) = record.as_ref().and_then(|record| record.observed.clocks.as_ref()) {
        read.withhold_crossings(|shortest| clocks.why_not_between_taps(shortest));
    }
    let flow = read.largest_flow();
    let Some(flow) = flow else { return Ok(None) };
    let run = match &record {
        Some(record) => record.metrics.clone(),
        None => measured(&capture, arguments.open, &key_log, settings(), (sender, read.tap))?,
    };
    let threshold = record.as_ref().map_or(DEFAULT_TRAIN_THRESHOLD, |it| it.run.run.settings.analysis.train_threshold);
    let is_cut = read.is_cut;
    // Of packets that were not read, a rule can say nothing.
    let facts = read.is_whole.then(|| facts::of(&read.packets, flow, sender));
    let verdicts = judge(&Evidence { run: &run, packets: facts.as_ref() });
    let name = stem(path);
    let transfer = read.into_transfer(name, flow, log, threshold, verdicts, &run);
    let (profiles, missing_profiles) = record.as_ref().map(profiles).unwrap_or_default();
    Ok(Some(PagedTransfer { transfer, facts, is_cut, profiles, missing_profiles }))
}

/// The qlog that tells most of window and rate, and all planned times.
fn read_logs(files: &[PathBuf], open: fn(&Path) -> io::Result<File>) -> Result<(Option<SenderLogMeter>, PlannedTimes)> {
    let mut best: Option<SenderLogMeter> = None;
    let mut planned = PlannedTimes::default();
    for file in files {
        let log = open(file).with_context(|| format!("{}: cannot be opened", file.shown()))?;
        let log = Decompressed::detect(log).with_context(|| file.shown())?;
        let mut meter = SenderLogMeter::default();
        // A log that is cut or damaged is shown up to there; the metrics warn of it.
        let _ = read_qlog(BufReader::new(Bounded::new(log, MOST_QLOG_BYTES)), &mut |event| {
            meter.on_event(&event);
            if let QlogEventKind::PacketSent(packet) = &event.kind
                && let Some(time) = packet.planned_time_ns
            {
                planned.insert(&planned_keys(packet), time);
            }
        });
        if meter.values() > best.as_ref().map_or(0, SenderLogMeter::values) {
            best = Some(meter);
        }
    }
    Ok((best, planned))
}

/// What was read of a capture.
struct ReadPackets {
    packets: Vec<SeenPacket>,
    /// The end that the page is about.
    sender: Role,
    tap: Option<u32>,
    tap_name: String,
    /// Whether the capture ends in the middle of a packet.
    is_cut: bool,
    /// Whether all its packets were read.
    is_whole: bool,
    /// When each flow's server began to send, in ns since the first packet at the tap.
    server_starts: BTreeMap<usize, u64>,
    /// What the page does not show, and why.
    notes: Vec<String>,
}

fn read_packets(
    path: &Path,
    key_log: &[u8],
    settings: DissectorSettings,
    arguments: &PageInputs,
    is_record: bool,
    (sender, planned): (Role, &PlannedTimes),
) -> Result<ReadPackets> {
    let name = path.shown();
    let &PageInputs { open, tap, window, .. } = arguments;
    let file = open(path).with_context(|| format!("{name}: cannot be opened"))?;
    let input = Decompressed::detect(file).with_context(|| name.clone())?;
    let mut reader = CaptureReader::new(input).with_context(|| name.clone())?;
    let mut dissector = Dissector::new(settings);
    dissector.add_keys(key_log);
    let mut listing = Listing::new(tap, is_record);
    let mut extras = Extras::new(sender, planned, window);
    let mut on_segment = |number, segment: &Segment, capture: &Capture| {
        dissector.add_secrets(&capture.secrets);
        if !listing.wants(segment, capture) {
            return ControlFlow::Continue(());
        }
        let observed = dissector.on_segment(segment);
        listing.on_segment(number, segment, observed.as_ref());
        if let (true, Some(observed)) = (listing.tap == Some(segment.interface), &observed) {
            extras.on_packet(segment, observed);
        }
        while let Some(row) = listing.rows.pop(segment.time) {
            extras.join(row);
        }
        if extras.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    reader.for_each_segment(None, &mut on_segment).with_context(|| name.clone())?;
    while let Some(row) = listing.rows.pop_anyway().filter(|_| !extras.is_over()) {
        extras.join(row);
    }
    let is_whole = !extras.is_over() && window.is_everything();
    if let (Some(tap), None) = (tap, listing.tap) {
        let summary = reader.summary();
        let taps: Vec<_> = (0..summary.interfaces.len()).map(|tap| tap_name(summary, tap)).collect();
        bail!("{name}: found no packet at tap {tap:?}; its taps are {}", taps.join(", "));
    }
    let tap_name = listing.tap.map_or_else(String::new, |tap| tap_name(reader.summary(), tap as usize));
    let mut notes = Vec::new();
    notes.extend(extras.what_is_missing());
    let cut = reader.summary().truncation;
    if let Some(cut) = cut {
        let at = cut.byte_offset;
        notes.push(format!(
            "The capture is truncated in the middle of a record at byte {at}: packets after it are missing."
        ));
    }
    let (packets, server_starts) = extras.finish();
    let is_cut = cut.is_some();
    Ok(ReadPackets { sender, packets, tap: listing.tap, tap_name, is_cut, is_whole, server_starts, notes })
}

/// The metrics of a capture's largest sender in this role at the tap.
fn measured(
    path: &Path,
    open: fn(&Path) -> io::Result<File>,
    key_log: &[u8],
    settings: DissectorSettings,
    (sender, tap): (Role, Option<u32>),
) -> Result<RunMetrics> {
    let file = open(path).with_context(|| path.shown())?;
    let input = Decompressed::detect(file).with_context(|| path.shown())?;
    let reader = CaptureReader::new(input).with_context(|| path.shown())?;
    let mut dissector = Dissector::new(settings);
    dissector.add_keys(key_log);
    let CaptureAnalysis { directions, flows, .. } =
        analyze(reader, dissector, AnalysisSettings { sender, ..AnalysisSettings::default() }, &mut |_, _, _| {})
            .with_context(|| path.shown())?;
    let of_senders = directions.into_iter().filter(|it| it.sender == sender && Some(flows[it.flow].interface) == tap);
    let largest = of_senders.max_by_key(|it| (it.run.metrics.packets_sent, std::cmp::Reverse(it.flow)));
    Ok(largest.map_or_else(RunMetrics::empty, |it| it.run))
}

impl ReadPackets {
    /// Takes times between the taps away where they mean nothing; `why` gets the shortest.
    fn withhold_crossings(&mut self, why: impl Fn(Duration) -> Option<String>) {
        let shortest = self.packets.iter().filter_map(|seen| seen.row.behind_bottleneck_after_ns).min();
        let Some(why) = shortest.and_then(|shortest| why(Duration::from_nanos(shortest))) else { return };
        self.packets.iter_mut().for_each(|seen| seen.row.behind_bottleneck_after_ns = None);
        self.notes.push(format!("The wait in the bottleneck's queue is not shown: {why}."));
    }

    /// The flow in which an end in the sender's role sent most packets.
    fn largest_flow(&self) -> Option<usize> {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        for seen in self.packets.iter().filter(|seen| seen.row.sender == self.sender.name()) {
            *counts.entry(seen.row.flow).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(flow, count)| (*count, std::cmp::Reverse(*flow))).map(|(flow, _)| flow)
    }

    fn into_transfer(
        self,
        name: String,
        flow: usize,
        log: Option<SenderLogMeter>,
        threshold: Duration,
        verdicts: quiclab_metrics::Verdicts,
        run: &RunMetrics,
    ) -> LookTransfer {
        let sender = self.sender;
        let seen: Vec<SeenPacket> = self.packets.into_iter().filter(|seen| seen.row.flow == flow).collect();
        let is_sent = |seen: &&SeenPacket| seen.row.sender == sender.name();
        let numbers = seen.iter().filter(is_sent).filter_map(|it| Some((it.number?, it.row.time_ns))).take(4_000);
        let log = log.map(|log| log.finish(&numbers.collect()));
        let lateness = extras::lateness(&seen);
        LookTransfer {
            name,
            tap: self.tap_name,
            server_start_ns: self.server_starts.get(&flow).copied().unwrap_or(0),
            train_threshold_ns: threshold.as_nanos(),
            packets: seen.into_iter().zip(lateness).map(|(seen, late)| seen.into_packet(sender, late)).collect(),
            log,
            verdicts,
            notes: self.notes,
            warnings: run.warnings.iter().map(|warning| warning.message.clone()).collect(),
        }
    }
}
