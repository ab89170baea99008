//! Figures as files, for a paper: each as SVG, as PDF and as PNG.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use quiclab_record::Record;
use quiclab_report::AnyReport;

use crate::{folder, results::Results, run_page};

/// Writes every figure of a report, and the one over time of each run that has packets.
///
/// # Errors
/// Where a record cannot be read, or a file cannot be written.
pub fn write_all(into: &Path, results: &Results, report: &AnyReport) -> Result<()> {
    let mut files = report.figures();
    if let AnyReport::Transfers(input) = report {
        for run in input.runs.iter().filter(|run| run.packets.is_some()) {
            let page = run_page::read(&Record::load(&results.records.folder().join(&run.folder))?)?;
            files.extend(page.map(|page| (format!("run-{}", run.folder), quiclab_report::render_run_svg(&page))));
        }
    }
    write(into, &files)
}

/// Writes figures by their names, without the ending.
///
/// # Errors
/// Where a file cannot be written.
pub fn write(into: &Path, figures: &[(String, String)]) -> Result<()> {
    fs::create_dir_all(into).with_context(|| into.display().to_string())?;
    for (name, svg) in figures {
        folder::write(into, &format!("{name}.svg"), svg)?;
        let image = format!("{name}.png");
        let png = quiclab_report::png_of_svg(svg).with_context(|| into.join(&image).display().to_string())?;
        folder::write(into, &image, png)?;
        let name = format!("{name}.pdf");
        let pdf = quiclab_report::pdf_of_svg(svg).with_context(|| into.join(&name).display().to_string())?;
        folder::write(into, &name, pdf)?;
    }
    tell!("{} figures, each as SVG, PDF and PNG: {}", figures.len(), into.display());
    Ok(())
}
