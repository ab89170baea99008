//! Traces of rates and of delays in files of their own.

use std::path::Path;

use quiclab_path::rate_trace::{DeliveryTrace, TraceError};
use quiclab_units::Duration;
use toml::{Table, Value};

use super::files::{Includes, MOST_TEXT_BYTES, MOST_TRACE_BYTES};

/// A delay, and the time of a step, are less than a day.
const DAY_MS: u64 = 86_400_000;

/// Reads the traces that stages name.
pub(super) struct Traces<'a> {
    pub(super) includes: &'a Includes<'a>,
    /// Names are relative to this folder, which is relative to that of the experiment file.
    pub(super) folder: &'a str,
    /// The folder outside of which nothing may be read, as in [`NamedFile::below`](super::files::NamedFile::below).
    pub(super) below: Option<&'a str>,
}

/// A stage that names a trace is refused: this says at which key, or in which file, and why.
pub(super) struct Wrong {
    /// The key whose value is wrong.
    pub(super) key: &'static str,
    /// The file as the stage names it; `None` where something else is wrong than what is in it.
    pub(super) file: Option<String>,
    /// What was expected; nothing of what a file contains.
    pub(super) message: String,
}

impl Traces<'_> {
    /// Puts the contents of a trace in the place of `file`.
    pub(super) fn put(&self, mut stage: Table) -> Result<Table, Wrong> {
        let is_rate = match stage.get("stage").and_then(Value::as_str) {
            Some("rate_trace") => true,
            Some("delay_trace") => false,
            _ => return Ok(stage),
        };
        let wrong = |key, message: &str| Wrong { key, file: None, message: message.to_owned() };
        let key = if is_rate { "milliseconds" } else { "steps" };
        let Some(file) = stage.remove("file") else { return Ok(stage) };
        let Value::String(file) = file else { return Err(wrong("file", "expected the name of a file")) };
        if stage.contains_key(key) {
            return Err(wrong(key, "found a value in addition to file; expected one of the two"));
        }
        let name = Path::new(self.folder).join(&file).display().to_string();
        let in_file = |message: String| Wrong { key: "file", file: Some(name.clone()), message };
        let most_bytes = if is_rate { MOST_TRACE_BYTES } else { MOST_TEXT_BYTES };
        let text = self.includes.text(&name, self.below, most_bytes).map_err(in_file)?;
        let contents = if is_rate {
            opportunities(&text).map_err(in_file)?
        } else {
            let (steps, last) = steps(&text).map_err(in_file)?;
            let length = stage.get("length").and_then(Value::as_str).and_then(|text| text.parse::<Duration>().ok());
            if length.is_some_and(|length| length <= last) {
                return Err(wrong("length", "expected more than the time of the last step in file"));
            }
            steps
        };
        stage.insert(key.to_owned(), contents);
        Ok(stage)
    }
}

/// Lines that are not empty and no comments, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A Mahimahi trace as one text, with its numbers checked so that an error has their line.
fn opportunities(text: &str) -> Result<Value, String> {
    DeliveryTrace::from_mahimahi(text).map_err(|error| match error {
        TraceError::NoNumber { line, .. } => format!("line {line}: expected a whole number of milliseconds"),
        TraceError::Decreasing { line, .. } => format!("line {line}: expected no less than the number before"),
        TraceError::TooLate { line, .. } => format!("line {line}: expected at most a year in milliseconds"),
        TraceError::NoLength { .. } => {
            "the last line: expected more than 0, after which the trace is repeated".to_owned()
        }
    })?;
    Ok(Value::String(lines(text).map(|(_, line)| line).collect::<Vec<_>>().join(" ")))
}

/// Two numbers of milliseconds on each line: since when, and how long. Returns the last time as well.
fn steps(text: &str) -> Result<(Value, Duration), String> {
    let (mut steps, mut last) = (Vec::new(), None);
    for (number, line) in lines(text) {
        let mut words = line.split_ascii_whitespace().map(|word| word.parse::<u64>().ok().filter(|ms| *ms < DAY_MS));
        let (Some(Some(since)), Some(Some(delay)), None) = (words.next(), words.next(), words.next()) else {
            return Err(format!(
                "line {number}: expected two whole numbers of milliseconds, a time and a delay, both less than a day"
            ));
        };
        match last {
            None if since > 0 => return Err(format!("line {number}: expected the first step at 0 ms")),
            Some(last) if since <= last => return Err(format!("line {number}: expected a later time than before")),
            _ => last = Some(since),
        }
        steps.push(Value::Array([since, delay].map(|ms| Value::String(format!("{ms} ms"))).into()));
    }
    let last = last.ok_or("found no line with two numbers, expected a first step at 0 ms")?;
    Ok((Value::Array(steps), Duration::from_millis(last)))
}
