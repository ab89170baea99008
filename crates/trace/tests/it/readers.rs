//! DuckDB and polars read in a trace what was in the capture and in the qlog. Skipped, with a word on stderr, where their
//! Python is missing: `make target/python/.installed`, or name another by `QUICLAB_PYTHON`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{events, for_each_segment, write_trace};
use quiclab_testing::{files::repository, skip};
use quiclab_trace::{RunColumn, RunKind, TraceWriter, read_runs, write_runs};
use quiclab_wire::{QlogEvent, QlogEventKind, QlogMetrics, QuicForm, QuicFrame};
use serde_json::{Value, json};

#[expect(clippy::disallowed_methods, reason = "which interpreter a test runs moves no output")]
fn python() -> Option<PathBuf> {
    let own = || repository().join("target/python/bin/python3");
    let python = std::env::var_os("QUICLAB_PYTHON").map_or_else(own, PathBuf::from);
    if python.components().count() == 1 || python.exists() {
        return Some(python);
    }
    skip(format_args!("no {} (make target/python/.installed)", python.display()));
    None
}

/// What each reader sees in the trace of a folder; `None` where there is no Python.
fn read_back(folder: &Path) -> Option<[Value; 2]> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_back.py");
    let output = Command::new(python()?).arg(script).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(["duckdb", "polars"].map(|reader| seen[reader].take()))
}

fn event(event: &QlogEvent) -> Value {
    let (name, metrics) = match &event.kind {
        QlogEventKind::PacketSent(_) => ("packet_sent", None),
        QlogEventKind::PacketReceived(_) => ("packet_received", None),
        QlogEventKind::PacketLost(_) => ("packet_lost", None),
        QlogEventKind::Metrics(metrics) => ("metrics_updated", Some(metrics)),
        QlogEventKind::CongestionState { .. } => ("congestion_state_updated", None),
        QlogEventKind::LossTimer { .. } => ("loss_timer_updated", None),
        QlogEventKind::Other(name) => (name.as_str(), None),
    };
    let smoothed_rtt_ns = metrics.and_then(|metrics| metrics.smoothed_rtt_ns);
    json!([event.time_ns, name, smoothed_rtt_ns, metrics.and_then(|metrics| metrics.ssthresh_bytes)])
}

/// Returns the most ranges that an ACK of the capture has; `None` where there is no Python.
fn assert_seen(capture: &str) -> Option<usize> {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path(), capture, "quiche.sqlog");
    let readers = read_back(folder.path())?;

    let (mut packets, mut ranges, mut stream_bytes) = (Vec::new(), Vec::new(), BTreeMap::<&str, u64>::new());
    for_each_segment(capture, &mut |number, segment, observed| {
        let sender = observed.sender.name();
        for (index, packet) in observed.packets.iter().enumerate() {
            let form = match packet.form {
                QuicForm::Initial => "initial",
                QuicForm::Handshake => "handshake",
                QuicForm::OneRtt => "one_rtt",
                other => panic!("{other:?} is not in this capture"),
            };
            packets.push(json!([
                number,
                index,
                segment.time.as_nanos(),
                sender,
                segment.destination.to_string(),
                form,
                packet.version,
                packet.length,
                packet.packet_number,
                packet.key_phase,
            ]));
        }
        if observed.has_foreign_bytes {
            // quiche pads its datagrams behind the packets.
            let bytes = segment.payload_length - observed.packets.iter().map(|packet| packet.length).sum::<u32>();
            let (time, destination) = (segment.time.as_nanos(), segment.destination.to_string());
            let index = observed.packets.len();
            packets.push(json!([number, index, time, sender, destination, "not_quic", null, bytes, null, null]));
        }
        for frame in observed.frames {
            match frame {
                QuicFrame::Stream { length, .. } => *stream_bytes.entry(sender).or_default() += length,
                QuicFrame::Ack(ack) => {
                    let pairs: Vec<_> = ack.ranges.iter().map(|range| [*range.start(), *range.end()]).collect();
                    ranges.push(pairs);
                }
                _ => {}
            }
        }
    });
    let events: Vec<Value> = events("quiche.sqlog").iter().map(event).collect();
    let expected = json!({
        "packets": packets, "stream_bytes": stream_bytes, "ack_ranges": ranges, "events": events,
    });
    for (name, seen) in ["duckdb", "polars"].into_iter().zip(&readers) {
        for part in ["packets", "stream_bytes", "ack_ranges", "events"] {
            assert_eq!(seen[part], expected[part], "{part} of {capture} by {name}");
        }
    }
    assert_eq!(readers[0]["columns"], readers[1]["columns"]);
    ranges.iter().map(Vec::len).max()
}

#[test]
fn duckdb_and_polars_see_what_was_captured() {
    assert_seen("ngtcp2.pcapng");
    if let Some(ranges) = assert_seen("quiche.pcapng") {
        assert!(ranges > 1, "this capture has ACK frames of several ranges");
    }
}

#[test]
fn duckdb_and_polars_read_the_ends_of_integers_and_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(folder.path()).unwrap();
    let written: Vec<QlogEvent> = [(i64::MIN, Some(u64::MAX)), (i64::MAX, None), (-1, Some(0)), (0, Some(1 << 63))]
        .into_iter()
        .map(|(time_ns, ssthresh_bytes)| QlogEvent {
            trace: 0,
            time_ns,
            kind: QlogEventKind::Metrics(QlogMetrics { ssthresh_bytes, ..QlogMetrics::default() }),
        })
        .collect();
    for event in &written {
        writer.on_event("sample.sqlog", event).unwrap();
    }
    writer.finish().unwrap();
    let Some(readers) = read_back(folder.path()) else { return };
    for seen in readers {
        assert_eq!(seen["events"], Value::from(written.iter().map(event).collect::<Vec<_>>()));
        assert_eq!(seen["packets"], json!([]));
    }
}

/// Rows that DuckDB and polars wrote anew: other types of the format, another compression.
#[test]
fn rows_that_other_programs_wrote_are_read() {
    const SCRIPT: &str = "import sys, duckdb, polars\n\
        rows = sys.argv[1]\n\
        duckdb.sql(f\"COPY (SELECT * FROM '{rows}') TO '{rows}.duckdb'\" + \" (FORMAT parquet)\")\n\
        polars.read_parquet(rows).write_parquet(f'{rows}.polars')\n";
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let columns = [
        ("name".to_owned(), RunColumn::Texts(vec![Some("a".to_owned()), None, Some("\u{fc}".to_owned())])),
        ("time_ns".to_owned(), RunColumn::Wholes(vec![Some(1_722_902_400_000_000_000), Some(-2), None])),
        ("factor".to_owned(), RunColumn::Numbers(vec![None, Some(0.5), Some(3.0)])),
        ("is_padded".to_owned(), RunColumn::Truths(vec![Some(true), None, Some(false)])),
    ];
    write_runs(&path, &columns).unwrap();
    let output = Command::new(python).args(["-c", SCRIPT]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = [
        ("name", RunKind::Text),
        ("time_ns", RunKind::Whole),
        ("factor", RunKind::Number),
        ("is_padded", RunKind::Truth),
    ];
    for program in ["duckdb", "polars"] {
        let written = folder.path().join(format!("rows.parquet.{program}"));
        assert_eq!(read_runs(&written, &asked).unwrap(), columns, "{program}");
    }
}
