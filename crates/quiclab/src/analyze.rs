//! `quiclab analyze`

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use quiclab_metrics::{AnalysisSettings, CaptureAnalysis, Plan, analyze as analyze_capture};
use quiclab_report::{
    AnalysisInput, AnalyzedCapture, render_analysis_html, render_analysis_json, render_analysis_terminal,
};
use quiclab_testbed::{
    perform::Interrupted,
    record::{CAPTURE_FILE, RUN_FILE, RunFile},
};
use quiclab_trace::TraceWriter;
use quiclab_units::ByteCount;
use quiclab_wire::{CaptureReader, Decompressed, Dissector, DissectorSettings};
use rayon::prelude::*;

use crate::{analyze_plans, cli::AnalyzeArguments, output, progress::BytesProgress, signals};

/// Standard input, where a file's name is expected.
const STANDARD_INPUT: &str = "-";

/// Analyzes captures. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// Where a file cannot be read, or is none of the formats.
pub fn analyze(arguments: &AnalyzeArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let mut notes = Vec::new();
    let mut key_log = Vec::new();
    for file in &arguments.keys {
        let text = fs::read(file).with_context(|| format!("{}: the key log cannot be read", file.display()))?;
        key_log.extend(text);
        key_log.push(b'\n');
    }
    let mut trace = match &arguments.parquet {
        Some(folder) => Some(TraceWriter::create(folder)?),
        None => None,
    };
    if arguments.parquet.is_some() && arguments.files.len() > 1 {
        bail!(
            "--parquet: found {} captures, expected one: frames are numbered within a capture",
            arguments.files.len()
        );
    }
    let plans = analyze_plans::read(arguments, &mut notes, trace.as_mut())?;
    let analyses: Vec<Result<CaptureAnalysis>> = match arguments.files.as_slice() {
        [file] => vec![analyze_file(file, arguments, &key_log, &plans, trace.as_mut(), &stop)],
        files => files.par_iter().map(|file| analyze_file(file, arguments, &key_log, &plans, None, &stop)).collect(),
    };
    let mut captures = Vec::new();
    for (file, analysis) in arguments.files.iter().zip(analyses) {
        let analysis = analysis?;
        if analysis.key_log_lines_not_understood > 0 {
            notes.push(format!(
                "{} lines of the key logs are not of the format `LABEL client_random secret` (SSLKEYLOGFILE)",
                analysis.key_log_lines_not_understood
            ));
        }
        captures.push(AnalyzedCapture { file: file.display().to_string(), analysis });
    }
    if let (Some(trace), Some(folder)) = (trace, &arguments.parquet) {
        trace.finish()?;
        eprintln!("packets, frames and events: {}", folder.display());
    }
    let was_cut = captures.iter().any(|capture| capture.analysis.capture.truncation.is_some());
    let input = AnalysisInput {
        captures,
        train_threshold: arguments.train_threshold,
        window: arguments.window,
        response_bytes: arguments.response_size,
        notes,
    };
    if let Some(path) = &arguments.html {
        fs::write(path, render_analysis_html(&input)).with_context(|| path.display().to_string())?;
        eprintln!("page with figures: {}", path.display());
    }
    if arguments.output.json {
        output::print(&render_analysis_json(&input))?;
    } else {
        output::print(&render_analysis_terminal(&input, output::terminal_width()))?;
    }
    Ok(u8::from(was_cut))
}

fn analyze_file(
    path: &Path,
    arguments: &AnalyzeArguments,
    key_log: &[u8],
    plans: &[Plan],
    mut trace: Option<&mut TraceWriter>,
    stop: &Arc<AtomicBool>,
) -> Result<CaptureAnalysis> {
    let name = path.display();
    let (input, length): (Box<dyn Read + Send>, Option<u64>) = if path == Path::new(STANDARD_INPUT) {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path).with_context(|| format!("{name}: cannot be opened"))?;
        let about = file.metadata().with_context(|| name.to_string())?;
        if about.is_dir() {
            bail!("{name}: found a folder, expected a capture file\nhint: name the files in it, {name}/*.pcapng");
        }
        (Box::new(file), about.is_file().then_some(about.len()))
    };
    // Several bars at once would write over each other.
    let progress = BytesProgress::new(&name.to_string(), length, arguments.files.len() == 1);
    let counted = progress.count(input);
    // Decompression and reading in a thread of their own: half of the time of a compressed capture.
    let decompressed = Decompressed::detect(counted).with_context(|| format!("{name}: cannot be read"))?;
    let input = crate::pipe::in_background(decompressed, stop.clone());
    let mut dissector = Dissector::new(DissectorSettings {
        server_port: arguments.server_port,
        interfaces_are_one_tap: arguments.merge_interfaces,
    });
    dissector.add_keys(key_log);
    let settings = AnalysisSettings {
        train_threshold: arguments.train_threshold,
        window: arguments.window,
        response_bytes: arguments.response_size.or_else(|| response_of_record(path)),
        pictures: arguments.html.is_some(),
        plans: plans.to_vec(),
        ..AnalysisSettings::default()
    };
    let reader = CaptureReader::new(input).with_context(|| name.to_string())?;
    let mut written = Ok(());
    let analysis = analyze_capture(reader, dissector, settings, &mut |number, segment, observed| {
        if let (Some(trace), true) = (trace.as_deref_mut(), written.is_ok()) {
            written = trace.on_packet(number, segment, observed);
        }
    });
    progress.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted::ByRequest.into());
    }
    written?;
    analysis.with_context(|| name.to_string())
}

/// What was transferred, where the capture is that of a record.
fn response_of_record(capture: &Path) -> Option<ByteCount> {
    if capture.file_name()? != CAPTURE_FILE {
        return None;
    }
    let record: RunFile = toml::from_str(&fs::read_to_string(capture.with_file_name(RUN_FILE)).ok()?).ok()?;
    Some(record.run.settings.workload.all_bytes())
}

/// Opens a file that may be compressed.
///
/// # Errors
/// Where it cannot be opened.
pub fn open(path: &Path) -> Result<BufReader<Decompressed<File>>> {
    let file = File::open(path).with_context(|| format!("{}: cannot be opened", path.display()))?;
    Ok(BufReader::new(Decompressed::detect(file).with_context(|| path.display().to_string())?))
}
