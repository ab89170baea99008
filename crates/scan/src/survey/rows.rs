//! The file of rows: Parquet, CSV or JSON lines.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use quiclab_trace::{RunColumn, RunsWriter};
use quiclab_units::ShowPath;
use serde_json::{Map, Value};

use super::row::{COLUMNS, Cell, ScanColumn, ScanRow, cells};

/// Rows of Parquet that are written together.
const GROUP: usize = 20_000;
/// Bytes of rows of Parquet that are written together, where that is reached first.
const GROUP_BYTES: usize = 16 << 20;

/// A file that rows are added to.
pub enum RowsFile {
    /// Rows that wait for their group, and their bytes.
    Parquet(Box<RunsWriter>, Vec<Vec<Cell>>, usize),
    /// A table with a header.
    Csv(Box<csv::Writer<File>>),
    /// An object in each line.
    JsonLines(BufWriter<File>),
}

impl RowsFile {
    /// The name's end says the format: `.parquet`, `.csv`, `.jsonl`.
    ///
    /// # Errors
    /// Another end, a file that cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let create = || File::create(path).with_context(|| format!("{}: cannot be created", path.shown()));
        Ok(match path.extension().and_then(|end| end.to_str()) {
            Some("parquet") => RowsFile::Parquet(Box::new(RunsWriter::create(path, &columns(&[]))?), Vec::new(), 0),
            Some("csv") => {
                let mut writer = csv::Writer::from_writer(create()?);
                writer.write_record(COLUMNS.iter().map(|(name, _)| name))?;
                RowsFile::Csv(Box::new(writer))
            }
            Some("jsonl") => RowsFile::JsonLines(BufWriter::new(create()?)),
            _ => bail!("{}: found this name, expected one that ends in .parquet, .csv or .jsonl", path.shown()),
        })
    }

    /// One more row.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add(&mut self, row: &ScanRow) -> Result<()> {
        self.add_cells(cells(row))
    }

    /// One more row, by its values.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn add_cells(&mut self, row: Vec<Cell>) -> Result<()> {
        match self {
            RowsFile::Parquet(writer, rows, bytes) => {
                *bytes += row.iter().map(Cell::bytes).sum::<usize>();
                rows.push(row);
                if rows.len() >= GROUP || *bytes >= GROUP_BYTES {
                    writer.write(&columns(rows))?;
                    rows.clear();
                    *bytes = 0;
                }
            }
            RowsFile::Csv(writer) => writer.write_record(row.iter().map(Cell::to_csv))?,
            RowsFile::JsonLines(writer) => {
                serde_json::to_writer(&mut *writer, &object(&row))?;
                writer.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    /// Writes what waits, and the end.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> Result<()> {
        match self {
            RowsFile::Parquet(mut writer, rows, _) => {
                if !rows.is_empty() {
                    writer.write(&columns(&rows))?;
                }
                writer.finish()?;
            }
            RowsFile::Csv(mut writer) => writer.flush()?,
            RowsFile::JsonLines(mut writer) => writer.flush()?,
        }
        Ok(())
    }
}

/// All columns of a row.
pub fn to_json(row: &ScanRow) -> Value {
    object(&cells(row))
}

fn object(row: &[Cell]) -> Value {
    let entry = |((name, _), cell): (&ScanColumn, &Cell)| ((*name).to_owned(), cell.to_json());
    Value::Object(COLUMNS.iter().zip(row).map(entry).collect::<Map<_, _>>())
}

fn columns(rows: &[Vec<Cell>]) -> Vec<(String, RunColumn)> {
    // A row without values shows the type of each column.
    let kinds = cells(&ScanRow::default());
    let column = |(place, (name, _)): (usize, &ScanColumn)| {
        let values = rows.iter().map(|row| row[place].clone());
        let column = match kinds[place] {
            Cell::Text(_) => RunColumn::Texts(values.map(text).collect()),
            Cell::Whole(_) => RunColumn::Wholes(values.map(whole).collect()),
            Cell::Number(_) => RunColumn::Numbers(values.map(number).collect()),
            Cell::Truth(_) => RunColumn::Truths(values.map(truth).collect()),
        };
        ((*name).to_owned(), column)
    };
    COLUMNS.iter().enumerate().map(column).collect()
}

fn text(cell: Cell) -> Option<String> {
    if let Cell::Text(value) = cell { value } else { None }
}

fn whole(cell: Cell) -> Option<i64> {
    if let Cell::Whole(value) = cell { value.and_then(|value| i64::try_from(value).ok()) } else { None }
}

fn number(cell: Cell) -> Option<f64> {
    if let Cell::Number(value) = cell { value } else { None }
}

fn truth(cell: Cell) -> Option<bool> {
    if let Cell::Truth(value) = cell { value } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_file_has_no_formulas_of_servers_and_its_numbers_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let formula = "=cmd|' /C calc'!A0".to_owned();
        let row = ScanRow {
            target: Some("@target".to_owned()),
            detail: Some(formula.clone()),
            rank: Some(7),
            ..ScanRow::default()
        };
        let mut file = RowsFile::create(&path).unwrap();
        file.add(&row).unwrap();
        file.add_cells(COLUMNS.iter().map(|_| Cell::Number(Some(-1.5))).collect()).unwrap();
        file.finish().unwrap();
        let records: Vec<_> = csv::Reader::from_path(&path).unwrap().records().map(Result::unwrap).collect();
        let place = |name: &str| COLUMNS.iter().position(|(column, _)| *column == name).unwrap();
        assert_eq!(&records[0][place("target")], "'@target");
        assert_eq!(records[0][place("detail")], format!("'{formula}"));
        assert_eq!(&records[0][place("rank")], "7");
        assert!(records[1].iter().all(|cell| cell == "-1.5"));
        let mut read = Vec::new();
        crate::survey::report::read(&path, &mut |row| read.push(row.clone())).unwrap();
        assert_eq!((&read[0]["target"], &read[0]["detail"]), (&Value::from("@target"), &Value::from(formula)));
        assert_eq!((&read[0]["rank"], &read[1]["rank"]), (&Value::from(7), &Value::from(-1.5)));
    }
}
