//! From the files of a record to its metrics, and what is to be looked at before they are trusted.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::BufReader,
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_experiment::run::{Pacing, Run};
use quiclab_metrics::{
    AnalysisSettings, Observation, Plan, PlannedListError, PlannedTimes, RunMetrics, SlowStartLog, WarningCode,
    WindowChanges, analyze, measure,
};
use quiclab_orders::{
    addresses::TO_CLIENT,
    places::QLOG,
    report::{MOST_STRAY_FILES, QdiscCounters, Report},
};
use quiclab_units::Duration;
use quiclab_wire::{
    CaptureReader, Dissector, DissectorSettings, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace, Role, read_qlog,
};

use crate::contract::SERVER_PORT;

/// Where a server writes the send times that it planned, in its folder of logs.
const PLANNED_FILE: &str = "planned.csv";
/// Interface of the capture at the sender's egress.
pub const SENDER_TAP: u32 = 0;
/// Interface of the capture behind the bottleneck.
const BOTTLENECK_TAP: u32 = 1;
/// The handle of what stands at the root; the token bucket there counts the drops of the delay line inside it as its own.
const ROOT_HANDLE: &str = "1:0";
/// Share of the buffers that may come without a rate.
const MOST_UNPACED: f64 = 0.05;

/// Measures the capture of a run.
///
/// # Errors
/// Where it cannot be read.
pub fn measure_record(capture: &Path, run: &Run, report: &Report) -> Result<RunMetrics> {
    let response_bytes = Some(run.settings.workload.all_bytes());
    let (plan, unread) = planned(capture)?;
    let window_log = window_log(capture.parent().unwrap_or(Path::new("")))?;
    let settings = AnalysisSettings {
        train_threshold: run.settings.analysis.train_threshold,
        response_bytes,
        plans: plan.into_iter().collect(),
        slow_start_log: window_log.as_ref().and_then(|log| log.slow_start.first_packet_behind()),
        ..AnalysisSettings::default()
    };
    let dissector = Dissector::new(DissectorSettings { server_port: Some(SERVER_PORT), interfaces_are_one_tap: false });
    let reader = CaptureReader::new(File::open(capture)?)?;
    let analysis = analyze(reader, dissector, settings, &mut |_, _, _| {})?;
    let bottleneck = report.qdiscs.iter().find(|queue| queue.interface == TO_CLIENT && queue.handle == ROOT_HANDLE);
    let observation = Observation {
        sender_tap: SENDER_TAP,
        bottleneck_tap: (report.taps.len() > 1).then_some(BOTTLENECK_TAP),
        response_bytes,
        client_lifetime: report.client_lifetime_ns.map(Duration::from_nanos),
        queue_drops_packets: bottleneck.map(|queue| u64::from(queue.drops)),
        capture_losses_packets: losses(report),
        cpu_busy_share: report.cpu_use.map(|used| used.share),
        ..Observation::of_port(SERVER_PORT)
    };
    let mut metrics = measure(&analysis, &observation);
    if let Some(error) = unread {
        metrics.warn(
            WarningCode::PlannedTimesUnread,
            format!("server/{PLANNED_FILE}: {error}; precision is not measured"),
        );
    }
    if let Some(log) = window_log {
        let changes = WindowChanges::of(log.windows.iter().map(|(_, bytes)| *bytes));
        metrics.metrics.congestion_window_reductions = Some(changes.reductions);
        metrics.metrics.congestion_window_restorations = Some(changes.restorations);
    }
    warn_of_send_times(run, report, &mut metrics);
    warn_of_endpoints(report, &mut metrics);
    Ok(metrics)
}

/// The send times that the server planned, from its own list beside the capture, if it wrote one; or what is wrong with that.
fn planned(capture: &Path) -> Result<(Option<Plan>, Option<PlannedListError>)> {
    let path = capture.with_file_name("server").join(PLANNED_FILE);
    if !path.is_file() {
        return Ok((None, None));
    }
    let text = fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(match PlannedTimes::of_list(&String::from_utf8_lossy(&text)) {
        Ok(times) => (Some(Plan { sender: Role::Server, original_destination_connection_id: None, times }), None),
        Err(error) => (None, Some(error)),
    })
}

/// The server's congestion window in a record, by its own log: nanoseconds since its log began, and bytes. `None` where it wrote no log, or
/// no window into it. A log that ends in the middle tells what it tells; one of several connections is that of the longest.
///
/// # Errors
/// Where the log's folder cannot be read.
pub fn congestion_windows(record: &Path) -> Result<Option<Vec<(u64, u64)>>> {
    let Some(log) = window_log(record)? else { return Ok(None) };
    let first = log.windows.first().map_or(0, |(time, _)| *time);
    let since = |time: i64| u64::try_from(time - first).unwrap_or(0);
    Ok(Some(log.windows.into_iter().map(|(time, bytes)| (since(time), bytes)).collect()))
}

