//! From the files of a record to its metrics, and what to look at before trusting them.

use std::{collections::BTreeMap, io::Read, path::Path};

use quiclab_experiment::{
    run::{Pacing, Run, word},
    stack::Role,
};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::{
    AnalysisSettings, Observation, Plan, PlannedListError, PlannedTimes, RunMetrics, WarningCode, WindowChanges,
    analyze, measure,
};
use quiclab_path::spec::StageSettings;
use quiclab_wire::{CaptureError, CaptureReader, Dissector, DissectorSettings};

use crate::{
    ClocksSeen, ForwarderSeen, MOST_STRAY_FILES, Observed, RecordError, TapRole, bounded, host,
    layout::{CAPTURE_FILE, CLIENT_FOLDER, PLANNED_FILE, QLOG_FOLDER, SERVER_FOLDER, folder_of},
    sender_log::{SenderLogs, logged_round_trips, sender_logs},
};
pub use crate::{layout::SENDER_TAP, sender_log::congestion_windows};

/// Share of the buffers that may come without a rate.
const MOST_UNPACED: f64 = 0.05;
/// The metrics that only the sender's own log has.
const OF_WINDOWS: [&str; 2] = ["congestion_window_reductions", "congestion_window_restorations"];
/// The metrics that only the sender's list of planned send times has.
const OF_PLANNED_TIMES: [&str; 2] = ["precision_sd_ns", "precision_samples"];

