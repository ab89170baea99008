use parquet::schema::types::Type;

use super::*;
use crate::runs::{RunsWriter, write_runs};

fn named(column: RunColumn, name: &str) -> (String, RunColumn) {
    (name.to_owned(), column)
}

/// One column of each kind.
fn columns() -> RunColumns {
    vec![
        named(RunColumn::Texts(vec![Some("a".to_owned()), None, Some(String::new())]), "name"),
        named(RunColumn::Wholes(vec![Some(i64::MAX), Some(-2), None]), "time_ns"),
        named(RunColumn::Numbers(vec![None, Some(0.5), Some(3.0)]), "factor"),
        named(RunColumn::Truths(vec![Some(true), None, Some(false)]), "is_padded"),
    ]
}

const ALL: [(&str, RunKind); 4] =
    [("name", RunKind::Text), ("time_ns", RunKind::Whole), ("factor", RunKind::Number), ("is_padded", RunKind::Truth)];

fn cause(error: &TraceError) -> String {
    error.to_string()
}

#[test]
fn what_was_written_is_read_back_and_a_missing_column_has_no_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write_runs(&path, &columns()).unwrap();
    assert_eq!(read_runs(&path, &ALL).unwrap(), columns());
    let asked = [("factor", RunKind::Number), ("place", RunKind::Text), ("rank", RunKind::Whole)];
    let expected = vec![
        columns().remove(2),
        named(RunColumn::Texts(vec![None; 3]), "place"),
        named(RunColumn::Wholes(vec![None; 3]), "rank"),
    ];
    assert_eq!(read_runs(&path, &asked).unwrap(), expected);
    assert_eq!(RunsReader::open(&path, &asked).unwrap().rows(), 3);
}

#[test]
fn pieces_end_with_a_group_or_where_they_are_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let numbers = |range: std::ops::Range<i64>| {
        let some = |number: i64| (number % 3 > 0).then_some(number);
        vec![named(RunColumn::Wholes(range.map(some).collect()), "number")]
    };
    let most = ROWS_PER_PIECE as i64;
    let mut writer = RunsWriter::create(&path, &numbers(0..0)).unwrap();
    writer.write(&numbers(0..5)).unwrap();
    writer.write(&numbers(5..5 + most + 1)).unwrap();
    writer.finish().unwrap();
    let wanted = [("number", RunKind::Whole)];
    let pieces: Vec<_> = RunsReader::open(&path, &wanted).unwrap().map(|piece| piece.unwrap()).collect();
    assert_eq!(pieces, [numbers(0..5), numbers(5..5 + most), numbers(5 + most..6 + most)]);
    assert_eq!(read_runs(&path, &wanted).unwrap(), numbers(0..6 + most));
}

#[test]
fn a_file_without_rows_has_columns_without_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let none = [named(RunColumn::Texts(Vec::new()), "name")];
    RunsWriter::create(&path, &none).unwrap().finish().unwrap();
    assert_eq!(read_runs(&path, &[("name", RunKind::Text)]).unwrap(), none);
}

#[test]
fn numbers_are_read_as_whole_ones_only_where_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write_runs(&path, &columns()).unwrap();
    let wholes = read_runs(&path, &[("time_ns", RunKind::Number)]).unwrap();
    assert_eq!(wholes, [named(RunColumn::Numbers(vec![Some(i64::MAX as f64), Some(-2.0), None]), "time_ns")]);
    let error = cause(&read_runs(&path, &[("factor", RunKind::Whole)]).unwrap_err());
    assert!(error.contains("column factor") && error.contains("found 0.5, expected a whole number"), "{error}");
    let exact = [named(RunColumn::Numbers(vec![None, Some(7.0)]), "rank")];
    write_runs(&path, &exact).unwrap();
    assert_eq!(read_runs(&path, &[("rank", RunKind::Whole)]).unwrap()[0].1, RunColumn::Wholes(vec![None, Some(7)]));
    assert!(whole(LARGEST_EXACT).is_ok() && whole(LARGEST_EXACT * 2.0).is_err());
    assert!(whole(f64::NAN).is_err() && whole(f64::INFINITY).is_err());
}

