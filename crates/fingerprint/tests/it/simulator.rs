//! What changes the identity of simulated runs, and what does not: on a copy of the simulator's sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

use quiclab_fingerprint::{FingerprintError, SIMULATOR};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The digest of a copy in which one file was edited.
fn after(file: &str, edit: impl Fn(String) -> String) -> Result<String, FingerprintError> {
    let folder = tempfile::tempdir().unwrap();
    for room in SIMULATOR.folders {
        copy(&workspace().join(room).join("src"), &folder.path().join(room).join("src"));
        fs::copy(workspace().join(room).join("Cargo.toml"), folder.path().join(room).join("Cargo.toml")).unwrap();
    }
    fs::copy(workspace().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let path = folder.path().join(file);
    let text = fs::read_to_string(&path).unwrap();
    let edited = edit(text.clone());
    assert_ne!(edited, text, "the edit changed nothing in {file}");
    fs::write(&path, edited).unwrap();
    SIMULATOR.fingerprint(folder.path()).map(|fingerprint| fingerprint.digest)
}

fn now() -> String {
    SIMULATOR.fingerprint(&workspace()).unwrap().digest
}

/// Cargo.lock with another version of a package, and its checksum.
fn with_another_version(lock: &str, name: &str) -> String {
    let start = lock.find(&format!("name = \"{name}\"\nversion = \"")).unwrap();
    let version = start + lock[start..].find("version = \"").unwrap() + "version = \"".len();
    let length = lock[version..].find('"').unwrap();
    let old = &lock[version..version + length];
    // Where others name the version too, theirs changes with it.
    let mentions = lock.replace(&format!("\"{name} {old}\""), &format!("\"{name} 99.0.0\""));
    mentions.replacen(
        &format!("name = \"{name}\"\nversion = \"{old}\""),
        &format!("name = \"{name}\"\nversion = \"99.0.0\""),
        1,
    )
}

#[test]
fn a_comment_in_any_room_changes_nothing() {
    for file in
        ["crates/units/src/time.rs", "crates/path/src/token_bucket.rs", "crates/sim/src/tcp/congestion/cubic.rs"]
    {
        assert_eq!(after(file, |text| format!("// A comment.\n{text}")).unwrap(), now(), "{file}");
        assert_eq!(after(file, |text| text.replacen("/// ", "/// Indeed: ", 1)).unwrap(), now(), "{file}");
    }
}

#[test]
fn a_test_in_a_room_changes_nothing() {
    let file = "crates/sim/src/tcp/congestion/cubic.rs";
    let edit = |text: String| text.replacen("mod tests {", "mod tests {\n    const NEW: u64 = 1;\n", 1);
    assert_eq!(after(file, edit).unwrap(), now());
}

#[test]
fn a_constant_of_the_simulator_changes_it() {
    let edit = |text: String| text.replacen("const SCALE: f64 = 0.4;", "const SCALE: f64 = 0.5;", 1);
    assert_ne!(after("crates/sim/src/tcp/congestion/cubic.rs", edit).unwrap(), now());
}

#[test]
fn another_version_of_a_library_that_computes_changes_it_and_of_another_library_does_not() {
    for name in ["libm", "rand_chacha", "ppv-lite86", "sha2"] {
        assert_ne!(after("Cargo.lock", |lock| with_another_version(&lock, name)).unwrap(), now(), "{name}");
    }
    for name in ["clap", "thiserror", "nix"] {
        assert_eq!(after("Cargo.lock", |lock| with_another_version(&lock, name)).unwrap(), now(), "{name}");
    }
}

#[test]
fn a_new_dependency_must_be_judged() {
    let edit = |text: String| text.replacen("[dependencies]\n", "[dependencies]\nanyhow = \"1\"\n", 1);
    let error = after("crates/sim/Cargo.toml", edit).unwrap_err().to_string();
    assert!(error.contains("\"anyhow\"") && error.contains("hint: add it to"), "{error}");
}
