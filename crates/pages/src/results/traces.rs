//! Packets, QUIC frames and qlog events of records, as Parquet files.

use std::{path::Path, sync::atomic::AtomicBool};

use anyhow::{Context, Result};
use quiclab_experiment::{RELEASE, run::Run};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::{AnalysisSettings, analyze};
use quiclab_record::{
    RunFile,
    layout::{CAPTURE_FILE, CLIENT_FOLDER, QLOG_FOLDER, SERVER_FOLDER},
    qlog_files, read_observed,
};
use quiclab_report::AnyReport;
use quiclab_testbed::lock::RecordLock;
use quiclab_trace::{PACKETS_FILE, TraceWriter};
use quiclab_units::ShowPath;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, read_qlog};
use rayon::prelude::*;

use super::{runs_table::RUNS_FILE, samples};
use crate::transfer::logs::open_log;

/// The folder of all traces, in that of the records.
pub const TRACES_FOLDER: &str = "trace";

/// Writes the traces of all records of a report about what is in `folder`.
///
/// # Errors
/// As [`write`].
pub fn write_all(folder: &Path, report: &AnyReport, stop: &AtomicBool, say: fn(&str)) -> Result<()> {
    match report {
        AnyReport::Transfers(input) => {
            let names: Vec<_> = input.runs.iter().map(|run| run.folder.clone()).collect();
            write(folder, &names, stop, say)
        }
        AnyReport::Models(_) => {
            say(&format!(
                "--parquet: {} has flows of models, which have no packets to write; {RUNS_FILE} has its runs",
                report.experiment()
            ));
            Ok(())
        }
    }
}

/// Writes the traces of the records `names` in `folder`, each into a folder `trace/record=NAME`, so that readers of many files see the
/// record's name as a column. Those that are there already stay, since records do not change.
///
/// # Errors
/// Where a record cannot be read, a file cannot be written, or `stop` is set while another process writes the same trace.
pub fn write(folder: &Path, names: &[String], stop: &AtomicBool, say: fn(&str)) -> Result<()> {
    names.par_iter().try_for_each(|name| {
        let into = folder.join(TRACES_FOLDER).join(format!("record={name}"));
        let is_there = || into.join(PACKETS_FILE).is_file();
        if is_there() {
            return Ok(());
        }
        let _lock = RecordLock::take(folder, name, stop)?;
        // Another process may have written it while this one waited.
        if is_there() {
            return Ok(());
        }
        write_one(&folder.join(name), &into, say)
    })
}

fn write_one(record: &Path, into: &Path, say: fn(&str)) -> Result<()> {
    let run = RunFile::<Run>::read(record)?;
    let observed = read_observed(record, run.versions.get(RELEASE).map(String::as_str))?;
    let mut trace = TraceWriter::create(into)?;
    let folders = [CLIENT_FOLDER, SERVER_FOLDER].map(|side| qlog_files(&record.join(side).join(QLOG_FOLDER)));
    let [client, server] = folders;
    for file in client?.into_iter().chain(server?) {
        let source = file.strip_prefix(record).unwrap_or(&file).display().to_string();
        let mut written = Ok(());
        let read = read_qlog(open_log(&file)?, &mut |event| {
            if written.is_ok() {
                written = trace.on_event(&source, &event);
            }
        });
        written?;
        if let Err(error) = read {
            say(&format!("skipping {} from here on: not a qlog: {error}", file.shown()));
        }
    }
    samples::add(record, &mut trace)?;
    let path = record.join(CAPTURE_FILE);
    let place = || path.shown();
    let reader = CaptureReader::new(open_unlinked(&path).with_context(place)?).with_context(place)?;
    let settings = DissectorSettings { server_port: Some(observed.server_port), interfaces_are_one_tap: false };
    let dissector = Dissector::new(settings);
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

#[cfg(test)]
mod tests {
    use quiclab_testbed::perform::Interrupted;

    use super::*;

    #[test]
    fn waiting_for_another_process_ends_with_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let name = "x-01-0123456789abcdef".to_owned();
        let _other = RecordLock::try_take(folder.path(), &name).unwrap().unwrap();
        let error = write(folder.path(), &[name], &AtomicBool::new(true), |_| {}).unwrap_err();
        let is_interrupted = |cause: &(dyn std::error::Error + 'static)| {
            cause.downcast_ref::<Interrupted>() == Some(&Interrupted::ByRequest)
        };
        assert!(error.chain().any(is_interrupted), "{error:#}");
    }
}
