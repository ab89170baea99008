//! Columns of a table of runs, read in pieces.

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use parquet::{
    basic::{ConvertedType, LogicalType, Type as PhysicalType},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArray, DataType},
    errors::{ParquetError, Result},
    file::reader::{FileReader, SerializedFileReader},
    schema::types::ColumnDescriptor,
};
use quiclab_inputs::open_regular;

use crate::{error::TraceError, numbers::MOST_ROWS, runs::RunColumn};

/// Rows of a piece. A piece also ends where a group of rows ends.
const ROWS_PER_PIECE: usize = 65_536;

/// What a column of a table of runs holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// [`RunColumn::Texts`].
    Text,
    /// [`RunColumn::Wholes`].
    Whole,
    /// [`RunColumn::Numbers`].
    Number,
    /// [`RunColumn::Truths`].
    Truth,
}

impl RunKind {
    fn in_words(self) -> &'static str {
        match self {
            Self::Text => "texts in UTF-8",
            Self::Whole => "whole numbers",
            Self::Number => "numbers",
            Self::Truth => "true or false",
        }
    }

    fn column(self) -> RunColumn {
        match self {
            Self::Text => RunColumn::Texts(Vec::new()),
            Self::Whole => RunColumn::Wholes(Vec::new()),
            Self::Number => RunColumn::Numbers(Vec::new()),
            Self::Truth => RunColumn::Truths(Vec::new()),
        }
    }
}

/// Columns by their names, as [`RunsWriter`](crate::RunsWriter) takes them: all of the same length.
pub type RunColumns = Vec<(String, RunColumn)>;

/// Reads columns of a table of runs piece by piece, so that memory does not grow with the file. Each piece has the columns that
/// were asked for, in that order. The pieces are the rows of the file in their order.
///
/// Also takes what other programs make of such a file: whole numbers of 32 bits; where numbers are asked for, whole ones; and
/// where whole numbers are asked for, numbers without a fraction, as pandas writes them if some are missing.
pub struct RunsReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
    columns: Vec<Wanted>,
    next_group: usize,
    group: Option<Group>,
}

struct Wanted {
    name: String,
    kind: RunKind,
    /// Which column of the file it is.
    place: Option<usize>,
}

/// Columns of a group of which not all rows are read.
struct Group {
    readers: Vec<Option<ColumnReader>>,
    rows_left: usize,
}

impl RunsReader {
    /// A column that the file does not have is without any value.
    ///
    /// # Errors
    /// [`TraceError::ReadRows`] where the file cannot be read, has more than [`MOST_ROWS`] rows, or a column holds something
    /// of another kind.
    pub fn open(path: &Path, columns: &[(&str, RunKind)]) -> std::result::Result<Self, TraceError> {
        let open = || {
            let file =
                SerializedFileReader::new(open_regular(path).map_err(|it| ParquetError::External(Box::new(it)))?)?;
            check_rows(&file)?;
            let columns = columns.iter().map(|(name, kind)| Wanted::find(&file, name, *kind));
            Ok((columns.collect::<Result<Vec<_>>>()?, file))
        };
        let (columns, file) = caught(open).map_err(|source| TraceError::ReadRows { path: path.to_owned(), source })?;
        Ok(RunsReader { path: path.to_owned(), file, columns, next_group: 0, group: None })
    }

    /// Rows of the whole file.
    pub fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().unsigned_abs()
    }

    fn piece(&mut self) -> Result<Option<RunColumns>> {
        let mut group = match self.group.take() {
            Some(group) => group,
            None if self.next_group < self.file.num_row_groups() => self.open_group()?,
            None => return Ok(None),
        };
        let rows = group.rows_left.min(ROWS_PER_PIECE);
        let mut columns = Vec::with_capacity(self.columns.len());
        for (wanted, reader) in self.columns.iter().zip(&mut group.readers) {
            let column = match reader {
                Some(reader) => read_column(reader, wanted.kind, rows).map_err(|error| wanted.error(&error))?,
                None => empty(wanted.kind, rows),
            };
            columns.push((wanted.name.clone(), column));
        }
        group.rows_left -= rows;
        self.group = (group.rows_left > 0).then_some(group);
        Ok(Some(columns))
    }

    fn open_group(&mut self) -> Result<Group> {
        let group = self.file.get_row_group(self.next_group)?;
        self.next_group += 1;
        // A number that is negative was refused when the file was opened.
        let rows_left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let reader = |wanted: &Wanted| wanted.place.map(|place| group.get_column_reader(place)).transpose();
        Ok(Group { readers: self.columns.iter().map(reader).collect::<Result<_>>()?, rows_left })
    }
}

