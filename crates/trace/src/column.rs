//! The values of one column, from the first row of a group to its last.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::fs::File;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::cell::Kind;
use crate::row::ColumnDescription;

/// What a text costs beside its bytes while it is remembered: a node of the map, and a value of the library.
const BYTES_BESIDE_A_TEXT: usize = 96;
/// Both ends of a range and their levels.
const BYTES_PER_RANGE: usize = 20;

/// Values of one column. Levels are those of Parquet: of a row without a value only the level is kept.
pub(crate) struct Column {
    values: Values,
    /// How much of its path is there, of each value or missing value. Empty where values cannot be missing.
    definition: Vec<i16>,
    /// Whether each value goes on the list of the one before. Empty where there are no lists.
    repetition: Vec<i16>,
    is_nullable: bool,
    /// Memory that depends on what the rows hold, not on how many they are.
    varying_bytes: usize,
}

enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Text { numbers: Vec<u32>, texts: BTreeMap<Box<str>, u32>, scratch: String },
    Ranges { first: Vec<i64>, last: Vec<i64> },
}

impl Column {
    pub(crate) fn new(description: &ColumnDescription) -> Self {
        let values = match description.kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::U32 => Values::I32(Vec::new()),
            Kind::U64 | Kind::I64 => Values::I64(Vec::new()),
            Kind::Text => Values::Text { numbers: Vec::new(), texts: BTreeMap::new(), scratch: String::new() },
            Kind::Ranges => Values::Ranges { first: Vec::new(), last: Vec::new() },
        };
        Column {
            values,
            definition: Vec::new(),
            repetition: Vec::new(),
            is_nullable: description.is_nullable,
            varying_bytes: 0,
        }
    }

    pub(crate) fn varying_bytes(&self) -> usize {
        self.varying_bytes
    }

    pub(crate) fn push_bool(&mut self, value: bool) {
        let Values::Bool(values) = &mut self.values else { wrong_kind() };
        values.push(value);
        self.is_there();
    }

    pub(crate) fn push_u32(&mut self, value: u32) {
        let Values::I32(values) = &mut self.values else { wrong_kind() };
        // As for u64: the same bits.
        values.push(value as i32);
        self.is_there();
    }

    pub(crate) fn push_i64(&mut self, value: i64) {
        let Values::I64(values) = &mut self.values else { wrong_kind() };
        values.push(value);
        self.is_there();
    }

    pub(crate) fn push_text(&mut self, value: &dyn Display) {
        let Values::Text { numbers, texts, scratch } = &mut self.values else { wrong_kind() };
        scratch.clear();
        // A String takes all that is written to it.
        let _ = write!(scratch, "{value}");
        let number = match texts.get(scratch.as_str()) {
            Some(number) => *number,
            None => {
                let number = texts.len() as u32;
                texts.insert(scratch.as_str().into(), number);
                self.varying_bytes += scratch.len() + BYTES_BESIDE_A_TEXT;
                number
            }
        };
        numbers.push(number);
        self.is_there();
    }

    /// An empty list is not null, but nothing writes one.
    pub(crate) fn push_ranges(&mut self, ranges: &[RangeInclusive<u64>]) {
        let Values::Ranges { first, last } = &mut self.values else { wrong_kind() };
        if ranges.is_empty() {
            self.definition.push(1);
            self.repetition.push(0);
        }
        for (place, range) in ranges.iter().enumerate() {
            first.push(*range.start() as i64);
            last.push(*range.end() as i64);
            self.definition.push(2);
            self.repetition.push(i16::from(place > 0));
        }
        self.varying_bytes += ranges.len() * BYTES_PER_RANGE;
    }

    pub(crate) fn push_null(&mut self) {
        self.definition.push(0);
        if matches!(self.values, Values::Ranges { .. }) {
            self.repetition.push(0);
        }
    }

    fn is_there(&mut self) {
        if self.is_nullable {
            self.definition.push(1);
        }
    }

    /// Writes the values as the next column of a row group, and forgets them.
    pub(crate) fn write_to(&mut self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        let definition = (self.is_nullable).then_some(self.definition.as_slice());
        match &mut self.values {
            Values::Bool(values) => {
                write::<BoolType>(group, values, definition, None)?;
                values.clear();
            }
            Values::I32(values) => {
                write::<Int32Type>(group, values, definition, None)?;
                values.clear();
            }
            Values::I64(values) => {
                write::<Int64Type>(group, values, definition, None)?;
                values.clear();
            }
            Values::Text { numbers, texts, .. } => {
                let mut by_number = vec![ByteArray::default(); texts.len()];
                for (text, number) in std::mem::take(texts) {
                    by_number[number as usize] = ByteArray::from(text.into_string().into_bytes());
                }
                let values: Vec<ByteArray> = numbers.iter().map(|number| by_number[*number as usize].clone()).collect();
                write::<ByteArrayType>(group, &values, definition, None)?;
                numbers.clear();
            }
            Values::Ranges { first, last } => {
                for ends in [first, last] {
                    write::<Int64Type>(group, ends, definition, Some(&self.repetition))?;
                    // Not only cleared: one group's ranges may have been many.
                    *ends = Vec::new();
                }
            }
        }
        self.definition.clear();
        self.repetition.clear();
        self.varying_bytes = 0;
        Ok(())
    }
}

/// Panics. A row's fields and its columns come from one declaration, `row!`.
fn wrong_kind() -> ! {
    unreachable!("a column is of the kind of its cell")
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    definition: Option<&[i16]>,
    repetition: Option<&[i16]>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    column.typed::<T>().write_batch(values, definition, repetition)?;
    column.close()
}

/// How the schema of the file names and types a column.
pub(crate) fn parquet_type(column: &ColumnDescription) -> Result<TypePtr> {
    let repetition = if column.is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let (physical, logical) = match column.kind {
        Kind::Bool => (PhysicalType::BOOLEAN, None),
        Kind::U32 => (PhysicalType::INT32, Some(LogicalType::integer(32, false))),
        Kind::U64 => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        Kind::I64 => (PhysicalType::INT64, Some(LogicalType::integer(64, true))),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Ranges => return ranges_type(column.name, repetition),
    };
    let column = Type::primitive_type_builder(column.name, physical);
    Ok(Arc::new(column.with_repetition(repetition).with_logical_type(logical).build()?))
}

/// A list in three levels, as the format's document LogicalTypes.md wants it:
/// <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists>
fn ranges_type(name: &str, repetition: Repetition) -> Result<TypePtr> {
    let end = |name| {
        let end = Type::primitive_type_builder(name, PhysicalType::INT64).with_repetition(Repetition::REQUIRED);
        end.with_logical_type(Some(LogicalType::integer(64, false))).build().map(Arc::new)
    };
    let group =
        |name, repetition, fields| Type::group_type_builder(name).with_repetition(repetition).with_fields(fields);
    let element = group("element", Repetition::REQUIRED, vec![end("first")?, end("last")?]).build()?;
    let list = group("list", Repetition::REPEATED, vec![Arc::new(element)]).build()?;
    let column = group(name, repetition, vec![Arc::new(list)])
        .with_logical_type(Some(LogicalType::List))
        .with_converted_type(ConvertedType::LIST);
    Ok(Arc::new(column.build()?))
}
