//! `docs/reference/trace.md` has the columns that the files have: names, types, order, and whether there are nulls.

use std::path::Path;

use crate::common::{open, write_trace};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::file::reader::FileReader;
use parquet::schema::types::Type;
use quiclab_trace::{EVENTS_FILE, FRAMES_FILE, PACKETS_FILE, SAMPLES_FILE};

/// Name, type, and whether rows may have no value.
type Column = (String, String, bool);

/// Rows of the table below the heading of this file.
fn documented(reference: &str, file: &str) -> Vec<Column> {
    let heading = format!("## {file}");
    let section =
        reference.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "));
    let rows = section.filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, _unit, meaning, null] = cells[..] else { panic!("{file}: {row:?} has not 5 cells") };
        assert!(!meaning.is_empty(), "{file}: {name} means nothing");
        (name.trim_matches('`').to_owned(), kind.to_owned(), !null.is_empty())
    })
    .collect()
}

fn type_name(column: &Type) -> String {
    if column.is_group() {
        let element = &column.get_fields()[0].get_fields()[0];
        let fields: Vec<String> =
            element.get_fields().iter().map(|field| format!("{} {}", field.name(), type_name(field))).collect();
        return format!("list<struct<{}>>", fields.join(", "));
    }
    match (column.get_physical_type(), column.get_basic_info().logical_type_ref()) {
        (PhysicalType::BOOLEAN, None) => "bool".to_owned(),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)) => "string".to_owned(),
        (_, Some(LogicalType::Integer(integer))) => {
            format!("{}{}", if integer.is_signed { "i" } else { "u" }, integer.bit_width)
        }
        other => panic!("{}: {other:?}", column.name()),
    }
}

#[test]
fn the_reference_has_the_columns_of_the_files() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/trace.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path(), "ngtcp2.pcapng", "quiche.sqlog");
    for file in [PACKETS_FILE, FRAMES_FILE, EVENTS_FILE, SAMPLES_FILE] {
        let reader = open(folder.path(), file);
        let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
        let columns = schema.get_fields().iter();
        let columns: Vec<Column> =
            columns.map(|column| (column.name().to_owned(), type_name(column), column.is_optional())).collect();
        assert_eq!(documented(&reference, file), columns, "{file}");
    }
}
