//! Where two records of the same run differ.

use std::{collections::BTreeMap, path::Path};

use quiclab_experiment::{AnyRun, RELEASE};

use crate::{
    Contents, RecordError, RunFile,
    layout::{FILES, MODELS_FILES, RUN_FILE},
};

/// The files in which two records of the same run differ, with how they differ; empty where they do not. The release of quiclab in `run.toml`
/// is no difference: it is not part of a run's identity either. A file that the first record lacks is compared by the hash that its
/// `contents.json` has: bundles leave captures out.
///
/// # Errors
/// Where a file cannot be read.
pub fn differences(one: &Path, other: &Path) -> Result<BTreeMap<String, String>, RecordError> {
    let mut differences = BTreeMap::new();
    let is_of_models = RunFile::kind_in(one)? == AnyRun::MODELS;
    let compared = FILES.iter().filter(|file| file.is_compared).map(|file| file.name);
    for name in compared.filter(|name| !is_of_models || MODELS_FILES.contains(name)) {
        let read = |folder: &Path| {
            let path = folder.join(name);
            quiclab_inputs::read_unlinked(&path, u64::MAX).map_err(|error| RecordError::reading(&path, folder, error))
        };
        if let Some((found, expected)) = hashes_where_left_out(one, other, name)? {
            if found != expected {
                differences.insert(name.to_owned(), format!("found SHA-256 {found}, expected {expected}"));
            }
            continue;
        }
        let (left, right) = (read(one)?, read(other)?);
        if left != right && !(name == RUN_FILE && differ_in_release_only(&left, &right)) {
            let first = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
            let text = format!("{} and {} bytes, first difference at byte {first}", left.len(), right.len());
            differences.insert(name.to_owned(), text);
        }
    }
    Ok(differences)
}

/// The hashes of the file `name`, of the other record and of this one, where this one has been left without it.
fn hashes_where_left_out(one: &Path, other: &Path, name: &str) -> Result<Option<(String, String)>, RecordError> {
    if one.join(name).exists() {
        return Ok(None);
    }
    let hash = |folder: &Path| {
        Ok(Contents::read(folder, None)?.and_then(|contents| contents.files.get(name).cloned()?.sha256))
    };
    Ok(hash(other)?.zip(hash(one)?))
}

/// True where two `run.toml` say the same of everything but the release of quiclab.
fn differ_in_release_only(left: &[u8], right: &[u8]) -> bool {
    let without_release = |text: &[u8]| -> Option<toml::Table> {
        let mut table: toml::Table = toml::from_str(std::str::from_utf8(text).ok()?).ok()?;
        table.get_mut("versions")?.as_table_mut()?.remove(RELEASE);
        Some(table)
    };
    without_release(left).is_some_and(|left| without_release(right) == Some(left))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layout::{CAPTURE_FILE, CONTENTS_FILE};

    #[test]
    fn a_difference_names_the_file_and_the_byte() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for file in FILES.iter().filter(|file| file.is_compared) {
            let text = if file.name == RUN_FILE { "kind = \"transfer\"\n" } else { "abc" };
            fs::write(one.path().join(file.name), text).unwrap();
            fs::write(other.path().join(file.name), text).unwrap();
        }
        assert!(differences(one.path(), other.path()).unwrap().is_empty());
        fs::write(other.path().join("wire.pcapng"), "abd").unwrap();
        let found = differences(one.path(), other.path()).unwrap();
        assert_eq!(found["wire.pcapng"], "3 and 3 bytes, first difference at byte 2");
    }

    #[test]
    fn another_release_of_quiclab_is_no_difference() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let write = |folder: &Path, release: &str, qemu: &str| {
            for file in FILES.iter().filter(|file| file.is_compared) {
                fs::write(folder.join(file.name), "abc").unwrap();
            }
            let text = format!("kind = \"transfer\"\n\n[versions]\nqemu = \"{qemu}\"\nquiclab = \"{release}\"\n");
            fs::write(folder.join(RUN_FILE), text).unwrap();
        };
        write(one.path(), "0.1.0", "7.2");
        write(other.path(), "0.2.0", "7.2");
        assert!(differences(one.path(), other.path()).unwrap().is_empty());
        write(other.path(), "0.2.0", "8.2");
        assert_eq!(differences(one.path(), other.path()).unwrap().keys().collect::<Vec<_>>(), [RUN_FILE]);
    }

    #[test]
    fn a_file_that_was_left_out_is_compared_by_its_hash() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, capture: &str| {
            let place = folder.path().join(name);
            fs::create_dir(&place).unwrap();
            for file in FILES.iter().filter(|file| file.is_compared) {
                fs::write(place.join(file.name), if file.name == CAPTURE_FILE { capture } else { "" }).unwrap();
            }
            fs::write(place.join(RUN_FILE), "schema = 2\nkind = \"transfer\"\n").unwrap();
            Contents::write(&place).unwrap();
            place
        };
        let [one, same, changed] = [("one", "x"), ("same", "x"), ("changed", "y")].map(|(name, text)| make(name, text));
        fs::remove_file(one.join(CAPTURE_FILE)).unwrap();
        assert_eq!(differences(&one, &same).unwrap(), BTreeMap::new());
        let found = differences(&one, &changed).unwrap();
        assert!(found[CAPTURE_FILE].starts_with("found SHA-256 a1fce436"), "{found:?}");
        fs::remove_file(one.join(CONTENTS_FILE)).unwrap();
        assert!(differences(&one, &same).is_err());
    }
}
