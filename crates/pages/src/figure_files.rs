//! Figures as files, for a paper: each as SVG, as PDF and as PNG.

pub mod rsvg;

use std::{fs, panic::resume_unwind, path::Path, thread};

use anyhow::{Context, Result};
use quiclab_record::Record;
use quiclab_report::AnyReport;

use crate::{folder, run_page};
use rsvg::{Format, convert};

/// Writes every figure of a report about the records in a folder, and the one over time of each run that has packets. Says so in a line.
///
/// # Errors
/// Where a record cannot be read, or a file cannot be written.
pub fn write_all(into: &Path, records: &Path, report: &AnyReport) -> Result<String> {
    let mut files = report.figures();
    if let AnyReport::Transfers(input) = report {
        for run in input.runs.iter().filter(|run| run.packets.is_some()) {
            let page = run_page::read(&Record::load(&records.join(&run.folder))?)?;
            files.extend(page.map(|page| (format!("run-{}", run.folder), quiclab_report::render_run_svg(&page))));
        }
    }
    write(into, &files)
}

/// Writes figures by their names, without the ending. The SVG files are all there before the first of them is converted. Says so in a line.
///
/// # Errors
/// Where a file cannot be written, or a figure cannot be converted.
pub fn write(into: &Path, figures: &[(String, String)]) -> Result<String> {
    fs::create_dir_all(into).with_context(|| into.display().to_string())?;
    for (name, svg) in figures {
        folder::write(into, &format!("{name}.svg"), svg)?;
    }
    for (name, svg) in figures {
        let formats = [Format::Pdf, Format::Png];
        let converted = thread::scope(|scope| {
            let all = formats.map(|format| scope.spawn(move || convert(svg, format)));
            all.map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)))
        });
        for (format, bytes) in formats.into_iter().zip(converted) {
            let file = format!("{name}.{}", format.ending());
            folder::write(into, &file, bytes.with_context(|| into.join(&file).display().to_string())?)?;
        }
    }
    Ok(format!("{} figures, each as SVG, PDF and PNG: {}", figures.len(), into.display()))
}
