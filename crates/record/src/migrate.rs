//! From earlier schemas of a record's files to the current ones. What is frozen here describes files that exist: it does not change.
//!
//! `metrics.json` is not converted: an older one is measured again from the capture.

mod path_1;

use serde_json::Value;

use crate::Observed;

/// `run.toml` of schema 1, which said neither its schema nor the kind of its run: it was always a transfer.
pub(crate) fn run_file(mut table: toml::Table) -> toml::Table {
    table.insert("schema".to_owned(), i64::from(crate::layout::RUN_SCHEMA).into());
    table.insert("kind".to_owned(), "transfer".into());
    table
}

/// `path.json` of schema 1.
pub(crate) fn path_file(value: Value) -> Result<Observed, serde_json::Error> {
    serde_json::from_value::<path_1::Report>(value).map(path_1::Report::convert)
}