/// What a sender's log says of its congestion window.
#[derive(Default)]
struct WindowLog {
    /// Time in ns and bytes.
    windows: Vec<(i64, u64)>,
    slow_start: SlowStartLog,
}

/// The log of the connection with most updates of its window; `None` where no log has any.
fn window_log(record: &Path) -> Result<Option<WindowLog>> {
    let folder = record.join("server").join(QLOG);
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut longest = WindowLog::default();
    let mut files: Vec<_> = fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    for file in files {
        let mut log = WindowLog::default();
        let Ok(text) = File::open(&file) else { continue };
        // What is no qlog says nothing; the stack's own files may lie here as well.
        let _ = read_qlog(BufReader::new(text), &mut |event| match event.kind {
            QlogEventKind::Metrics(QlogMetrics { congestion_window_bytes: Some(bytes), .. }) => {
                log.slow_start.on_window(bytes);
                log.windows.push((event.time_ns, bytes));
            }
            QlogEventKind::CongestionState { new } => log.slow_start.on_state(&new),
            QlogEventKind::PacketSent(QlogPacket {
                space: Some(QlogSpace::OneRtt),
                packet_number: Some(number),
                ..
            }) => {
                log.slow_start.on_sent(number);
            }
            _ => {}
        });
        if log.windows.len() > longest.windows.len() {
            longest = log;
        }
    }
    Ok(Some(longest).filter(|log| !log.windows.is_empty()))
}

/// The outermost queueing discipline of the server's interface; `None` where it has none.
pub fn server_queue(report: &Report) -> Option<&QdiscCounters> {
    report.qdiscs.iter().find(|queue| queue.namespace == "server" && queue.handle == ROOT_HANDLE)
}

/// What the server's own queue did that the settings did not ask for.
fn warn_of_send_times(run: &Run, report: &Report, metrics: &mut RunMetrics) {
    for queue in report.qdiscs.iter().filter(|queue| queue.namespace == "server" && queue.drops > 0) {
        let own: Vec<_> = queue.own.iter().filter(|(name, count)| name.ends_with("drops") && **count > 0).collect();
        let causes: Vec<_> = own.iter().map(|(name, count)| format!("{name}: {count}")).collect();
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        let message = format!(
            "{} at the server dropped {} packets{causes}, which never reached the tap",
            queue.kind, queue.drops
        );
        metrics.warn(WarningCode::ServerQueueDrops, message);
    }
    for queue in &report.qdiscs {
        let count = |name: &str| queue.own.get(name).copied().unwrap_or(0);
        let (buffers, unpaced) = (count("buffers"), count("unpaced"));
        // Until the first sample of the round-trip time there is no rate.
        if unpaced as f64 > MOST_UNPACED * buffers as f64 {
            let message =
                format!("{unpaced} of {buffers} buffers came without a rate, and their packets left back to back");
            metrics.warn(WarningCode::SegmentsNotPaced, message);
        }
    }
    let hands_over = run.settings.stack.pacing == Pacing::Txtime;
    if hands_over && metrics.metrics.precision_samples.is_none() {
        let message = "the stack writes no list of its planned send times: precision is not measured".to_owned();
        metrics.warn(WarningCode::PlannedTimesMissing, message);
    }
}

/// What an endpoint did that it should not have done, and that does not make the run fail.
fn warn_of_endpoints(report: &Report, metrics: &mut RunMetrics) {
    for (role, end) in [("server", &report.server), ("client", &report.client)] {
        let Some(end) = end else { continue };
        if end.processes_left > 0 {
            let message = format!("the {role} had ended and left {} processes behind", end.processes_left);
            metrics.warn(WarningCode::ProcessesLeft, message);
        }
        if !end.stray_files.is_empty() {
            let more = if end.stray_files.len() < MOST_STRAY_FILES { "" } else { ", and perhaps more" };
            let message = format!("the {role} wrote outside of its folders: {}{more}", end.stray_files.join(", "));
            metrics.warn(WarningCode::StrayFiles, message);
        }
    }
    for (name, bytes) in &report.cut {
        metrics.warn(WarningCode::LogCut, format!("{name}: the last {bytes} bytes were not kept"));
    }
    for what in &report.lost_logs {
        metrics.warn(WarningCode::LogCut, what.clone());
    }
}

fn losses(report: &Report) -> BTreeMap<String, u64> {
    report.taps.iter().map(|tap| (tap.name.clone(), tap.packets_lost)).collect()
}
