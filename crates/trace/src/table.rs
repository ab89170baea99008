//! One Parquet file: rows collected to groups, groups written.

use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::column::{Column, parquet_type};
use crate::error::TraceError;
use crate::partial::Partial;
use crate::row::Row;
use crate::writer::{SCHEMA_KEY, SCHEMA_VERSION};

/// Rows of a group. At up to some 130 bytes each, a group is below 9 MB in memory.
const ROWS_PER_GROUP: usize = 64 * 1024;
/// A group ends early where its lists and texts need more: an ACK frame may have hundreds of ranges.
const VARYING_BYTES_PER_GROUP: usize = 4 * 1024 * 1024;

/// A table with rows of one kind.
pub(crate) struct Table<R> {
    partial: Partial,
    file: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
    row: PhantomData<fn(R)>,
}

impl<R: Row> Table<R> {
    /// Begins the file `name` of a folder.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Self, TraceError> {
        let (partial, file) = Partial::create(folder, name)?;
        let begin = || {
            let schema = schema::<R>(name)?;
            SerializedFileWriter::new(file, schema.clone(), Arc::new(properties(&schema)?))
        };
        match begin() {
            Ok(file) => Ok(Table {
                partial,
                file,
                columns: R::COLUMNS.iter().map(Column::new).collect(),
                rows: 0,
                row: PhantomData,
            }),
            Err(source) => Err(TraceError::Write { path: partial.temporary().to_owned(), source }),
        }
    }

    /// Appends a row; writes a group where one is full.
    pub(crate) fn push(&mut self, row: R::Of<'_>) -> Result<(), TraceError> {
        row.push_to(&mut self.columns);
        self.rows += 1;
        let varying_bytes: usize = self.columns.iter().map(Column::varying_bytes).sum();
        if self.rows == ROWS_PER_GROUP || varying_bytes >= VARYING_BYTES_PER_GROUP {
            self.write_group().map_err(|source| self.error(source))?;
        }
        Ok(())
    }

    /// Writes what is left and the index, to the disk. The file keeps its temporary name.
    pub(crate) fn finish(mut self) -> Result<Partial, TraceError> {
        let mut end = || {
            if self.rows > 0 {
                self.write_group()?;
            }
            self.file.finish()?;
            self.file.inner().sync_all().map_err(ParquetError::from)
        };
        match end() {
            Ok(()) => Ok(self.partial),
            Err(source) => Err(self.error(source)),
        }
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write_to(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn error(&self, source: ParquetError) -> TraceError {
        TraceError::Write { path: self.partial.temporary().to_owned(), source }
    }
}

fn schema<R: Row>(file_name: &str) -> Result<TypePtr, ParquetError> {
    let columns = R::COLUMNS.iter().map(parquet_type).collect::<Result<Vec<_>, _>>()?;
    let name = file_name.trim_end_matches(".parquet");
    Ok(Arc::new(Type::group_type_builder(name).with_fields(columns).build()?))
}

fn properties(schema: &TypePtr) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_key_value_metadata(Some(vec![KeyValue::new(SCHEMA_KEY.to_owned(), SCHEMA_VERSION.to_owned())]))
        // Of groups, not of pages: an index of pages would stay in memory until the end.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in SchemaDescriptor::new(schema.clone()).columns() {
        if column.physical_type() == parquet::basic::Type::INT64 {
            // Times, numbers and offsets grow: their differences are small where a dictionary would be as long as they are.
            properties = properties
                .set_column_dictionary_enabled(column.path().clone(), false)
                .set_column_encoding(column.path().clone(), Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}
