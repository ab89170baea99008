//! `quiclab analyze`

mod pipeline;
pub mod plans;

use std::{
    io::{self, Read},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use pipeline::{Sharing, Task};
use quiclab_experiment::run::Run;
use quiclab_metrics::{AnalysisSettings, CaptureAnalysis, Plan};
use quiclab_pages::{folder, ladder, results::samples};
use quiclab_record::{
    RunFile,
    layout::{CAPTURE_FILE, RUN_FILE},
    wire_role,
};
use quiclab_report::{
    AnalysisInput, AnalyzedCapture, render_analysis_html, render_analysis_json, render_analysis_terminal,
    render_ladder_html,
};
use quiclab_testbed::perform::Interrupted;
use quiclab_trace::TraceWriter;
use quiclab_units::{ByteCount, ShowPath};
use quiclab_wire::{CaptureReader, Decompressed, DissectorSettings, Observed, Role, Segment};
use rayon::prelude::*;

use crate::{
    session::{
        bounded_input::{self, STANDARD_INPUT},
        signals,
    },
    settings::AnalyzeSettings,
    terminal::{output, progress::BytesProgress},
};

/// Analyzes captures. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// Where a file cannot be read, or is none of the formats.
pub fn analyze(settings: &AnalyzeSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let mut notes = Vec::new();
    let key_log = bounded_input::read_key_logs(&settings.keys)?;
    let mut trace = match &settings.parquet {
        Some(folder) => Some(TraceWriter::create(folder)?),
        None => None,
    };
    if settings.parquet.is_some() && settings.files.len() > 1 {
        bail!("--parquet: found {} captures, expected one: frames are numbered within a capture", settings.files.len());
    }
    let ladder =
        settings.ladder.as_deref().map(|page| Ok::<_, anyhow::Error>((page, only_file(settings)?))).transpose()?;
    let reading = signals::reading();
    let logs = plans::read(settings, &mut notes, trace.as_mut())?;
    drop(reading);
    let threads = settings.threads.map_or_else(rayon::current_num_threads, NonZeroUsize::get);
    let analyses: Vec<Result<CaptureAnalysis>> = match settings.files.as_slice() {
        [file] => vec![analyze_file(file, settings, &key_log, &logs.plans, trace.as_mut(), threads, &stop)],
        files => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let each = threads / files.len();
            let analyze = |file: &PathBuf| analyze_file(file, settings, &key_log, &logs.plans, None, each, &stop);
            pool.install(|| files.par_iter().map(analyze).collect())
        }
    };
    let mut captures = Vec::new();
    for (file, analysis) in settings.files.iter().zip(analyses) {
        let mut analysis = analysis?;
        logs.add_to(&mut analysis);
        if analysis.key_log_lines_not_understood > 0 {
            notes.push(format!(
                "{} lines of the key logs are not of the format `LABEL client_random secret` (SSLKEYLOGFILE)",
                analysis.key_log_lines_not_understood
            ));
        }
        captures.push(AnalyzedCapture { file: file.display().to_string(), analysis });
    }
    if let (Some(mut trace), Some(folder)) = (trace, &settings.parquet) {
        if let Some(record) = settings.files.first().and_then(|file| record_of(file)) {
            samples::add(record, &mut trace)?;
        }
        trace.finish()?;
        status!("packets, frames, events and samples: {}", folder.shown());
    }
    let was_cut = captures.iter().any(|capture| capture.analysis.capture.truncation.is_some());
    let input = AnalysisInput {
        captures,
        train_threshold: settings.train_threshold,
        window: settings.window,
        response_bytes: settings.response_size,
        notes,
    };
    if let Some(path) = &settings.html {
        folder::write_at(path, render_analysis_html(&input))?;
        status!("page with figures: {}", path.shown());
    }
    if let Some((page, capture)) = ladder {
        // It is read once more, and may be a pipe.
        let _reading = signals::reading();
        let ladder = ladder::read(capture, bounded_input::open, &key_log, dissector_settings(settings))?;
        folder::write_at(page, render_ladder_html(&ladder))?;
        status!("page with handshakes: {}", page.shown());
    }
    if settings.json {
        output::print(&render_analysis_json(&input))?;
    } else {
        output::print(&render_analysis_terminal(&input, output::terminal_width()))?;
    }
    Ok(u8::from(was_cut))
}

/// The capture whose handshakes are drawn, which is read twice.
///
/// # Errors
/// Where there are several, or it is standard input.
fn only_file(settings: &AnalyzeSettings) -> Result<&Path> {
    match settings.files.as_slice() {
        [file] if file != Path::new(STANDARD_INPUT) => Ok(file),
        [_] => bail!("--ladder: found standard input, expected the name of a file: it is read twice"),
        files => bail!("--ladder: found {} captures, expected one", files.len()),
    }
}

