//! qlog of every stack: exact values of real logs, time formats, cuts, damage, bounded memory.
//!
//! What the samples are: `data/qlog/README.md`.

mod damage;
mod dialects;
mod forms;

use std::cell::Cell;
use std::io::Read;

use proptest::prelude::*;
use quiclab_wire::QlogEventKind::{CongestionState, Metrics, Other, PacketLost, PacketReceived, PacketSent};
use quiclab_wire::{
    MAXIMUM_EVENT_BYTES, MAXIMUM_HELD_BYTES, QlogError, QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace,
    QlogSummary, QlogTimeFormat, read_qlog,
};

macro_rules! sample {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../../data/qlog/", $name)))
    };
}

const SAMPLES: [(&str, &[u8]); 9] = [
    sample!("quic-go.sqlog"),
    sample!("ngtcp2.sqlog"),
    sample!("quiche.sqlog"),
    sample!("quiche-0.24.sqlog"),
    sample!("aioquic.qlog"),
    sample!("quinn.sqlog"),
    sample!("neqo.sqlog"),
    sample!("picoquic.qlog"),
    sample!("mvfst.qlog"),
];

fn read(bytes: &[u8]) -> Result<(Vec<QlogEvent>, QlogSummary), QlogError> {
    let mut events = Vec::new();
    let summary = read_qlog(bytes, &mut |event| events.push(event))?;
    assert_eq!(summary.events, events.len() as u64);
    Ok((events, summary))
}

fn sample(name: &str) -> (Vec<QlogEvent>, QlogSummary) {
    let (_, bytes) = SAMPLES.iter().find(|(known, _)| *known == name).expect("a sample of this name");
    read(bytes).expect("a sample is a qlog file")
}

/// The event at `index`, and its time.
#[track_caller]
fn assert_event(events: &[QlogEvent], index: usize, time_ns: i64, kind: QlogEventKind) {
    assert_eq!((events[index].time_ns, &events[index].kind), (time_ns, &kind), "event {index}");
}

fn packet(space: QlogSpace, packet_number: u64, length: Option<u64>) -> QlogPacket {
    QlogPacket { space: Some(space), packet_number: Some(packet_number), length, ..QlogPacket::default() }
}

fn hexadecimal(bytes: Option<&Vec<u8>>) -> String {
    bytes.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect()
}
