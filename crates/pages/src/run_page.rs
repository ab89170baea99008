//! The page of one run, from its record.

use std::{
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::{
    AnalysisSettings, SenderLogMeter, SeriesPoint, TIMELINE_POINTS, Timeline, TimelineMeter, analyze as analyze_capture,
};
use quiclab_record::{
    MOST_QLOG_BYTES, Record, TapRole,
    layout::{QLOG_FOLDER, SENDER_TAP, folder_of},
    qlog_files, wire_role,
};
use quiclab_report::RunPage;
use quiclab_units::{Bounded, Duration, ShowPath};
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, read_qlog};

use crate::{
    folder::{self, holds_results},
    host_pictures, path_summary,
    transfer::sequence::refuse_cut,
};

/// Where pages of single runs are, in a folder of results.
pub const PAGES_FOLDER: &str = "runs";

/// Reads a record's capture and the sender's log. `None` where nothing was captured.
///
/// # Errors
/// Where they are there and cannot be read.
pub fn read(record: &Record) -> Result<Option<RunPage>> {
    let path = record.capture();
    if !path.is_file() {
        return Ok(None);
    }
    let place = || path.shown();
    let sender_tap = record.observed.interface_of(TapRole::Sender).unwrap_or(SENDER_TAP);
    let train_threshold = record.run.run.settings.analysis.train_threshold;
    let reader = CaptureReader::new(open_unlinked(&path).with_context(place)?).with_context(place)?;
    let dissector = Dissector::new(DissectorSettings {
        server_port: Some(record.observed.server_port),
        interfaces_are_one_tap: false,
    });
    let end = record.run.run.settings.workload.sender.role();
    let sender = wire_role(end);
    let settings = AnalysisSettings {
        sender,
        train_threshold,
        pictures: true,
        picture_points: TIMELINE_POINTS,
        ..AnalysisSettings::default()
    };
    let behind = record.observed.interface_of(TapRole::BehindBottleneck);
    let mut meter = TimelineMeter::new(sender, sender_tap, behind, train_threshold);
    let analysis =
        analyze_capture(reader, dissector, settings, &mut |_, segment, observed| meter.on_packet(segment, observed))
            .with_context(place)?;
    refuse_cut(&path, analysis.capture.truncation)?;
    let mut timeline = meter.finish();
    withhold_crossing(record, &mut timeline);
    let origin = timeline.first_packet;
    // The flow that was measured: the sender's largest one at its tap.
    let flow = analysis
        .directions
        .iter()
        .filter(|it| it.sender == sender && analysis.flows[it.flow].interface == sender_tap)
        .max_by_key(|it| (it.run.metrics.packets_sent, std::cmp::Reverse(it.flow)));
    let Some(flow) = flow else { return Ok(None) };
    let start = timeline.flow_start_ns.get(&flow.flow).copied().unwrap_or(0);
    let shifted = |points: &[SeriesPoint]| {
        points.iter().map(|point| SeriesPoint { time_ns: point.time_ns + start, ..*point }).collect()
    };
    let acks_are_known = flow.run.metrics.bytes_in_flight_max.is_some();
    let known = |points| if acks_are_known { shifted(points) } else { Vec::new() };
    let none = std::collections::BTreeMap::new();
    let log = sender_log(&record.folder, end)?.map(|log| log.finish(timeline.numbers.get(&flow.flow).unwrap_or(&none)));
    Ok(Some(RunPage {
        record: record.folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        run: record.run.run.clone(),
        metrics: record.metrics.clone(),
        server_start_ns: timeline.sender_start_ns.get(&flow.flow).copied().unwrap_or(start),
        bytes_in_flight: known(&flow.pictures.bytes_in_flight),
        rtt_ns: known(&flow.pictures.rtt_ns),
        lost_ns: flow.pictures.lost.iter().filter(|_| acks_are_known).map(|(time, _)| time + start).collect(),
        log,
        timeline,
        path: Some(path_summary::summary(&record.run.run, &record.observed)),
        host: host_pictures::read(&record.folder, origin)?,
        ladder: None,
        look: None,
        facts: None,
    }))
}

/// Withholds times between the taps on several hosts, where they are those of two clocks that are not known well enough.
fn withhold_crossing(record: &Record, timeline: &mut Timeline) {
    let shortest = timeline.smallest_crossing_ns.map(Duration::from_nanos);
    let reason = record.observed.clocks.as_ref().zip(shortest);
    if let Some(reason) = reason.and_then(|(clocks, shortest)| clocks.why_not_between_taps(shortest)) {
        timeline.withhold_crossing(reason);
    }
}

/// The log of the sender's that tells most of its window and rate. `None` where none does.
fn sender_log(record: &Path, sender: quiclab_experiment::stack::Role) -> Result<Option<SenderLogMeter>> {
    let mut best: Option<SenderLogMeter> = None;
    for file in qlog_files(&record.join(folder_of(sender)).join(QLOG_FOLDER))? {
        let log = open_unlinked(&file).with_context(|| file.shown())?;
        let mut meter = SenderLogMeter::default();
        // A log that is cut or damaged is shown up to there; the metrics warn of it.
        let _ = read_qlog(BufReader::new(Bounded::new(log, MOST_QLOG_BYTES)), &mut |event| meter.on_event(&event));
        if meter.values() > best.as_ref().map_or(0, SenderLogMeter::values) {
            best = Some(meter);
        }
    }
    Ok(best)
}

/// Where the page of a record belongs: in the folder of results that it is part of, or beside it.
///
/// # Errors
/// Where there is no such record.
pub fn place(record: &Path) -> Result<(PathBuf, String)> {
    let record = fs::canonicalize(record).with_context(|| record.shown())?;
    let name = format!("{}.html", record.file_name().unwrap_or_default().to_string_lossy());
    let parent = record.parent().unwrap_or(Path::new("."));
    Ok(if holds_results(parent) { (parent.join(PAGES_FOLDER), name) } else { (parent.to_owned(), name) })
}

/// Writes a page.
///
/// # Errors
/// Where it cannot be written.
pub fn write(page: &RunPage, folder: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| folder.shown())?;
    folder::write(folder, name, quiclab_report::render_run_html(page))
}
