//! Names, bytes and sizes of the files of a trace.

use std::fs;
use std::path::Path;

use crate::common::{open, write_trace};
use parquet::file::reader::FileReader;
use quiclab_trace::{EVENTS_FILE, FRAMES_FILE, PACKETS_FILE, SAMPLES_FILE, TraceError, TraceWriter};
use quiclab_wire::{QlogEvent, QlogEventKind};

const FILES: [&str; 4] = [EVENTS_FILE, FRAMES_FILE, PACKETS_FILE, SAMPLES_FILE];

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let parent = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| parent.path().join(name));
    for folder in [&first, &second] {
        write_trace(folder, "ngtcp2.pcapng", "quiche.sqlog");
    }
    for file in FILES {
        assert!(fs::read(first.join(file)).unwrap() == fs::read(second.join(file)).unwrap(), "{file}");
    }
    assert_eq!(names(&first), FILES);
}

#[test]
fn every_file_says_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path(), "ngtcp2.pcapng", "quiche.sqlog");
    for file in FILES {
        let reader = open(folder.path(), file);
        let values = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let pairs: Vec<_> = values.iter().map(|pair| (pair.key.as_str(), pair.value.as_deref())).collect();
        assert_eq!(pairs, [("quiclab_trace_schema", Some("1"))], "{file}");
    }
}

#[test]
fn a_trace_that_is_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let writer = TraceWriter::create(folder.path()).unwrap();
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".partial")));
    drop(writer);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn an_earlier_trace_stays_until_the_next_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path(), "ngtcp2.pcapng", "quiche.sqlog");
    let before = FILES.map(|file| fs::read(folder.path().join(file)).unwrap());
    drop(TraceWriter::create(folder.path()).unwrap());
    assert_eq!(before, FILES.map(|file| fs::read(folder.path().join(file)).unwrap()));
    TraceWriter::create(folder.path()).unwrap().finish().unwrap();
    for file in FILES {
        assert_eq!(open(folder.path(), file).metadata().file_metadata().num_rows(), 0, "{file}");
    }
}

#[test]
fn what_a_killed_writer_left_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".frames.parquet.partial"), vec![1; 1 << 20]).unwrap();
    write_trace(folder.path(), "ngtcp2.pcapng", "quiche.sqlog");
    assert_eq!(names(folder.path()), FILES);
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = TraceWriter::create(&file).err().unwrap();
    assert!(matches!(&error, TraceError::CreateFolder { path, .. } if *path == file));
    assert!(error.to_string().starts_with(file.to_str().unwrap()));
}

#[test]
fn rows_are_written_in_groups() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(folder.path()).unwrap();
    for time_ns in 0..65_537 {
        let kind = QlogEventKind::Other("a:b".to_owned());
        writer.on_event("sample.sqlog", &QlogEvent { trace: 0, time_ns, kind }).unwrap();
    }
    writer.finish().unwrap();
    let reader = open(folder.path(), EVENTS_FILE);
    let rows: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [65_536, 1]);
}
