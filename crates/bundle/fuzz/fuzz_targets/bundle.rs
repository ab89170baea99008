//! Opens, checks and unpacks any bytes as a bundle. Nothing may be written outside of the folder, and no more than the limit.

#![no_main]

use std::{fs, io::Cursor, path::Path};

use libfuzzer_sys::fuzz_target;
use quiclab_bundle::{Bundle, Limits};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { files: 100, bytes: 1 << 20, text_bytes: 1 << 16, ..Limits::default() };
    let Ok(mut bundle) = Bundle::open(Cursor::new(bytes), limits) else { return };
    let wrong = bundle.check(10, |_| {});
    let outside = tempfile::tempdir().unwrap();
    let inside = outside.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let extracted = bundle.extract("", &inside);
    assert!(wrong.is_empty() || extracted.is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert!(bytes_below(&inside) <= limits.bytes);
});

fn bytes_below(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| {
        let facts = entry.metadata().unwrap();
        assert!(facts.is_dir() || facts.is_file());
        if facts.is_dir() { bytes_below(&entry.path()) } else { facts.len() }
    };
    fs::read_dir(folder).unwrap().map(|entry| of(entry.unwrap())).sum()
}
