//! Numbers in documents come from stored results: docs/data/README.md.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Tables with numbers that no stored result makes. May only become fewer.
const UNCONVERTED: usize = 7;

#[test]
fn tables_and_values_in_pages_are_those_that_are_stored() {
    python("generate.py", &["--check"]);
}

#[test]
fn the_script_that_writes_them_finds_what_was_pasted_by_hand() {
    python("test_generate.py", &[]);
    python("test_claims.py", &[]);
}

#[test]
fn the_list_of_tables_that_are_written_by_hand_only_gets_shorter() {
    let path = data().join("unconverted.json");
    let list: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let listed = list["tables"].as_array().unwrap();
    let expected = format!("{}: found {} tables, expected {UNCONVERTED}", path.display(), listed.len());
    assert!(listed.len() <= UNCONVERTED, "{expected} at most\nhint: store the result instead (docs/data/README.md)");
    assert_eq!(listed.len(), UNCONVERTED, "{expected}\nhint: lower UNCONVERTED in {}", file!());
    assert!(listed.iter().all(|table| table["why"].as_str().is_some_and(|why| !why.is_empty())), "a table without why");
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data")
}

/// Runs a script of docs/data, and shows what it said if it failed.
fn python(script: &str, arguments: &[&str]) {
    let output = Command::new("python3").arg("-B").arg(data().join(script)).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {}\n{errors}", output.status);
}