fn dissector_settings(settings: &AnalyzeSettings) -> DissectorSettings {
    DissectorSettings { server_port: settings.server_port, interfaces_are_one_tap: settings.merge_interfaces }
}

/// Analyses a file with so many threads; 0 counts as 1.
fn analyze_file(
    path: &Path,
    settings: &AnalyzeSettings,
    key_log: &[u8],
    plans: &[Plan],
    mut trace: Option<&mut TraceWriter>,
    threads: usize,
    stop: &Arc<AtomicBool>,
) -> Result<CaptureAnalysis> {
    let (sender, bytes_of_record) = transfer_of_record(path)?;
    let task = Task {
        dissector: dissector_settings(settings),
        analysis: AnalysisSettings {
            train_threshold: settings.train_threshold,
            window: settings.window,
            sender,
            transferred_bytes: settings.response_size.or(bytes_of_record),
            pictures: settings.html.is_some(),
            plans: plans.to_vec(),
            ..AnalysisSettings::default()
        },
        key_log,
    };
    let sharing = if threads < 2 {
        Sharing::Alone
    } else if trace.is_some() || task.analysis.relates_flows() {
        // Rows of a trace are in the order of the capture.
        Sharing::One
    } else if path == Path::new(STANDARD_INPUT) {
        // What cannot be read again must be right the first time.
        Sharing::ByInterface(threads)
    } else {
        Sharing::ByAddresses(threads)
    };
    let mut written = Ok(());
    let mut on_packet = |number, segment: &Segment, observed: Option<&Observed>| {
        if let (Some(trace), true) = (trace.as_deref_mut(), written.is_ok()) {
            written = trace.on_packet(number, segment, observed);
        }
    };
    let analysis = match read(path, settings, &task, sharing, stop, &mut on_packet)? {
        Some(analysis) => analysis,
        None => read(path, settings, &task, Sharing::One, stop, &mut on_packet)?
            .expect("one worker that sees every packet takes no connection apart"),
    };
    written?;
    Ok(analysis)
}

/// Reads a file to its end; `None` where it must be read again by one worker.
fn read(
    path: &Path,
    settings: &AnalyzeSettings,
    task: &Task,
    sharing: Sharing,
    stop: &Arc<AtomicBool>,
    on_packet: &mut dyn FnMut(u64, &Segment, Option<&Observed>),
) -> Result<Option<CaptureAnalysis>> {
    let name = path.shown();
    // Opening a pipe waits for who writes, and so does looking at its first bytes.
    let reading = signals::reading();
    let (input, length): (Box<dyn Read + Send>, Option<u64>) = if path == Path::new(STANDARD_INPUT) {
        (Box::new(io::stdin()), None)
    } else {
        let file = bounded_input::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let about = file.metadata().with_context(|| name.to_string())?;
        if about.is_dir() {
            bail!("{name}: found a folder, expected a capture file\nhint: name the files in it, {name}/*.pcapng");
        }
        (Box::new(file), about.is_file().then_some(about.len()))
    };
    // Several bars at once would write over each other.
    let progress = BytesProgress::new(&name.to_string(), length, settings.files.len() == 1);
    let counted = progress.count(input);
    let decompressed = Decompressed::detect(counted).with_context(|| format!("{name}: cannot be read"))?;
    drop(reading);
    let input: Box<dyn Read + Send> = if decompressed.is_plain() && length.is_some() {
        Box::new(crate::session::pipe::until(decompressed, stop.clone()))
    } else {
        // Half of the time of a compressed capture; and a pipe has nothing to read when it is asked.
        Box::new(crate::session::pipe::in_background(decompressed, stop.clone()))
    };
    let analysis = CaptureReader::new(input).and_then(|reader| pipeline::analyze(reader, task, sharing, on_packet));
    progress.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted::ByRequest.into());
    }
    analysis.with_context(|| name.to_string())
}

/// Who transferred how much, where the capture is that of a record.
///
/// # Errors
/// Where the record's run cannot be read.
fn transfer_of_record(capture: &Path) -> Result<(Role, Option<ByteCount>)> {
    let Some(folder) = record_of(capture) else { return Ok((Role::Server, None)) };
    let workload = RunFile::<Run>::read(folder)?.run.settings.workload;
    Ok((wire_role(workload.sender.role()), Some(workload.sent_bytes())))
}

/// The record that a capture is part of; `None` where it is part of none.
fn record_of(capture: &Path) -> Option<&Path> {
    capture.parent().filter(|folder| capture.ends_with(CAPTURE_FILE) && folder.join(RUN_FILE).is_file())
}
