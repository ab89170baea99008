//! One row for each of many runs, with columns that the caller names: what a sweep leaves.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use parquet::{
    basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType, ZstdLevel},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{Type, TypePtr},
};

use crate::error::TraceError;

/// Key under which a table of runs says its [`RUNS_SCHEMA`].
pub const RUNS_SCHEMA_KEY: &str = "quiclab_runs_schema";
/// Changes when a column changes its meaning or goes away; not for a new column.
pub const RUNS_SCHEMA: &str = "1";

/// A column of a table of runs, with a value or none for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum RunColumn {
    /// Texts, as UTF-8.
    Texts(Vec<Option<String>>),
    /// Whole numbers.
    Wholes(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// True or false.
    Truths(Vec<Option<bool>>),
}

/// Writes columns of equal length as a Parquet file, aside first. The same columns give the same bytes.
///
/// # Errors
/// [`TraceError::Write`] where it cannot be written.
pub fn write_runs(path: &Path, columns: &[(String, RunColumn)]) -> std::result::Result<(), TraceError> {
    let mut table = RunsWriter::create(path, columns)?;
    table.write(columns)?;
    table.finish()
}

/// A table that is written in groups of rows, aside until it is whole.
pub struct RunsWriter {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl RunsWriter {
    /// Creates the file with the names and types of these columns; their values are not looked at.
    ///
    /// # Errors
    /// [`TraceError::Write`] where the file cannot be created.
    pub fn create(path: &Path, columns: &[(String, RunColumn)]) -> std::result::Result<Self, TraceError> {
        let writer =
            open(&aside(path), columns).map_err(|source| TraceError::Write { path: path.to_owned(), source })?;
        Ok(RunsWriter { path: path.to_owned(), writer })
    }

    /// Some more rows, all in memory at once: the columns of [`create`](Self::create), with values.
    ///
    /// # Errors
    /// [`TraceError::Write`] where they cannot be written, or are other columns.
    pub fn write(&mut self, columns: &[(String, RunColumn)]) -> std::result::Result<(), TraceError> {
        let mut write = || {
            let mut group = self.writer.next_row_group()?;
            columns.iter().try_for_each(|(_, column)| column.write_to(&mut group))?;
            group.close().map(drop)
        };
        write().map_err(|source| TraceError::Write { path: self.path.clone(), source })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`TraceError::Write`] where it cannot be written.
    pub fn finish(self) -> std::result::Result<(), TraceError> {
        let RunsWriter { path, writer } = self;
        let rename = |_| std::fs::rename(aside(&path), &path).map_err(|error| ParquetError::External(Box::new(error)));
        writer.close().and_then(rename).map_err(|source| TraceError::Write { path, source })
    }
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("parquet.partial")
}

fn open(path: &Path, columns: &[(String, RunColumn)]) -> Result<SerializedFileWriter<File>> {
    let fields = columns.iter().map(|(name, column)| column.field(name)).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("run").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new(RUNS_SCHEMA_KEY.to_owned(), RUNS_SCHEMA.to_owned())]))
        .build();
    let file = File::create(path).map_err(|error| ParquetError::External(Box::new(error)))?;
    SerializedFileWriter::new(file, schema, Arc::new(properties))
}

impl RunColumn {
    fn field(&self, name: &str) -> Result<TypePtr> {
        let (physical, is_text) = match self {
            Self::Texts(_) => (PhysicalType::BYTE_ARRAY, true),
            Self::Wholes(_) => (PhysicalType::INT64, false),
            Self::Numbers(_) => (PhysicalType::DOUBLE, false),
            Self::Truths(_) => (PhysicalType::BOOLEAN, false),
        };
        let mut field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        if is_text {
            field = field.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8);
        }
        field.build().map(Arc::new)
    }

    fn write_to(&self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        match self {
            Self::Texts(values) => {
                write_column::<ByteArrayType, _>(group, values, |text| ByteArray::from(text.as_str()))
            }
            Self::Wholes(values) => write_column::<Int64Type, _>(group, values, |value| *value),
            Self::Numbers(values) => write_column::<DoubleType, _>(group, values, |value| *value),
            Self::Truths(values) => write_column::<BoolType, _>(group, values, |value| *value),
        }
    }
}

fn write_column<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<()> {
    let definition: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column.typed::<T>().write_batch(&present, Some(&definition), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.parquet");
        let columns = [
            ("id".to_owned(), RunColumn::Texts(vec![Some("a".to_owned()), None])),
            ("seed".to_owned(), RunColumn::Wholes(vec![Some(1), Some(-2)])),
            ("share".to_owned(), RunColumn::Numbers(vec![None, Some(0.5)])),
            ("on".to_owned(), RunColumn::Truths(vec![Some(true), None])),
        ];
        write_runs(&path, &columns).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows, ["{id: \"a\", seed: 1, share: null, on: true}", "{id: null, seed: -2, share: 0.5, on: null}"]);
        assert!(!path.with_extension("parquet.partial").exists());

        // Groups of rows are one table, and there is none until it is whole.
        let path = folder.path().join("more.parquet");
        let mut table = RunsWriter::create(&path, &columns).unwrap();
        table.write(&columns).unwrap();
        table.write(&columns).unwrap();
        assert!(!path.exists());
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.get_row_iter(None).unwrap().count(), 4);
        assert_eq!(reader.num_row_groups(), 2);
    }
}
