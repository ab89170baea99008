//! Rows of surveys, read for tables and figures.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_inputs::open_regular;
use quiclab_report::{ScanReport, ScanReportRow};
use quiclab_trace::{RunColumn, RunKind, RunsReader};
use quiclab_units::ShowPath;
use serde_json::{Map, Value};

use super::{
    csv_text,
    row::{COLUMNS, Cell, ScanRow},
};

/// Ends of the names of files with rows.
const FORMATS: [&str; 3] = ["parquet", "csv", "jsonl"];
/// Folders in folders: a scan that repeats has one for each day.
const DEPTH: usize = 3;

/// Reads the rows of files, and of all files in folders; `PLACE=PATH` says from where was scanned. `command` is for the report.
///
/// # Errors
/// A file that cannot be read, a folder without rows.
pub fn report(paths: &[PathBuf], command: String) -> Result<ScanReport> {
    let mut report = ScanReport::new("Scan", command);
    for named in paths {
        let (place, path) = place_and_path(named);
        let mut files = Vec::new();
        find(&path, DEPTH, &mut files)?;
        if files.is_empty() {
            bail!("{}: found no rows, expected files that end in .parquet, .csv or .jsonl", path.shown());
        }
        for file in files {
            let mut add = |object: &Map<String, Value>| report.push(&row(object, place.clone()));
            read(&file, &mut add).with_context(|| file.shown().to_string())?;
        }
    }
    Ok(report)
}

/// `PLACE=PATH`, where there is no such file.
fn place_and_path(named: &Path) -> (Option<String>, PathBuf) {
    if !named.exists()
        && let Some((place, path)) = named.to_str().and_then(|text| text.split_once('='))
    {
        return (Some(place.to_owned()), path.into());
    }
    (None, named.to_owned())
}

/// Files of rows in a folder, in order; or the file itself.
fn find(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let about = fs::metadata(path).with_context(|| path.shown().to_string())?;
    if !about.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut inside = Vec::new();
    for entry in fs::read_dir(path).with_context(|| path.shown().to_string())? {
        inside.push(entry.with_context(|| path.shown().to_string())?.path());
    }
    inside.sort();
    for path in inside {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_rows = FORMATS.iter().any(|end| path.extension().is_some_and(|of| of == *end));
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files)?;
        } else if is_rows && (name.starts_with("rows-") || name.starts_with("pending-")) && !name.contains(".partial") {
            files.push(path);
        }
    }
    Ok(())
}

/// Hands each row of a file to `on_row`.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn read(path: &Path, on_row: &mut dyn FnMut(&Map<String, Value>)) -> Result<()> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("parquet") => read_parquet(path, on_row),
        Some("csv") => {
            let mut reader = csv::Reader::from_reader(open_regular(path)?);
            let names = reader.headers()?.clone();
            for record in reader.records() {
                let record = record?;
                let values = names.iter().zip(&record).filter(|(_, value)| !value.is_empty());
                on_row(&values.map(|(name, value)| (name.to_owned(), of_text(value))).collect());
            }
            Ok(())
        }
        _ => {
            let file = open_regular(path)?;
            for (number, line) in BufReader::new(file).lines().enumerate() {
                let line = line?;
                let object = serde_json::from_str(&line).with_context(|| format!("line {}", number + 1))?;
                on_row(&object);
            }
            Ok(())
        }
    }
}

/// A number or a truth where it is one, otherwise a text.
fn of_text(text: &str) -> Value {
    if let Some(text) = csv_text::original(text) {
        return Value::from(text);
    }
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse::<serde_json::Number>().map_or_else(|_| Value::from(text), Value::Number),
    }
}

fn read_parquet(path: &Path, on_row: &mut dyn FnMut(&Map<String, Value>)) -> Result<()> {
    let kinds = ScanRow::default();
    let kind = |cell: Cell| match cell {
        Cell::Text(_) => RunKind::Text,
        Cell::Whole(_) => RunKind::Whole,
        Cell::Number(_) => RunKind::Number,
        Cell::Truth(_) => RunKind::Truth,
    };
    let columns: Vec<_> = COLUMNS.iter().map(|(name, value)| (*name, kind(value(&kinds)))).collect();
    for piece in RunsReader::open(path, &columns)? {
        let piece = piece?;
        let rows = piece.first().map_or(0, |(_, column)| length(column));
        for row in 0..rows {
            on_row(&piece.iter().map(|(name, column)| (name.clone(), value(column, row))).collect());
        }
    }
    Ok(())
}

fn length(column: &RunColumn) -> usize {
    match column {
        RunColumn::Texts(values) => values.len(),
        RunColumn::Wholes(values) => values.len(),
        RunColumn::Numbers(values) => values.len(),
        RunColumn::Truths(values) => values.len(),
    }
}

fn value(column: &RunColumn, row: usize) -> Value {
    match column {
        RunColumn::Texts(values) => Value::from(values[row].clone()),
        RunColumn::Wholes(values) => Value::from(values[row]),
        RunColumn::Numbers(values) => Value::from(values[row]),
        RunColumn::Truths(values) => Value::from(values[row]),
    }
}

fn row(object: &Map<String, Value>, place: Option<String>) -> ScanReportRow {
    let text = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        // A name of digits in CSV.
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let whole = |name: &str| object.get(name).and_then(Value::as_u64);
    let truth = |name: &str| object.get(name).and_then(Value::as_bool);
    let completed = || (truth("is_complete") == Some(true)).then(|| "completed".to_owned());
    ScanReportRow {
        time_ns: whole("time_ns").unwrap_or(0),
        name: text("name"),
        rank: whole("rank"),
        group: text("group"),
        cdn: text("cdn"),
        location: text("location"),
        place,
        first_answer: text("first_answer"),
        is_ack_padded: truth("is_ack_padded"),
        ack_to_hello_ns: whole("ack_to_hello_ns"),
        first_rtt_ns: whole("first_rtt_ns"),
        initial_ack_delay_ns: whole("initial_ack_delay_ns"),
        handshake_ack_delay_ns: whole("handshake_ack_delay_ns"),
        outcome: text("outcome").or_else(completed),
        amplification_factor: object.get("amplification_factor").and_then(Value::as_f64),
        certificate_bytes: whole("certificate_bytes"),
        blocked_ns: whole("blocked_ns"),
    }
}
