//! What the fuzzer runs (`crates/record/fuzz`), and what `tests/fuzz_corpus.rs` replays. A wrong result panics as a crash does.
//!
//! An input of [`record`] replaces files of a record of the first schemas, in any order and any number:
//!
//! | bytes | |
//! |--:|---|
//! | 1 | which file, an index into [`FILES`]; 128 deletes it |
//! | 2 | length of what follows, little-endian; the rest of the input where it is less |
//! | | the contents |

pub mod bundle;

use std::{cell::RefCell, fs, path::Path};

use quiclab_record::{AnyRecord, ModelsObserved, Observed, Record, RunFile, read_observed};

/// A target.
pub type Target = fn(&[u8]);

/// All of them, by the names of their corpora.
#[allow(dead_code, reason = "for the test")]
pub const ALL: [(&str, Target); 2] = [("record", record), ("bundle", bundle::bundle)];

/// What an input can replace.
pub const FILES: [&str; 9] = [
    "run.toml",
    "path.json",
    "metrics.json",
    "contents.json",
    "wire.pcapng",
    "server/keys.log",
    "server/planned.csv",
    "server/qlog/a.sqlog",
    "client/keys.log",
];
const DELETED: u8 = 128;

/// What is there before anything is replaced.
const BEFORE: [(&str, &[u8]); 4] = [
    ("run.toml", include_bytes!("../data/vm/ngtcp2-01-2b01485dbc44d56e/run.toml")),
    ("path.json", include_bytes!("../data/vm/ngtcp2-01-2b01485dbc44d56e/path.json")),
    ("metrics.json", include_bytes!("../data/vm/ngtcp2-01-2b01485dbc44d56e/metrics.json")),
    ("wire.pcapng", include_bytes!("../data/vm/ngtcp2-01-2b01485dbc44d56e/wire.pcapng")),
];

/// Appends the replacement of a file to an input.
#[allow(dead_code, reason = "the fuzzer begins with what the test writes")]
pub fn push(input: &mut Vec<u8>, file: &str, contents: &[u8]) {
    let index = FILES.iter().position(|name| *name == file).expect("a file of a record");
    input.push(index as u8);
    input.extend(u16::try_from(contents.len()).expect("less than 64 KiB").to_le_bytes());
    input.extend(contents);
}

/// A record with some files replaced.
pub fn record(mut input: &[u8]) {
    thread_local! {
        // In memory where there is such a place: a disk would take most of the time.
        static FOLDER: RefCell<tempfile::TempDir> =
            RefCell::new(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder"));
    }
    FOLDER.with_borrow(|folder| {
        let folder = folder.path().join("record");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("server/qlog")).expect("a folder");
        fs::create_dir(folder.join("client")).expect("a folder");
        for (name, contents) in BEFORE {
            fs::write(folder.join(name), contents).expect("a file");
        }
        while let [which, low, high, behind @ ..] = input {
            let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
            let (contents, rest) = behind.split_at(length);
            input = rest;
            let path = folder.join(FILES[usize::from(which & !DELETED) % FILES.len()]);
            match which & DELETED {
                0 => fs::write(&path, contents).expect("a file"),
                _ => drop(fs::remove_file(&path)),
            }
        }
        load(&folder);
    });
}

fn load(folder: &Path) {
    // The parts are read by themselves as well: what is known of a failed run is a part of a record.
    let _ = RunFile::read_any(folder);
    let _ = read_observed(folder, None);
    let record = match AnyRecord::load(folder) {
        Ok(record) => record,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with(&folder.display().to_string()) && message.contains(": "), "{message}");
            return;
        }
    };
    match &record {
        AnyRecord::Transfer(record) => {
            let text = record.observed.to_json();
            let again: Observed = serde_json::from_str(&text).expect("it was just written");
            assert_eq!(again, record.observed);
            // A record of a current schema, written anew, is the same record.
            fs::write(folder.join("path.json"), &text).expect("a file");
            fs::write(folder.join("run.toml"), record.run.to_toml().expect("it can be written")).expect("a file");
            fs::write(folder.join("metrics.json"), record.metrics.to_json()).expect("a file");
            fs::write(folder.join("contents.json"), "{\"schema\": 1, \"files\": {}}").expect("a file");
            let again = Record::load(folder).expect("it was just written");
            assert_eq!((&again.run, &again.observed), (&record.run, &record.observed));
            // As text, because not a number is not equal to itself.
            assert_eq!(again.metrics.to_json(), record.metrics.to_json());
        }
        AnyRecord::Models(record) => {
            let again: ModelsObserved = serde_json::from_str(&record.observed.to_json()).expect("it was just written");
            assert_eq!(again, record.observed);
            let text = record.metrics.to_json();
            let again: quiclab_record::ModelsMetrics = serde_json::from_str(&text).expect("it was just written");
            assert_eq!(again.to_json(), text);
        }
    }
}
