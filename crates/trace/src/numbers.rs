//! Columns of numbers from any Parquet file.

use std::path::Path;

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
    schema::types::Type,
};
use quiclab_inputs::open_regular;

use crate::error::TraceError;

/// Most rows that are read.
pub const MOST_ROWS: usize = 10_000_000;

/// Reads columns by their names, row by row, in the order of `names`. The names of columns that the file does not have are what `Err` holds inside.
///
/// # Errors
/// Where the file cannot be read, a value is missing or is no number, or there are more than [`MOST_ROWS`] rows.
pub fn read_numbers(path: &Path, names: &[&str]) -> Result<Result<Vec<Vec<f64>>, Vec<String>>, TraceError> {
    let unreadable = |source| TraceError::Read { path: path.to_owned(), source };
    let wrong = |message: String| unreadable(parquet::errors::ParquetError::General(message));
    let file = open_regular(path).map_err(|error| wrong(error.to_string()))?;
    let reader = SerializedFileReader::new(file).map_err(unreadable)?;
    let schema = reader.metadata().file_metadata().schema();
    let fields = schema.get_fields();
    if !names.iter().all(|name| fields.iter().any(|field| field.name() == *name)) {
        return Ok(Err(fields.iter().map(|field| field.name().to_owned()).collect()));
    }
    let wanted = fields.iter().filter(|field| names.contains(&field.name())).cloned().collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted).build().map_err(unreadable)?;
    let mut rows = Vec::new();
    for (index, row) in reader.get_row_iter(Some(projection)).map_err(unreadable)?.enumerate() {
        if index == MOST_ROWS {
            return Err(wrong(format!("found more than {MOST_ROWS} rows, expected at most as many")));
        }
        let row = row.map_err(unreadable)?;
        let value = |name: &str| {
            let field = row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field);
            let number = field.and_then(number);
            number.ok_or_else(|| {
                let found = field.map_or("nothing".to_owned(), ToString::to_string);
                wrong(format!("row {}, column {name}: found {found}, expected a number", index + 1))
            })
        };
        rows.push(names.iter().map(|name| value(name)).collect::<Result<Vec<_>, _>>()?);
    }
    Ok(Ok(rows))
}

fn number(field: &Field) -> Option<f64> {
    let number = match field {
        Field::Byte(value) => f64::from(*value),
        Field::Short(value) => f64::from(*value),
        Field::Int(value) => f64::from(*value),
        Field::Long(value) => *value as f64,
        Field::UByte(value) => f64::from(*value),
        Field::UShort(value) => f64::from(*value),
        Field::UInt(value) => f64::from(*value),
        Field::ULong(value) => *value as f64,
        Field::Float(value) => f64::from(*value),
        Field::Double(value) => *value,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{RunColumn, write_runs};

    #[test]
    fn columns_are_found_by_name_and_what_is_no_number_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.parquet");
        let columns = [
            ("note".to_owned(), RunColumn::Texts(vec![Some("a".to_owned()), None])),
            ("rtt_ms".to_owned(), RunColumn::Numbers(vec![Some(9.5), Some(20.0)])),
            ("delay_ms".to_owned(), RunColumn::Wholes(vec![Some(4), None])),
        ];
        write_runs(&path, &columns).unwrap();
        assert_eq!(read_numbers(&path, &["rtt_ms"]).unwrap(), Ok(vec![vec![9.5], vec![20.0]]));
        let error = read_numbers(&path, &["delay_ms", "rtt_ms"]).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("row 2, column delay_ms"), "{source}");
        let found = read_numbers(&path, &["rtt"]).unwrap().unwrap_err();
        assert_eq!(found, ["note", "rtt_ms", "delay_ms"]);
        assert!(read_numbers(folder.path(), &["rtt"]).is_err());
    }
}
