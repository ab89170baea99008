//! What a comparison is shown as.

use std::path::Path;

use anstyle::AnsiColor;
use anyhow::{Result, bail};
use quiclab_pages::folder;
use quiclab_report::{
    Comparison, Key, Question, ReportInput, Tone, render_comparison_html, render_comparison_markdown,
    render_comparison_terminal,
};

use serde_json::json;

use crate::{settings::JudgeSettings, terminal::output};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;
/// Standard output, as a file.
const STANDARD_OUTPUT: &str = "-";

/// Refuses what cannot be shown, before anything is run.
///
/// # Errors
/// Two forms for one standard output.
pub fn check(judge: &JudgeSettings) -> Result<()> {
    if judge.json && judge.markdown.as_deref() == Some(Path::new(STANDARD_OUTPUT)) {
        bail!("--json and --markdown: standard output has one format\nhint: --markdown FILE");
    }
    Ok(())
}

/// Prints a comparison, and writes the files that were asked for. Returns how many conditions fail, at most [`MOST_FAILURES`].
///
/// # Errors
/// Where a file cannot be written.
pub fn show(
    comparison: &Comparison,
    inputs: Option<([&ReportInput; 2], [Key; 2])>,
    judge: &JudgeSettings,
) -> Result<u8> {
    check(judge)?;
    if let Some(path) = &judge.html {
        folder::write_at(path, render_comparison_html(comparison, inputs))?;
        status!("page with figures: {}", path.display());
    }
    match judge.markdown.as_deref() {
        Some(path) if path == Path::new(STANDARD_OUTPUT) => output::print(&render_comparison_markdown(comparison))?,
        markdown => {
            if let Some(path) = markdown {
                folder::write_at(path, render_comparison_markdown(comparison))?;
            }
            match judge.json {
                true => output::print(&comparison.to_json())?,
                false => {
                    let lines = render_comparison_terminal(comparison, output::terminal_width(), judge.all);
                    output::print_lines(lines.0.iter().map(|(tone, line)| (colour(*tone), line.as_str())))?;
                }
            }
        }
    }
    Ok(comparison.wrong(judge.strict).min(MOST_FAILURES) as u8)
}

/// The colour of a line in a terminal.
fn colour(tone: Tone) -> Option<AnsiColor> {
    match tone {
        Tone::Good => Some(AnsiColor::Green),
        Tone::Bad => Some(AnsiColor::Red),
        Tone::Plain => None,
    }
}

/// Says that every run of a side failed, in the places in which a comparison was asked for. Returns the number of conditions, none of
/// which can be judged, and one more for the failed runs, at most [`MOST_FAILURES`].
///
/// # Errors
/// Where a file cannot be written.
pub fn show_no_verdict(reason: &str, question: &Question, judge: &JudgeSettings) -> Result<u8> {
    status!("quiclab: no verdict: {reason}");
    let text = format!("**No verdict.** {reason}\n");
    match judge.markdown.as_deref() {
        Some(path) if path == Path::new(STANDARD_OUTPUT) => output::print(&text)?,
        Some(path) => folder::write_at(path, &text)?,
        None => {}
    }
    if let Some(path) = &judge.html {
        let escaped = reason.replace('&', "&amp;").replace('<', "&lt;");
        let page = format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><title>No verdict</title><h1>No verdict</h1><pre>{escaped}</pre>\n"
        );
        folder::write_at(path, page)?;
    }
    if judge.json {
        output::print(&(serde_json::to_string_pretty(&json!({ "verdict": null, "reason": reason }))? + "\n"))?;
    }
    Ok((question.conditions.len() + 1).min(MOST_FAILURES) as u8)
}
