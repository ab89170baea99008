//! A record with a missing, cut, or foreign file is an error that names the file, and what to do.

use std::{fs, path::Path};

use crate::common::{NAME, copy_of_record};
use quiclab_experiment::AnyRun;
use quiclab_record::{Contents, Record, RecordError, Records, RunFile, Seen};

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
    let kept = folder.path().join("damaged");
    let hint = "hint: the command that made the record performs the run again and moves this one to";
    assert!(error.contains(&format!("{hint} {}", kept.display())), "{error}");
    // Reading changes nothing.
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
    let error = error_after(same_length("metrics.json", "{\"schema\": 6, \"flavour\": 3}"));
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

#[test]
fn a_changed_byte_is_found_by_its_hash_and_not_by_lengths() {
    for file in ["wire.pcapng", "client/keys.log", "run.toml"] {
        let folder = current_record();
        let record = folder.path().join(NAME);
        assert!(Contents::changes(&record).unwrap().is_empty());
        let mut bytes = fs::read(record.join(file)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(record.join(file), bytes).unwrap();
        assert!(Contents::check(&record, None).unwrap().is_some());
        let changes = Contents::changes(&record).unwrap();
        let [change] = &changes[..] else { panic!("{changes:?}") };
        assert!(change.is_damage());
        let expected = format!("{}: found SHA-256 ", record.join(file).display());
        assert!(change.brief().starts_with(&expected) && change.brief().ends_with("changed after it was written"));
    }
}

#[test]
fn every_damaged_file_is_listed() {
    let folder = current_record();
    let record = folder.path().join(NAME);
    fs::remove_file(record.join("wire.pcapng")).unwrap();
    fs::write(record.join("server/keys.log"), "").unwrap();
    let changes: Vec<_> = Contents::changes(&record).unwrap().iter().map(RecordError::brief).collect();
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(
        changes[0].contains("server/keys.log: found 0 bytes")
            && changes[1].contains("wire.pcapng: the file is missing")
    );
}

#[test]
fn a_record_whose_contents_have_lengths_only_is_read_and_its_lengths_are_checked() {
    let folder = current_record();
    let record = folder.path().join(NAME);
    let contents = Contents::of(&record).unwrap();
    let lengths: Vec<_> = contents.files.iter().map(|(name, facts)| format!("{name:?}: {}", facts.bytes)).collect();
    fs::write(record.join("contents.json"), format!("{{\"schema\": 1, \"files\": {{{}}}}}", lengths.join(", ")))
        .unwrap();
    assert!(Record::load(&record).is_ok());
    let read = Contents::check(&record, None).unwrap().unwrap();
    assert!(!read.has_hashes() && contents.has_hashes());
    assert!(Contents::changes(&record).unwrap().is_empty());
    fs::write(record.join("wire.pcapng"), "cut").unwrap();
    assert!(Record::load(&record).unwrap_err().is_damage());
    assert_eq!(Contents::changes(&record).unwrap().len(), 1);
}

#[test]
fn a_damaged_record_is_set_aside_whole_and_never_in_the_place_of_another() {
    let folder = current_record();
    let records = Records::open(folder.path()).unwrap();
    let mut places = Vec::new();
    for text in ["first", "second", "third"] {
        fs::create_dir_all(folder.path().join(NAME)).unwrap();
        fs::write(folder.path().join(NAME).join("run.toml"), text).unwrap();
        places.push(records.set_aside(NAME).unwrap());
        assert!(!records.contains(NAME) && records.names().unwrap().is_empty());
    }
    let names = [NAME.to_owned(), format!("{NAME}~2"), format!("{NAME}~3")];
    assert_eq!(places, names.map(|name| folder.path().join("damaged").join(name)));
    for (place, text) in places.iter().zip(["first", "second", "third"]) {
        assert_eq!(fs::read_to_string(place.join("run.toml")).unwrap(), text);
    }
    assert!(places[0].join("wire.pcapng").is_file());
}

#[test]
fn a_record_that_is_taken_over_keeps_its_hashes() {
    let folder = current_record();
    let records = Records::open(folder.path()).unwrap();
    let mut bytes = fs::read(folder.path().join(NAME).join("wire.pcapng")).unwrap();
    bytes[99] ^= 1;
    fs::write(folder.path().join(NAME).join("wire.pcapng"), bytes).unwrap();
    let other = tempfile::tempdir().unwrap();
    let taken = Records::open(other.path()).unwrap().adopt(NAME, &records, NAME).unwrap();
    assert_eq!(Contents::changes(&taken).unwrap().len(), 1, "damage is not written off");
}
