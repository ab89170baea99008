//! What the endpoints logged about a packet.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use quiclab_pages::transfer::{logs::open_log, sequence::SeenPacket};
use quiclab_record::{Record, layout::QLOG_FOLDER, qlog_files};
use quiclab_wire::{QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace, QuicForm, read_qlog};

/// Events shown before and behind the one of the packet.
const BEFORE: usize = 6;
const BEHIND: usize = 3;

/// The events around `packet` in every qlog of a record; `letter` stands before each line.
///
/// # Errors
/// Where a log is there and cannot be read.
pub fn around(letter: &str, record: &Record, packet: &SeenPacket) -> Result<String> {
    let mut text = String::new();
    let mut logs = 0;
    for role in ["server", "client"] {
        for file in qlog_files(&record.folder.join(role).join(QLOG_FOLDER))? {
            logs += 1;
            let name = file.strip_prefix(&record.folder).unwrap_or(&file).display().to_string();
            let mut events = Vec::new();
            // A log that ends in the middle tells what it tells.
            read_qlog(open_log(&file)?, &mut |event| events.push(event)).with_context(|| name.clone())?;
            let Some(place) = events.iter().position(|event| is_of(event, packet, packet.sender == role)) else {
                continue;
            };
            let _ = writeln!(text, "\n{letter}  {name}, event {} of {}:", place + 1, events.len());
            let shown = place.saturating_sub(BEFORE)..(place + BEHIND + 1).min(events.len());
            for number in shown {
                let mark = if number == place { '>' } else { ' ' };
                let _ = writeln!(text, "{letter} {mark} {}", in_words(&events[number]));
            }
        }
    }
    if logs == 0 {
        let _ = writeln!(text, "\n{letter}  no qlog; tap.qlog = true makes the endpoints write one if they can");
    } else if text.is_empty() {
        let _ = writeln!(text, "\n{letter}  no qlog mentions this packet");
    }
    Ok(text)
}

/// True for the event in which an endpoint sent (`by_itself`) or received the packet.
fn is_of(event: &QlogEvent, packet: &SeenPacket, by_itself: bool) -> bool {
    let logged = match &event.kind {
        QlogEventKind::PacketSent(logged) if by_itself => logged,
        QlogEventKind::PacketReceived(logged) if !by_itself => logged,
        _ => return false,
    };
    let Some(number) = logged.packet_number else { return false };
    packet.numbers.iter().any(|(form, seen)| *seen == number && logged.space == space(*form))
}

fn space(form: QuicForm) -> Option<QlogSpace> {
    match form {
        QuicForm::Initial => Some(QlogSpace::Initial),
        QuicForm::Handshake => Some(QlogSpace::Handshake),
        QuicForm::ZeroRtt => Some(QlogSpace::ZeroRtt),
        QuicForm::OneRtt => Some(QlogSpace::OneRtt),
        _ => None,
    }
}

fn in_words(event: &QlogEvent) -> String {
    let what = match &event.kind {
        QlogEventKind::PacketSent(packet) => format!("packet_sent {}", packet_in_words(packet)),
        QlogEventKind::PacketReceived(packet) => format!("packet_received {}", packet_in_words(packet)),
        QlogEventKind::PacketLost(packet) => format!("packet_lost {}", packet_in_words(packet)),
        QlogEventKind::Metrics(metrics) => format!("metrics_updated {}", metrics_in_words(metrics)),
        QlogEventKind::CongestionState { new } => format!("congestion_state_updated {new}"),
        QlogEventKind::LossTimer { event, timer } => format!("loss_timer_updated {timer} {event}"),
        QlogEventKind::Other(name) => name.clone(),
    };
    format!("{:>14.6} ms  {what}", event.time_ns as f64 / 1e6)
}

fn packet_in_words(packet: &QlogPacket) -> String {
    let mut text = packet.space.map_or_else(|| "packet".to_owned(), |space| format!("{space:?}"));
    if let Some(number) = packet.packet_number {
        let _ = write!(text, " {number}");
    }
    if let Some(length) = packet.length {
        let _ = write!(text, ", {length} bytes");
    }
    text
}

fn metrics_in_words(metrics: &QlogMetrics) -> String {
    let milliseconds = |value: Option<u64>| value.map(|value| format!("{:.3} ms", value as f64 / 1e6));
    let plain = |value: Option<u64>| value.map(|value| value.to_string());
    let parts = [
        ("smoothed_rtt", milliseconds(metrics.smoothed_rtt_ns)),
        ("latest_rtt", milliseconds(metrics.latest_rtt_ns)),
        ("congestion_window", plain(metrics.congestion_window_bytes)),
        ("bytes_in_flight", plain(metrics.bytes_in_flight_bytes)),
        ("ssthresh", plain(metrics.ssthresh_bytes)),
        ("pacing_rate", plain(metrics.pacing_rate_bps)),
        ("pto_count", plain(metrics.pto_count)),
    ];
    let output_tail = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    output_tail.collect::<Vec<_>>().join(", ")
}
