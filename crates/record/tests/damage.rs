//! A record with a missing, cut, or foreign file is an error that names the file, and what to do.

mod common;

use std::{fs, path::Path};

use common::{NAME, copy_of_record};
use quiclab_experiment::AnyRun;
use quiclab_record::{Record, Records, RunFile, Seen};

/// The record in the current schemas, with its lengths noted.
fn current_record() -> tempfile::TempDir {
    let copy = copy_of_record();
    let old = Record::load(&copy.path().join(NAME)).unwrap();
    let records = Records::open(copy.path()).unwrap();
    let draft = records.begin(NAME).unwrap();
    quiclab_record::link_below(&old.folder, draft.folder()).unwrap();
    for name in ["run.toml", "path.json", "metrics.json"] {
        fs::remove_file(draft.folder().join(name)).unwrap();
    }
    let RunFile { schema, kind, id, run, versions } = old.run;
    let run = RunFile { schema, kind, id, run: AnyRun::from(run), versions };
    draft.fill(&run, &Seen::Transfer(Box::new(old.observed))).unwrap();
    draft.finish().unwrap();
    copy
}

fn error_after(damage: impl FnOnce(&Path)) -> String {
    let folder = current_record();
    let record = folder.path().join(NAME);
    damage(&record);
    let error = Record::load(&record).unwrap_err().to_string();
    assert!(error.contains(&format!("hint: rm -r {} deletes the record", record.display())), "{error}");
    // It is there all the same: nobody makes it again in silence.
    let records = Records::open(folder.path()).unwrap();
    assert!(records.contains(NAME) && records.names().unwrap() == [NAME]);
    error.replace(&format!("{}/", record.display()), "")
}

#[test]
fn a_record_survives_writing_and_reading() {
    let copy = copy_of_record();
    let old = Record::load(&copy.path().join(NAME)).unwrap();
    let folder = current_record();
    let new = Record::load(&folder.path().join(NAME)).unwrap();
    assert_eq!((&new.run, &new.observed), (&old.run, &old.observed));
    // What the warnings say may be put in other words by now.
    assert_eq!(new.metrics.metrics, old.metrics.metrics);
}

#[test]
fn a_missing_file_is_named() {
    for file in ["run.toml", "path.json", "metrics.json", "wire.pcapng", "server/keys.log", "contents.json"] {
        let error = error_after(|record| fs::remove_file(record.join(file)).unwrap());
        assert!(error.starts_with(&format!("{file}: the file is missing")), "{error}");
    }
}

#[test]
fn a_cut_file_is_named_with_both_lengths() {
    for file in ["path.json", "metrics.json", "wire.pcapng", "client/keys.log"] {
        let mut length = 0;
        let error = error_after(|record| {
            let bytes = fs::read(record.join(file)).unwrap();
            length = bytes.len();
            fs::write(record.join(file), &bytes[..length / 2]).unwrap();
        });
        let expected = format!("{file}: found {} bytes, expected {length}", length / 2);
        assert!(error.starts_with(&expected), "{error}");
    }
    let error = error_after(|record| fs::write(record.join("run.toml"), "id = \"2b0148").unwrap());
    assert!(error.starts_with("run.toml: byte 12: "), "{error}");
    let error = error_after(|record| fs::write(record.join("contents.json"), "").unwrap());
    assert!(error.starts_with("contents.json: EOF"), "{error}");
}

#[test]
fn a_foreign_file_is_named() {
    // Of the same length, so that its contents alone tell.
    let same_length = |file: &'static str, text: &'static str| {
        move |record: &Path| {
            let length = fs::metadata(record.join(file)).unwrap().len() as usize;
            fs::write(record.join(file), format!("{text:length$}")).unwrap();
        }
    };
    let error = error_after(same_length("path.json", "[]"));
    assert!(error.starts_with("path.json: found JSON that is not an object"), "{error}");
    let error = error_after(same_length("path.json", "{\"schema\": 2, \"flavour\": 3}"));
    assert!(error.starts_with("path.json: unknown field `flavour`"), "{error}");
    let error = error_after(same_length("metrics.json", "{\"schema\": 4, \"flavour\": 3}"));
    assert!(error.starts_with("metrics.json: unknown field `flavour`"), "{error}");
    let error = error_after(|record| {
        let text = fs::read_to_string(record.join("run.toml")).unwrap();
        fs::write(record.join("run.toml"), text.replace("2b01485dbc44d56e", "0123456789abcdef")).unwrap();
    });
    let expected =
        "run.toml: found the run 0123456789abcdef, expected 2b01485dbc44d56e: the file belongs to another record";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_file_that_somebody_added_does_no_harm() {
    let folder = current_record();
    fs::write(folder.path().join(NAME).join("sender.pcapng"), "filtered").unwrap();
    assert!(Record::load(&folder.path().join(NAME)).is_ok());
}

#[test]
fn a_folder_without_a_record_says_what_a_record_is() {
    let folder = tempfile::tempdir().unwrap();
    let error = Record::load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("found no run.toml, expected the folder of a record"), "{error}");
}