#[test]
fn a_column_of_another_kind_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write_runs(&path, &columns()).unwrap();
    for (name, kind) in
        [("name", RunKind::Whole), ("name", RunKind::Truth), ("time_ns", RunKind::Text), ("is_padded", RunKind::Number)]
    {
        let error = cause(&read_runs(&path, &[(name, kind)]).unwrap_err());
        assert!(error.contains(&format!("column {name}: found")) && error.contains(kind.in_words()), "{error}");
    }
}

/// DuckDB and Spark write whole numbers of 32 bits, and columns in which no value can be missing.
#[test]
fn files_of_other_programs_are_read() {
    use parquet::{
        basic::Repetition,
        data_type::{ByteArrayType, Int32Type, Int64Type},
        file::writer::SerializedFileWriter,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let field = |name: &str, physical, repetition| {
        std::sync::Arc::new(Type::primitive_type_builder(name, physical).with_repetition(repetition).build().unwrap())
    };
    let of_kind = |name: &str, converted| {
        let column = Type::primitive_type_builder(name, PhysicalType::INT64).with_converted_type(converted);
        std::sync::Arc::new(column.with_repetition(Repetition::REQUIRED).build().unwrap())
    };
    let fields = vec![
        field("rank", PhysicalType::INT32, Repetition::REQUIRED),
        field("name", PhysicalType::BYTE_ARRAY, Repetition::REQUIRED),
        field("list", PhysicalType::INT32, Repetition::REPEATED),
        of_kind("older", ConvertedType::INT_64),
        of_kind("unsigned", ConvertedType::UINT_64),
        of_kind("moment", ConvertedType::TIMESTAMP_MICROS),
    ];
    let schema = Type::group_type_builder("rows").with_fields(fields).build().unwrap();
    let mut writer =
        SerializedFileWriter::new(File::create(&path).unwrap(), schema.into(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[3, 4], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&[b"a".to_vec().into(), vec![0xff].into()], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[3, 4], Some(&[1, 1]), Some(&[0, 0])).unwrap();
    column.close().unwrap();
    for _ in ["older", "unsigned", "moment"] {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[5, 6], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    let rank = read_runs(&path, &[("rank", RunKind::Whole)]).unwrap();
    assert_eq!(rank, [named(RunColumn::Wholes(vec![Some(3), Some(4)]), "rank")]);
    let error = cause(&read_runs(&path, &[("name", RunKind::Text)]).unwrap_err());
    assert!(error.contains("column name"), "{error}");
    let error = cause(&read_runs(&path, &[("list", RunKind::Whole)]).unwrap_err());
    assert!(error.contains("column list: found INT32"), "{error}");
    let older = read_runs(&path, &[("older", RunKind::Whole)]).unwrap();
    assert_eq!(older, [named(RunColumn::Wholes(vec![Some(5), Some(6)]), "older")]);
    for name in ["unsigned", "moment"] {
        let error = cause(&read_runs(&path, &[(name, RunKind::Whole)]).unwrap_err());
        assert!(error.contains(&format!("column {name}: found INT64")), "{error}");
    }
}

/// Every byte once wrong, every length once short: an error or other values, never a panic.
#[test]
fn damaged_files_are_errors_and_no_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    write_runs(&path, &columns()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for place in 0..whole.len() {
        for damage in [0x01, 0x80] {
            let mut damaged = whole.clone();
            damaged[place] ^= damage;
            std::fs::write(&path, &damaged).unwrap();
            refused += usize::from(read_runs(&path, &ALL).is_err());
        }
        std::fs::write(&path, &whole[..place]).unwrap();
        assert!(read_runs(&path, &ALL).is_err(), "cut to {place} bytes");
    }
    assert!(refused > whole.len() / 3, "refused: {refused} of {}", 2 * whole.len());
    assert!(read_runs(&folder.path().join("none.parquet"), &ALL).is_err());
    assert!(read_runs(folder.path(), &ALL).is_err());
}
