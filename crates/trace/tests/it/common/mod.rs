//! Traces of the samples of `quiclab-wire`, and how to read them back.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use quiclab_testing::files;
use quiclab_trace::TraceWriter;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, Observed, QlogEvent, Segment, read_qlog};

/// A row by column.
pub type Row = BTreeMap<String, Field>;

/// Hands out every segment of a sample capture, with the position of its frame and what the dissector sees in it.
pub fn for_each_segment(capture: &str, on_segment: &mut dyn FnMut(u64, &Segment, &Observed)) {
    let path = files::capture(capture);
    let mut whole = CaptureReader::new(File::open(&path).unwrap()).unwrap();
    while whole.next_frame().unwrap().is_some() {}
    let mut dissector = Dissector::new(DissectorSettings::default());
    dissector.add_secrets(&whole.summary().secrets);
    let mut reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
    let mut number = 0;
    while let Some(frame) = reader.next_frame().unwrap() {
        number += 1;
        if let Ok(segment) = frame.segment() {
            on_segment(number, &segment, &dissector.on_segment(&segment).unwrap());
        }
    }
}

/// The events of a sample qlog.
pub fn events(qlog: &str) -> Vec<QlogEvent> {
    let mut events = Vec::new();
    read_qlog(File::open(files::repository().join("crates/wire/tests/data/qlog").join(qlog)).unwrap(), &mut |event| {
        events.push(event)
    })
    .unwrap();
    events
}

/// Writes a trace of a sample capture and a sample qlog.
pub fn write_trace(folder: &Path, capture: &str, qlog: &str) {
    let mut writer = TraceWriter::create(folder).unwrap();
    for_each_segment(capture, &mut |number, segment, observed| {
        writer.on_packet(number, segment, Some(observed)).unwrap();
    });
    for event in events(qlog) {
        writer.on_event("sample.sqlog", &event).unwrap();
    }
    writer.finish().unwrap();
}

/// Opens a file of a trace.
pub fn open(folder: &Path, file: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(folder.join(file)).unwrap()).unwrap()
}

/// All rows of a file.
pub fn rows(folder: &Path, file: &str) -> Vec<Row> {
    let reader = open(folder, file);
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns().into_iter().collect()).collect()
}

/// The texts of a column; `None` where a row has none.
pub fn text(row: &Row, column: &str) -> Option<String> {
    match &row[column] {
        Field::Str(text) => Some(text.clone()),
        Field::Null => None,
        other => panic!("{column}: {other:?} is no text"),
    }
}

/// The integers of a column; `None` where a row has none.
pub fn integer(row: &Row, column: &str) -> Option<i128> {
    match &row[column] {
        Field::UInt(value) => Some((*value).into()),
        Field::ULong(value) => Some((*value).into()),
        Field::Long(value) => Some((*value).into()),
        Field::Null => None,
        other => panic!("{column}: {other:?} is no integer"),
    }
}
