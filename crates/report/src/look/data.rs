//! A transfer as text inside of a page: columns of numbers, compressed. `data.js` reads it.

use std::io::Write;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use quiclab_metrics::SeriesPoint;
use serde_json::json;

use super::transfer::{LookPacket, LookTransfer};

/// Bits of a packet's flags.
const IS_SERVER: u64 = 1;
const IS_LOST: u64 = 2;
const IS_DROPPED: u64 = 4;
const IS_RETRANSMISSION: u64 = 8;

type Column = (&'static str, fn(&LookPacket) -> u64);

/// Written as differences to the value before: times and numbers of frames go up.
const ASCENDING: [Column; 2] = [("time", |packet| packet.time_ns), ("frame", |packet| packet.frame)];

/// Written as they are; 0 stands for "not known" where a value may be, and all others are one more.
const COLUMNS: [Column; 11] = [
    ("flags", flags),
    ("bytes", |packet| u64::from(packet.bytes)),
    ("number", |packet| optional(packet.number)),
    ("flight", |packet| optional(packet.bytes_in_flight)),
    ("acked", |packet| optional(packet.acknowledged_after_ns)),
    ("crossed", |packet| optional(packet.behind_bottleneck_after_ns)),
    ("late", |packet| optional(packet.late_ns)),
    ("largest", |packet| optional(packet.largest_acknowledged)),
    ("rtt", |packet| optional(packet.rtt_ns)),
    ("fresh", |packet| packet.new_stream_bytes),
    ("words", |packet| packet.content.len() as u64),
];

fn optional(value: Option<u64>) -> u64 {
    value.map_or(0, |value| value.saturating_add(1))
}

fn flags(packet: &LookPacket) -> u64 {
    let bit = |is: bool, bit: u64| if is { bit } else { 0 };
    bit(packet.is_server, IS_SERVER)
        | bit(packet.is_lost, IS_LOST)
        | bit(packet.is_dropped, IS_DROPPED)
        | bit(packet.is_retransmission, IS_RETRANSMISSION)
}

/// Two lines: what the columns are, in JSON; and the columns, in base64. Without a `<`, so that it may stand in a script.
pub fn encoded(transfer: &LookTransfer) -> String {
    let mut names = Vec::new();
    let mut bytes = Vec::new();
    let mut add = |name: &str, is_ascending: bool, values: &mut dyn Iterator<Item = u64>| {
        let start = bytes.len();
        for value in values {
            push(&mut bytes, value);
        }
        names.push(json!({ "name": name, "ascending": is_ascending, "bytes": bytes.len() - start }));
    };
    for (name, value) in ASCENDING {
        let mut before = 0;
        let mut differences = transfer.packets.iter().map(|packet| {
            let now = value(packet).max(before);
            let difference = now - before;
            before = now;
            difference
        });
        add(name, true, &mut differences);
    }
    for (name, value) in COLUMNS {
        add(name, false, &mut transfer.packets.iter().map(value));
    }
    let text: Vec<u8> = transfer.packets.iter().flat_map(|packet| packet.content.bytes()).collect();
    let text_bytes = text.len();
    bytes.extend(text);
    let log = transfer.log.as_ref();
    let curve = |points: &[SeriesPoint]| points.iter().map(|it| json!([it.time_ns, it.last])).collect::<Vec<_>>();
    let head = json!({
        "name": transfer.name,
        "packets": transfer.packets.len(),
        "columns": names,
        "text": text_bytes,
        "trainNs": transfer.train_threshold_ns,
        "window": log.map(|log| curve(&log.congestion_window)),
        "pacing": log.map(|log| curve(&log.pacing_rate_bps)),
    });
    let head = head.to_string().replace('<', "\\u003c");
    format!("{head}\n{}", STANDARD.encode(deflated(&bytes)))
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    // Memory takes whatever is written to it.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory never refuses bytes")
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow (as in LEB128).
fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