/// Measures the capture of the transfer in `folder`.
///
/// # Errors
/// Where the capture or the folder of logs cannot be read.
pub fn measure_record(folder: &Path, run: &Run, observed: &Observed) -> Result<RunMetrics, RecordError> {
    let sender = run.settings.workload.sender.role();
    let (plan, unread) = planned(folder, sender)?;
    let logs = sender_logs(folder, sender)?;
    let lost = lost_logs(observed, sender);
    // A log of which a part is missing cannot tell when slow start ended.
    let is_complete = logs.unread.is_empty() && lost.is_none();
    let log = logs.longest.as_ref().filter(|_| is_complete);
    let settings = AnalysisSettings {
        plans: plan.into_iter().collect(),
        slow_start_log: log.and_then(|log| log.slow_start.first_packet_behind()),
        ..AnalysisSettings::default()
    };
    let path = folder.join(CAPTURE_FILE);
    let unreadable =
        |message: String| RecordError::Capture { path: path.clone(), message, folder: folder.to_path_buf() };
    let file = open_unlinked(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
    let mut metrics = measure_packets(file, settings, run, observed).map_err(|error| unreadable(error.to_string()))?;
    measure_logs(run, &logs, lost.as_deref(), &mut metrics);
    for (endpoint, role) in [(CLIENT_FOLDER, quiclab_wire::Role::Client), (SERVER_FOLDER, quiclab_wire::Role::Server)] {
        if let Some(log) = logged_round_trips(folder, endpoint)? {
            log.finish(role, &mut metrics);
        }
    }
    host::measure(folder, observed, run.settings.workload.sent_bytes(), &mut metrics)?;
    warn_of_planned_times(observed, sender, unread, lost.as_deref(), &mut metrics);
    warn_of_send_times(run, observed, &mut metrics);
    warn_of_endpoints(observed, &mut metrics);
    warn_of_rules(run, observed, &mut metrics);
    warn_of_lateness(observed, &mut metrics);
    warn_of_machine(observed, &mut metrics);
    warn_of_sockets(&mut metrics);
    for message in observed.clocks.iter().flat_map(ClocksSeen::warnings) {
        metrics.warn(WarningCode::ClocksDrifted, message);
    }
    Ok(metrics)
}

/// Measures a capture without a record: what needs the endpoints' logs is null.
///
/// # Errors
/// Where the capture cannot be read.
pub fn measure_capture(capture: impl Read, run: &Run, observed: &Observed) -> Result<RunMetrics, CaptureError> {
    measure_packets(capture, AnalysisSettings::default(), run, observed)
}

/// What the packets alone say; `settings` has what only the logs know.
fn measure_packets(
    capture: impl Read,
    settings: AnalysisSettings,
    run: &Run,
    observed: &Observed,
) -> Result<RunMetrics, CaptureError> {
    let transferred_bytes = Some(run.settings.workload.sent_bytes());
    let end = run.settings.workload.sender.role();
    let sender = wire_role(end);
    let largest_frame_bytes = run.settings.path.largest_frame_bytes();
    let settings = AnalysisSettings {
        train_threshold: run.settings.analysis.train_threshold,
        sender,
        transferred_bytes,
        largest_frame_bytes,
        ..settings
    };
    let dissector =
        Dissector::new(DissectorSettings { server_port: Some(observed.server_port), interfaces_are_one_tap: false });
    let analysis = analyze(CaptureReader::new(capture)?, dissector, settings, &mut |_, _, _| {})?;
    let losses = observed.taps.iter().map(|tap| (tap.role.interface_name().to_owned(), tap.packets_lost));
    let observation = Observation {
        sender_tap: observed.interface_of(TapRole::Sender).unwrap_or(SENDER_TAP),
        bottleneck_tap: observed.interface_of(TapRole::BehindBottleneck),
        sender,
        transferred_bytes,
        has_schedule: run.settings.workload.period.is_some(),
        client_lifetime: observed.client_lifetime,
        queue_drops_packets: observed.drops_to_receiver(end),
        path_copies_packets: copies_to_receiver(run, observed),
        other_drops_packets: observed.cross_traffic.map_or(Some(0), |seen| seen.drops_packets()),
        capture_losses_packets: losses.collect::<BTreeMap<_, _>>(),
        not_captured: (!run.settings.tap.enabled)
            .then(|| "tap.enabled is false: no packets were captured, and nothing of them was measured".to_owned()),
        cpu_busy_share: observed.busy_share(),
        ..Observation::of_port(observed.server_port)
    };
    Ok(measure(&analysis, &observation))
}

/// Copies that the path towards the receiver made; `None` where it makes some and nobody counts them, as no kernel's disciplines do.
fn copies_to_receiver(run: &Run, observed: &Observed) -> Option<u64> {
    let stages = run.settings.stages_from_sender();
    let makes_copies = stages.iter().any(|stage| stage.settings.declaration().stage == "duplicate");
    if !makes_copies {
        return Some(0);
    }
    let passed = observed.path.from_sender(run.settings.workload.sender.role());
    let counted = passed.iter().filter_map(|stage| stage.counts.get("copied"));
    (observed.kernel_release.is_none() || observed.path.forwarder.is_some()).then(|| counted.sum())
}

/// The send times that the sender of a record planned, from its own list. `None`: it wrote none that can be read.
///
/// # Errors
/// Where the list cannot be opened.
pub fn planned_times(record: &Path, sender: Role) -> Result<Option<PlannedTimes>, RecordError> {
    Ok(planned(record, sender)?.0.map(|plan| plan.times))
}

/// The send times that the sender planned, from its own list, if it wrote one; or what is wrong with that.
fn planned(folder: &Path, sender: Role) -> Result<(Option<Plan>, Option<PlannedListError>), RecordError> {
    let path = folder.join(folder_of(sender)).join(PLANNED_FILE);
    if !path.is_file() {
        return Ok((None, None));
    }
    let text = bounded::read(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
    Ok(match PlannedTimes::of_list(&String::from_utf8_lossy(&text)) {
        Ok(times) => {
            let plan_of = wire_role(sender);
            (Some(Plan { sender: plan_of, original_destination_connection_id: None, times }), None)
        }
        Err(error) => (None, Some(error)),
    })
}

/// What is missing of the sender's logs; `None` where all of them are there.
fn lost_logs(observed: &Observed, sender: Role) -> Option<String> {
    let prefix = format!("{}/{QLOG_FOLDER}/", folder_of(sender));
    let of_sender = |name: &&String| name.starts_with(&prefix);
    let cut = observed.cut_files.keys().filter(of_sender).map(|name| format!("{name} was cut"));
    let lost = observed.lost_logs.iter().filter(|lost| lost.role == sender).map(|lost| lost.what.clone());
    let all: Vec<_> = cut.chain(lost).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The role in the words of captures.
pub fn wire_role(role: Role) -> quiclab_wire::Role {
    match role {
        Role::Server => quiclab_wire::Role::Server,
        Role::Client => quiclab_wire::Role::Client,
    }
}

/// What only the sender's own log knows.
fn measure_logs(run: &Run, logs: &SenderLogs, lost: Option<&str>, metrics: &mut RunMetrics) {
    if !logs.unread.is_empty() {
        let reason = format!("the sender's log could not be read: {}", logs.unread.join("; "));
        metrics.make_null(WarningCode::QlogUnread, &reason, &OF_WINDOWS);
        return;
    }
    if let Some(lost) = lost.filter(|_| run.settings.tap.qlog) {
        metrics.make_null(WarningCode::LogCut, &format!("the sender's log is not complete: {lost}"), &OF_WINDOWS);
        return;
    }
    if let Some(log) = &logs.longest {
        let changes = WindowChanges::of(log.windows.iter().map(|(_, bytes)| *bytes));
        metrics.metrics.congestion_window_reductions = Some(changes.reductions);
        metrics.metrics.congestion_window_restorations = Some(changes.restorations);
    }
}

/// What is wrong with the list of planned send times.
fn warn_of_planned_times(
    observed: &Observed,
    sender: Role,
    unread: Option<PlannedListError>,
    lost: Option<&str>,
    metrics: &mut RunMetrics,
) {
    let name = format!("{}/{PLANNED_FILE}", folder_of(sender));
    if let Some(error) = unread {
        let reason = format!("the planned send times could not be read: {name}: {error}");
        metrics.make_null(WarningCode::PlannedTimesUnread, &reason, &OF_PLANNED_TIMES);
    } else if let Some(bytes) = observed.cut_files.get(&name) {
        let reason = format!("the planned send times are not complete: {name} was cut by {bytes} bytes");
        metrics.make_null(WarningCode::LogCut, &reason, &OF_PLANNED_TIMES);
    } else if let Some(lost) = lost.filter(|_| metrics.metrics.precision_samples.is_some()) {
        let reason = format!("the planned send times may not be complete: {lost}");
        metrics.make_null(WarningCode::LogCut, &reason, &OF_PLANNED_TIMES);
    }
}

/// What the sender's own queue did that the settings did not ask for.
fn warn_of_send_times(run: &Run, observed: &Observed, metrics: &mut RunMetrics) {
    let sender = run.settings.workload.sender.role();
    for queue in observed.host(sender).queues.iter().filter(|queue| queue.all_drops() > 0) {
        let causes: Vec<_> = queue.drops.iter().map(|(cause, count)| format!("{cause}: {count}")).collect();
        let message = format!(
            "{} at the {} dropped {} packets ({}), which never reached the tap",
            queue.kind,
            word(&sender),
            queue.all_drops(),
            causes.join(", ")
        );
        metrics.warn(WarningCode::ServerQueueDrops, message);
    }
    for queue in observed.server.queues.iter().chain(&observed.client.queues) {
        let count = |name: &str| queue.counts.get(name).copied().unwrap_or(0);
        let (buffers, unpaced) = (count("buffers"), count("unpaced"));
        // Until the first sample of the round-trip time there is no rate.
        if unpaced as f64 > MOST_UNPACED * buffers as f64 {
            let message = format!("{unpaced} of {buffers} buffers had no rate, so their packets left back to back");
            metrics.warn(WarningCode::SegmentsNotPaced, message);
        }
    }
    let hands_over = run.settings.stack.pacing == Pacing::Txtime;
    let is_withheld =
        metrics.withheld.iter().any(|withheld| withheld.metrics.iter().any(|name| name == OF_PLANNED_TIMES[1]));
    if hands_over && metrics.metrics.precision_samples.is_none() && !is_withheld {
        let message = "the stack writes no list of its planned send times: precision is not measured".to_owned();
        metrics.warn(WarningCode::PlannedTimesMissing, message);
    }
}

/// Rules that lose datagrams by what they hold, and did not do what they are there for.
fn warn_of_rules(run: &Run, observed: &Observed, metrics: &mut RunMetrics) {
    let settings = &run.settings;
    let directions = [
        ("to_client", settings.stages_to_client(), &observed.path.to_client),
        ("to_server", settings.stages_to_server(), &observed.path.to_server),
    ];
    for (direction, stages, seen) in directions {
        for stage in stages {
            let StageSettings::ContentLoss(settings) = &stage.settings else { continue };
            let Some(seen) = seen.iter().find(|seen| seen.name == stage.name) else { continue };
            let rule = format!("path.{direction}.{}: drop = {:?}", stage.name, settings.drop.to_string());
            let count = |name: &str| seen.counts.get(name).copied().unwrap_or(0);
            let asked = count("asked");
            if seen.all_drops() == 0 {
                let message = format!("{rule} never matched; it was asked about {asked} datagrams");
                metrics.warn(WarningCode::RuleNeverMatched, message);
            }
            if count("undecided") > 0 {
                let message = format!(
                    "{rule} could not be decided for {} of {asked} datagrams, which passed: packets in them could not be \
                     read",
                    count("undecided")
                );
                metrics.warn(WarningCode::RuleUndecided, message);
            }
        }
    }
}

/// A forwarder that let packets go later than the path planned.
fn warn_of_lateness(observed: &Observed, metrics: &mut RunMetrics) {
    if let Some(message) = observed.path.forwarder.as_ref().and_then(ForwarderSeen::why_late) {
        metrics.warn(WarningCode::ForwarderLate, message);
    }
}

/// A machine that did other things as well.
fn warn_of_machine(observed: &Observed, metrics: &mut RunMetrics) {
    let Some(machine) = &observed.machine else { return };
    if let Some(message) = machine.why_not_quiet() {
        metrics.warn(WarningCode::MachineNotQuiet, message);
    }
    if let Some(message) = machine.why_disturbed() {
        metrics.warn(WarningCode::MachineDisturbed, message);
    }
}

/// Losses that are not the path's.
fn warn_of_sockets(metrics: &mut RunMetrics) {
    let dropped = [
        ("server", metrics.metrics.server_receive_buffer_drops),
        ("client", metrics.metrics.client_receive_buffer_drops),
    ];
    for (role, drops) in dropped {
        let Some(drops @ 1..) = drops else { continue };
        let message = format!(
            "the {role}: {drops} datagrams found the receive buffer of their UDP socket full and were lost, which is not the path's doing"
        );
        metrics.warn(WarningCode::ReceiveBufferDrops, message);
    }
}

/// What an endpoint did that it should not have done, and that does not make the run fail.
fn warn_of_endpoints(observed: &Observed, metrics: &mut RunMetrics) {
    for (role, host) in [("server", &observed.server), ("client", &observed.client)] {
        let Some(end) = &host.end else { continue };
        if end.processes_left > 0 {
            let message = format!("the {role} ended and left {} processes behind", end.processes_left);
            metrics.warn(WarningCode::ProcessesLeft, message);
        }
        if !end.stray_files.is_empty() {
            let more = if end.stray_files.len() < MOST_STRAY_FILES { "" } else { ", and possibly more" };
            let message = format!("the {role} wrote outside its folders: {}{more}", end.stray_files.join(", "));
            metrics.warn(WarningCode::StrayFiles, message);
        }
    }
    for (name, bytes) in &observed.cut_files {
        metrics.warn(WarningCode::LogCut, format!("{name}: the last {bytes} bytes were not kept"));
    }
    for lost in &observed.lost_logs {
        let role = quiclab_experiment::run::word(&lost.role);
        metrics.warn(WarningCode::LogCut, format!("{role}: {}", lost.what));
    }
}
