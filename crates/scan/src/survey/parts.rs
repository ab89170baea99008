//! The folder of a scan: rows in files of some thousand, or of some megabytes, each written whole, and what came since the last one.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_inputs::{open_regular, open_regular_with};
use quiclab_units::ShowPath;

use super::{
    capture::KeptHandshakes,
    row::{COLUMNS, Cell, ScanRow, cells, cells_of_json},
    rows::{RowsFile, to_json},
    settings::RowFormat,
};

/// Rows of a file.
const ROWS: usize = 20_000;
/// Bytes of memory that rows and kept packets of a file take: more than ordinary rows do, so that servers which send much do not decide how
/// much memory a scan takes.
const BYTES: usize = 64 << 20;
/// A file is written after so long, if there is a row.
const AGE: Duration = Duration::from_secs(300);

/// Rows on their way into files.
///
/// A row is in `pending-N.jsonl` before it counts as written. When there are enough, `rows-N` is written from it aside and gets its name,
/// and then the pending file goes. Whatever is killed when, each row is in one of them.
pub struct Parts {
    folder: PathBuf,
    format: RowFormat,
    number: u32,
    pending: File,
    rows: Vec<Vec<Cell>>,
    /// Bytes of memory that `rows` take.
    bytes: usize,
    kept: KeptHandshakes,
    begin: Instant,
}

impl Parts {
    /// Goes on in a folder, or begins.
    ///
    /// # Errors
    /// Where it cannot be read or written.
    pub fn open(folder: &Path, format: RowFormat) -> Result<Self> {
        let number = last_part(folder)? + 1;
        let path = pending(folder, number);
        let mut rows = Vec::new();
        let mut whole = 0;
        if path.exists() {
            let file = open_regular(&path).with_context(|| path.shown().to_string())?;
            let mut lines = BufReader::new(file);
            let mut line = String::new();
            // A line that a kill cut off never counted as written.
            while lines.read_line(&mut line).with_context(|| path.shown().to_string())? > 0 && line.ends_with('\n') {
                let Ok(value) = serde_json::from_str(&line) else { break };
                rows.push(cells_of_json(&value));
                whole += line.len() as u64;
                line.clear();
            }
        }
        let open = || open_regular_with(&path, File::options().create(true).append(true));
        let file = open().with_context(|| path.shown().to_string())?;
        file.set_len(whole).with_context(|| path.shown().to_string())?;
        // Of a part that was written, and whose end did not come to this.
        let _ = fs::remove_file(pending(folder, number - 1));
        let (folder, begin) = (folder.to_owned(), Instant::now());
        let (bytes, kept) = (rows.iter().map(|row| row_bytes(row)).sum(), KeptHandshakes::default());
        Ok(Parts { folder, format, number, pending: file, rows, bytes, kept, begin })
    }

    /// Target and address of every row that waits for its file. After a start that was cut off between a row and its entry in the journal,
    /// the row is among them.
    pub fn waiting(&self) -> BTreeSet<(String, String)> {
        let place = |column: &str| COLUMNS.iter().position(|(name, _)| *name == column);
        let (Some(target), Some(server)) = (place("target"), place("server")) else { return BTreeSet::new() };
        let text = |row: &[Cell], place: usize| row[place].to_text();
        self.rows.iter().map(|row| (text(row, target), text(row, server))).collect()
    }

