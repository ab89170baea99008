//! Packets, QUIC frames and qlog events of records, as Parquet files.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use quiclab_metrics::{AnalysisSettings, analyze};
use quiclab_record::layout::CAPTURE_FILE;
use quiclab_testbed::{contract::SERVER_PORT, lock::RecordLock};
use quiclab_trace::{PACKETS_FILE, TraceWriter};
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, read_qlog};
use rayon::prelude::*;

use crate::{analyze::open, progress};

/// The folder of all traces, in that of the records.
pub const TRACES_FOLDER: &str = "trace";
/// Where endpoints write their qlogs, in a record.
const QLOG_FOLDERS: [&str; 2] = ["server/qlog", "client/qlog"];

/// Writes the traces of the records `names` in `folder`, each into a folder `trace/record=NAME`, so that readers of many files see the
/// record's name as a column. Those that are there already stay, since records do not change.
///
/// # Errors
/// Where a capture cannot be read or a file not be written.
pub fn write(folder: &Path, names: &[String]) -> Result<()> {
    names.par_iter().try_for_each(|name| {
        let into = folder.join(TRACES_FOLDER).join(format!("record={name}"));
        if into.join(PACKETS_FILE).is_file() {
            return Ok(());
        }
        // Two processes may be at it.
        let _lock = RecordLock::take(folder, name, &AtomicBool::new(false))?;
        write_one(&folder.join(name), &into)
    })
}

fn write_one(record: &Path, into: &Path) -> Result<()> {
    let mut trace = TraceWriter::create(into)?;
    for file in qlogs(record)? {
        let source = file.strip_prefix(record).unwrap_or(&file).display().to_string();
        let mut written = Ok(());
        let read = read_qlog(open(&file)?, &mut |event| {
            if written.is_ok() {
                written = trace.on_event(&source, &event);
            }
        });
        written?;
        if let Err(error) = read {
            progress::say(&format!("skipping {} from here on: not a qlog: {error}", file.display()));
        }
    }
    let path = record.join(CAPTURE_FILE);
    let place = || path.display().to_string();
    let reader = CaptureReader::new(File::open(&path).with_context(place)?).with_context(place)?;
    let dissector = Dissector::new(DissectorSettings { server_port: Some(SERVER_PORT), interfaces_are_one_tap: false });
    let mut written = Ok(());
    analyze(reader, dissector, AnalysisSettings::default(), &mut |number, segment, observed| {
        if written.is_ok() {
            written = trace.on_packet(number, segment, observed);
        }
    })
    .with_context(place)?;
    written?;
    Ok(trace.finish()?)
}

/// The files in the endpoints' folders of qlogs, in order.
fn qlogs(record: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in QLOG_FOLDERS.map(|folder| record.join(folder)) {
        if folder.is_dir() {
            let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
            files.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
        }
    }
    files.sort();
    Ok(files)
}
