//! Planned send times for `quiclab analyze`: from qlogs, and from an endpoint's own list.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_metrics::{Plan, PlannedKey, PlannedTimes};
use quiclab_trace::TraceWriter;
use quiclab_wire::{ConnectionId, QlogEventKind, QlogPacket, QlogSpace, QlogSummary, Role, read_qlog};

use crate::{analyze, cli::AnalyzeArguments};

/// All plans named on the command line. `notes`: what is to be said about the files.
///
/// # Errors
/// Where a file cannot be read, or breaks its format.
pub fn read(
    arguments: &AnalyzeArguments,
    notes: &mut Vec<String>,
    mut trace: Option<&mut TraceWriter>,
) -> Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for file in &arguments.qlog {
        plans.extend(of_qlog(file, notes, trace.as_deref_mut())?);
    }
    if let Some(file) = &arguments.planned {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let times = of_list(&text).with_context(|| file.display().to_string())?;
        plans.push(Plan { sender: Role::Server, original_destination_connection_id: None, times });
    }
    Ok(plans)
}

/// Times of one trace: those planned, and those at which packets were logged as sent.
#[derive(Default)]
struct TraceTimes {
    planned: PlannedTimes,
    logged: PlannedTimes,
}

fn of_qlog(file: &Path, notes: &mut Vec<String>, mut trace: Option<&mut TraceWriter>) -> Result<Vec<Plan>> {
    let name = file.display();
    let mut traces: Vec<TraceTimes> = Vec::new();
    let source = name.to_string();
    let mut written = Ok(());
    let summary = read_qlog(analyze::open(file)?, &mut |event| {
        if let (Some(trace), true) = (trace.as_deref_mut(), written.is_ok()) {
            written = trace.on_event(&source, &event);
        }
        let QlogEventKind::PacketSent(packet) = &event.kind else {
            return;
        };
        while traces.len() <= event.trace {
            traces.push(TraceTimes::default());
        }
        let keys = keys(packet);
        let times = &mut traces[event.trace];
        if let Some(planned) = packet.planned_time_ns {
            times.planned.insert(&keys, planned);
        }
        times.logged.insert(&keys, event.time_ns);
    })
    .with_context(|| name.to_string())?;
    written?;
    notes.extend(remarks(&summary).into_iter().map(|remark| format!("{name}: {remark}")));
    let mut plans = Vec::new();
    for (times, trace) in traces.into_iter().zip(&summary.traces) {
        let sender = match trace.vantage_point.as_deref() {
            Some("client") => Role::Client,
            Some("server") => Role::Server,
            other => {
                let said = other.map_or_else(|| "no vantage point".to_owned(), |it| format!("vantage point {it:?}"));
                notes.push(format!("{name}: {said}; taken for the server's"));
                Role::Server
            }
        };
        let times = if times.planned.is_empty() {
            notes.push(format!(
                "{name}: holds no planned send times; precision is measured from the time at which packets were logged as sent"
            ));
            times.logged
        } else {
            times.planned
        };
        plans.push(Plan {
            sender,
            original_destination_connection_id: trace
                .original_destination_connection_id
                .as_deref()
                .and_then(ConnectionId::new),
            times,
        });
    }
    Ok(plans)
}

/// By what a packet can be found in a capture.
fn keys(packet: &QlogPacket) -> Vec<PlannedKey> {
    let mut keys = Vec::new();
    if let (Some(QlogSpace::OneRtt), Some(number)) = (packet.space, packet.packet_number) {
        keys.push(PlannedKey::PacketNumber(number));
    }
    if let (true, Some(checksum)) = (packet.datagram_id_is_crc32c, packet.datagram_id) {
        keys.push(PlannedKey::DatagramChecksum(checksum));
    }
    keys
}

fn remarks(summary: &QlogSummary) -> Vec<String> {
    let mut remarks = summary.warnings.clone();
    if let Some(byte) = summary.cut_at_byte {
        remarks.push(format!("cut off at byte {byte}; {} events were read before", summary.events));
    }
    remarks.extend(summary.not_understood.iter().map(|(what, count)| format!("{count} times not understood: {what}")));
    remarks
}

/// Lines of `packet_number,planned_ns` or `crc32c,planned_ns`, under a heading that says which.
fn of_list(text: &str) -> Result<PlannedTimes> {
    let mut lines = text.lines().enumerate();
    let heading = lines.next().map(|(_, line)| line.trim()).unwrap_or_default();
    let key: fn(&str) -> Option<PlannedKey> = match heading {
        "packet_number,planned_ns" => |text| text.parse().ok().map(PlannedKey::PacketNumber),
        "crc32c,planned_ns" => |text| {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u32::from_str_radix(digits, 16).ok().map(PlannedKey::DatagramChecksum)
        },
        other => bail!("line 1: found {other:?}, expected packet_number,planned_ns or crc32c,planned_ns"),
    };
    let mut times = PlannedTimes::default();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = line
            .trim()
            .split_once(',')
            .and_then(|(first, second)| Some((key(first.trim())?, second.trim().parse::<i64>().ok()?)));
        let Some((key, planned)) = parsed else {
            bail!("line {}: found {line:?}, expected {heading}, whole numbers (crc32c in hexadecimal)", number + 1);
        };
        times.insert(&[key], planned);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_lists_are_read() {
        assert_eq!(of_list("packet_number,planned_ns\n1,-5\n\n2, 7\n").unwrap().len(), 2);
        assert_eq!(of_list("crc32c,planned_ns\n0xDEADbeef,1\nff,2\n").unwrap().len(), 2);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        let error = of_list("packet_number,planned_ns\n1,5\n1;6\n").unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("1;6"), "{error}");
        assert!(of_list("").unwrap_err().to_string().contains("line 1"));
    }
}