    /// Adds rows; they are with the kernel when this returns.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn add(&mut self, new: &[ScanRow]) -> Result<()> {
        let mut text = Vec::new();
        for row in new {
            serde_json::to_writer(&mut text, &to_json(row))?;
            text.push(b'\n');
        }
        let before = self.pending.metadata()?.len();
        if let Err(error) = self.pending.write_all(&text) {
            // Half a row must not stand in front of the next one.
            let _ = self.pending.set_len(before);
            return Err(error).with_context(|| pending(&self.folder, self.number).shown().to_string());
        }
        for row in new.iter().map(cells) {
            self.bytes += row_bytes(&row);
            self.rows.push(row);
        }
        Ok(())
    }

    /// Packets that go into the capture of this part.
    pub fn kept(&mut self) -> &mut KeptHandshakes {
        &mut self.kept
    }

    /// Writes a file if it is time.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn advance(&mut self) -> Result<()> {
        let is_full = self.rows.len() >= ROWS || self.bytes + self.kept.bytes() >= BYTES;
        if is_full || (!self.rows.is_empty() && self.begin.elapsed() >= AGE) {
            self.close()?;
        }
        Ok(())
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn close(&mut self) -> Result<()> {
        self.begin = Instant::now();
        if self.rows.is_empty() {
            return Ok(());
        }
        let number = self.number;
        self.kept.write(&self.folder.join(format!("packets-{number:05}.pcapng")))?;
        let path = self.folder.join(format!("rows-{number:05}.{}", self.format.extension()));
        let aside = self.folder.join(format!("rows-{number:05}.partial.{}", self.format.extension()));
        let mut file = RowsFile::create(&aside)?;
        for row in &self.rows {
            file.add_cells(row.clone())?;
        }
        file.finish()?;
        fs::rename(&aside, &path).with_context(|| path.shown().to_string())?;
        self.rows.clear();
        self.bytes = 0;
        self.number += 1;
        let next = pending(&self.folder, self.number);
        self.pending = open_regular_with(&next, File::options().create(true).append(true))
            .with_context(|| next.shown().to_string())?;
        let _ = fs::remove_file(pending(&self.folder, number));
        Ok(())
    }

    /// Writes what is left at the end, after which nothing waits.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.close()?;
        let _ = fs::remove_file(pending(&self.folder, self.number));
        Ok(())
    }
}

fn row_bytes(row: &[Cell]) -> usize {
    row.iter().map(Cell::bytes).sum()
}

fn pending(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("pending-{number:05}.jsonl"))
}

/// The highest number of a file of rows; 0 without any.
fn last_part(folder: &Path) -> Result<u32> {
    let mut last = 0;
    for entry in fs::read_dir(folder).with_context(|| folder.shown().to_string())? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let number =
            name.strip_prefix("rows-").and_then(|rest| rest.split_once('.')).filter(|(_, end)| *end != "partial");
        let is_whole = !name.contains(".partial");
        if let Some(number) = number.and_then(|(number, _)| number.parse().ok()).filter(|_| is_whole) {
            last = last.max(number);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows in each file where as many are added as a file has at most, each `bytes` long beyond what every row takes.
    fn rows_of_files(bytes: usize) -> Vec<usize> {
        let scratch = tempfile::tempdir().unwrap();
        let mut parts = Parts::open(scratch.path(), RowFormat::Jsonl).unwrap();
        let row = ScanRow { http_alt_svc: Some("x".repeat(bytes)), ..ScanRow::default() };
        let rows = vec![row; 500];
        for _ in 0..ROWS / rows.len() {
            parts.add(&rows).unwrap();
            parts.advance().unwrap();
            assert!(parts.bytes < BYTES, "{} bytes wait", parts.bytes);
        }
        parts.finish().unwrap();
        let lines = |number| fs::read_to_string(scratch.path().join(format!("rows-{number:05}.jsonl")));
        (1..).map_while(|number| lines(number).ok()).map(|text| text.lines().count()).collect()
    }

    #[test]
    fn a_file_ends_with_its_rows_or_with_their_bytes() {
        assert_eq!(rows_of_files(500), [ROWS], "ordinary rows");
        let files = rows_of_files(8_000);
        assert!(files.len() > 1 && files.iter().sum::<usize>() == ROWS, "{files:?}");
        let most = BYTES / 8_000 + 500;
        assert!(files.iter().all(|rows| *rows <= most), "{files:?}, expected at most {most}");
    }

    #[test]
    fn rows_that_an_earlier_start_left_count() {
        let scratch = tempfile::tempdir().unwrap();
        let row = ScanRow { http_alt_svc: Some("x".repeat(8_000)), ..ScanRow::default() };
        let mut before = Parts::open(scratch.path(), RowFormat::Jsonl).unwrap();
        before.add(&vec![row; 10]).unwrap();
        let bytes = before.bytes;
        drop(before);
        let after = Parts::open(scratch.path(), RowFormat::Jsonl).unwrap();
        assert_eq!((after.rows.len(), after.bytes), (10, bytes));
    }
}