impl Iterator for RunsReader {
    type Item = std::result::Result<RunColumns, TraceError>;

    /// Nothing comes after an error.
    fn next(&mut self) -> Option<Self::Item> {
        let piece = caught(|| self.piece()).map_err(|source| TraceError::ReadRows { path: self.path.clone(), source });
        if piece.is_err() {
            (self.group, self.next_group) = (None, usize::MAX);
        }
        piece.transpose()
    }
}

/// All rows of a table of runs at once: the columns that are asked for, in that order. A column that the file does not have is
/// without any value.
///
/// # Errors
/// [`TraceError::ReadRows`], as of [`RunsReader`].
pub fn read_runs(path: &Path, columns: &[(&str, RunKind)]) -> std::result::Result<RunColumns, TraceError> {
    let mut all: RunColumns = columns.iter().map(|(name, kind)| ((*name).to_owned(), kind.column())).collect();
    for piece in RunsReader::open(path, columns)? {
        for ((_, all), (_, more)) in all.iter_mut().zip(piece?) {
            match (all, more) {
                (RunColumn::Texts(all), RunColumn::Texts(more)) => all.extend(more),
                (RunColumn::Wholes(all), RunColumn::Wholes(more)) => all.extend(more),
                (RunColumn::Numbers(all), RunColumn::Numbers(more)) => all.extend(more),
                (RunColumn::Truths(all), RunColumn::Truths(more)) => all.extend(more),
                _ => unreachable!("a piece has the kinds that were asked for"),
            }
        }
    }
    Ok(all)
}

