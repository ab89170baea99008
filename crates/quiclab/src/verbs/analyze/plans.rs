//! What endpoints say for `quiclab analyze`: planned send times, from qlogs and from an endpoint's own list, and estimates of the
//! round-trip time, from qlogs.

use std::path::Path;

use anyhow::{Context, Result};
use quiclab_metrics::{CaptureAnalysis, LoggedRoundTrips, Plan, PlannedTimes};
use quiclab_pages::transfer::logs::{decompressed, planned_keys};
use quiclab_record::MOST_QLOG_BYTES;
use quiclab_trace::TraceWriter;
use quiclab_units::{Bounded, ShowPath};
use quiclab_wire::{ConnectionId, QlogEventKind, QlogSummary, Role, read_qlog};

use crate::{session::bounded_input, settings::AnalyzeSettings};

/// What the files on the command line say.
#[derive(Default)]
pub struct Logs {
    /// Planned send times.
    pub plans: Vec<Plan>,
    round_trips: Vec<LoggedEstimates>,
}

/// What one end of a connection logged of its round-trip time.
struct LoggedEstimates {
    end: Role,
    original_destination_connection_id: Option<ConnectionId>,
    log: LoggedRoundTrips,
}

impl Logs {
    /// Puts the logged estimates beside those of the packets. A log that does not say of which connection it is belongs to the only one.
    pub fn add_to(&self, analysis: &mut CaptureAnalysis) {
        let flows = &analysis.flows;
        let of_servers = analysis.directions.iter().filter(|it| it.sender == Role::Server).count();
        for direction in analysis.directions.iter_mut().filter(|it| it.sender == Role::Server) {
            let of_flow = flows[direction.flow].original_destination_connection_id;
            let is_of_it = |log: &&LoggedEstimates| match log.original_destination_connection_id {
                None => of_servers == 1,
                id => id == of_flow,
            };
            for logged in self.round_trips.iter().filter(is_of_it) {
                logged.log.finish(logged.end, &mut direction.run);
            }
        }
    }
}

/// All that is named on the command line. `notes`: what is to be said about the files.
///
/// # Errors
/// Where a file cannot be read, or breaks its format.
pub fn read(settings: &AnalyzeSettings, notes: &mut Vec<String>, mut trace: Option<&mut TraceWriter>) -> Result<Logs> {
    let mut logs = Logs::default();
    for file in &settings.qlog {
        of_qlog(file, notes, trace.as_deref_mut(), &mut logs)?;
    }
    if let Some(file) = &settings.planned {
        let text = bounded_input::read_text(file, quiclab_inputs::MOST_LIST_BYTES, "a list of times")?;
        let times = PlannedTimes::of_list(&text).with_context(|| file.shown())?;
        logs.plans.push(Plan { sender: Role::Server, original_destination_connection_id: None, times });
    }
    Ok(logs)
}

/// Times of one trace: those planned, and those at which packets were logged as sent.
#[derive(Default)]
struct TraceTimes {
    planned: PlannedTimes,
    logged: PlannedTimes,
    round_trips: LoggedRoundTrips,
}

fn of_qlog(file: &Path, notes: &mut Vec<String>, mut trace: Option<&mut TraceWriter>, logs: &mut Logs) -> Result<()> {
    let name = file.shown();
    let mut traces: Vec<TraceTimes> = Vec::new();
    let source = name.to_string();
    let mut written = Ok(());
    let summary =
        read_qlog(Bounded::new(decompressed(file, bounded_input::open(file))?, MOST_QLOG_BYTES), &mut |event| {
            if let (Some(trace), true) = (trace.as_deref_mut(), written.is_ok()) {
                written = trace.on_event(&source, &event);
            }
            while traces.len() <= event.trace {
                traces.push(TraceTimes::default());
            }
            traces[event.trace].round_trips.on_event(&event.kind);
            let QlogEventKind::PacketSent(packet) = &event.kind else {
                return;
            };
            let keys = planned_keys(packet);
            let times = &mut traces[event.trace];
            if let Some(planned) = packet.planned_time_ns {
                times.planned.insert(&keys, planned);
            }
            times.logged.insert(&keys, event.time_ns);
        })
        .with_context(|| name.to_string())?;
    written?;
    notes.extend(remarks(&summary).into_iter().map(|remark| format!("{name}: {remark}")));
    for (times, trace) in traces.into_iter().zip(&summary.traces) {
        let sender = match trace.vantage_point.as_deref() {
            Some("client") => Role::Client,
            Some("server") => Role::Server,
            other => {
                let output_tail =
                    other.map_or_else(|| "no vantage point".to_owned(), |it| format!("vantage point {it:?}"));
                notes.push(format!("{name}: {output_tail}; assuming the server's"));
                Role::Server
            }
        };
        let id = trace.original_destination_connection_id.as_deref().and_then(ConnectionId::new);
        logs.round_trips.push(LoggedEstimates {
            end: sender,
            original_destination_connection_id: id,
            log: times.round_trips,
        });
        if times.planned.is_empty() && times.logged.is_empty() {
            continue;
        }
        let times = if times.planned.is_empty() {
            notes.push(format!(
                "{name}: has no planned send times; precision is measured from the time at which packets were logged \
                 as sent"
            ));
            times.logged
        } else {
            times.planned
        };
        logs.plans.push(Plan { sender, original_destination_connection_id: id, times });
    }
    Ok(())
}

fn remarks(summary: &QlogSummary) -> Vec<String> {
    let mut remarks = summary.warnings.clone();
    if let Some(byte) = summary.cut_at_byte {
        remarks.push(format!("truncated at byte {byte}; {} events before it were read", summary.events));
    }
    remarks.extend(summary.not_understood.iter().map(|(what, count)| format!("{count} times not understood: {what}")));
    remarks
}