/// The library panics on some damaged pages. What it was reading is not used after that.
fn caught<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Err(wrong("found a damaged page".to_owned()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

fn wrong(message: String) -> ParquetError {
    ParquetError::General(message)
}

/// What a file says of its own length is not to be believed.
fn check_rows(file: &SerializedFileReader<File>) -> Result<()> {
    let groups = file.metadata().row_groups().iter().map(|group| usize::try_from(group.num_rows()).ok());
    let rows = groups.into_iter().try_fold(0_usize, |sum, rows| sum.checked_add(rows?));
    match rows {
        Some(rows) if rows <= MOST_ROWS => Ok(()),
        Some(rows) => Err(wrong(format!("found {rows} rows, expected at most {MOST_ROWS}"))),
        None => Err(wrong("found a group with a negative number of rows".to_owned())),
    }
}

impl Wanted {
    fn find(file: &SerializedFileReader<File>, name: &str, kind: RunKind) -> Result<Self> {
        let schema = file.metadata().file_metadata().schema_descr();
        let mut columns = schema.columns().iter();
        let place = columns.position(|column| column.path().parts().first().is_some_and(|first| first == name));
        let wanted = Wanted { name: name.to_owned(), kind, place };
        match place.map(|place| schema.column(place)) {
            Some(column) if !kind.can_be(&column) => {
                let (kind, physical) = (kind.in_words(), column.physical_type());
                let logical = column.logical_type_ref().map_or_else(String::new, |logical| format!(", {logical:?}"));
                Err(wrong(format!("column {name}: found {physical}{logical}, expected {kind}")))
            }
            _ => Ok(wanted),
        }
    }

    fn error(&self, error: &ParquetError) -> ParquetError {
        wrong(format!("column {}: {error}", self.name))
    }
}

impl RunKind {
    /// Whether a column of a file can be read as this: one value or none in each row, and no date, decimal or unsigned number.
    fn can_be(self, column: &ColumnDescriptor) -> bool {
        use ConvertedType::{ENUM, INT_8, INT_16, INT_32, INT_64, NONE, UTF8};
        use PhysicalType::{BOOLEAN, BYTE_ARRAY, DOUBLE, FLOAT, INT32, INT64};
        let is_plain = match column.logical_type_ref() {
            // Older writers, and DuckDB, say it in this way only.
            None => matches!(column.converted_type(), NONE | UTF8 | ENUM | INT_8 | INT_16 | INT_32 | INT_64),
            Some(LogicalType::Integer(kind)) => kind.is_signed,
            Some(logical) => matches!(logical, LogicalType::String | LogicalType::Enum),
        };
        let is_right = match self {
            Self::Text => column.physical_type() == BYTE_ARRAY,
            Self::Truth => column.physical_type() == BOOLEAN,
            Self::Whole | Self::Number => matches!(column.physical_type(), INT32 | INT64 | FLOAT | DOUBLE),
        };
        is_plain && is_right && column.max_rep_level() == 0 && column.max_def_level() <= 1
    }
}

fn empty(kind: RunKind, rows: usize) -> RunColumn {
    match kind {
        RunKind::Text => RunColumn::Texts(vec![None; rows]),
        RunKind::Whole => RunColumn::Wholes(vec![None; rows]),
        RunKind::Number => RunColumn::Numbers(vec![None; rows]),
        RunKind::Truth => RunColumn::Truths(vec![None; rows]),
    }
}

fn read_column(reader: &mut ColumnReader, kind: RunKind, rows: usize) -> Result<RunColumn> {
    use ColumnReader as Reader;
    Ok(match (kind, reader) {
        (RunKind::Text, Reader::ByteArrayColumnReader(reader)) => RunColumn::Texts(read_values(reader, rows, text)?),
        (RunKind::Truth, Reader::BoolColumnReader(reader)) => RunColumn::Truths(read_values(reader, rows, Ok)?),
        (RunKind::Whole, Reader::Int64ColumnReader(reader)) => RunColumn::Wholes(read_values(reader, rows, Ok)?),
        (RunKind::Whole, Reader::Int32ColumnReader(reader)) => {
            RunColumn::Wholes(read_values(reader, rows, |value| Ok(value.into()))?)
        }
        (RunKind::Whole, Reader::DoubleColumnReader(reader)) => RunColumn::Wholes(read_values(reader, rows, whole)?),
        (RunKind::Whole, Reader::FloatColumnReader(reader)) => {
            RunColumn::Wholes(read_values(reader, rows, |value| whole(value.into()))?)
        }
        (RunKind::Number, Reader::DoubleColumnReader(reader)) => RunColumn::Numbers(read_values(reader, rows, Ok)?),
        (RunKind::Number, Reader::FloatColumnReader(reader)) => {
            RunColumn::Numbers(read_values(reader, rows, |value| Ok(value.into()))?)
        }
        (RunKind::Number, Reader::Int64ColumnReader(reader)) => {
            RunColumn::Numbers(read_values(reader, rows, |value| Ok(value as f64))?)
        }
        (RunKind::Number, Reader::Int32ColumnReader(reader)) => {
            RunColumn::Numbers(read_values(reader, rows, |value| Ok(value.into()))?)
        }
        (kind, _) => return Err(wrong(format!("expected {}", kind.in_words()))),
    })
}

fn text(value: ByteArray) -> Result<String> {
    value.as_utf8().map(str::to_owned)
}

/// The largest number up to which every whole number has a double of its own.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

fn whole(value: f64) -> Result<i64> {
    if value.fract() == 0.0 && value.abs() <= LARGEST_EXACT {
        return Ok(value as i64);
    }
    Err(wrong(format!("found {value}, expected a whole number up to {LARGEST_EXACT}")))
}

/// Exactly so many rows.
fn read_values<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(T::T) -> Result<V>,
) -> Result<Vec<Option<V>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (read, present, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows {
        return Err(wrong(format!("found {read} rows, expected {rows}")));
    }
    let mut values = values.into_iter().map(convert);
    if levels.is_empty() && present == rows {
        // A column in which no value can be missing has no levels.
        return values.map(|value| value.map(Some)).collect();
    }
    levels.into_iter().map(|level| if level > 0 { values.next().transpose() } else { Ok(None) }).collect()
}

#[cfg(test)]
mod tests;
