//! Tells by what it does the code that makes records of simulated runs: `QUICLAB_SIM_TESTBED` belongs to the identity of these runs.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

/// What decides about a record besides the simulator, the programs and the settings: all of this folder, so that a new file is never forgotten.
const FOLDER: &str = "src/sim";
/// What it uses of the rest of the crate.
const COLLECT: &str = "src/collect.rs";
/// Files that hold nothing but tests.
const TESTS: [&str; 2] = ["tests.rs", "hostile.rs"];

/// What says what datagrams hold: it decides about records of runs whose path asks for that, and of no others.
const CONTENT_FOLDERS: [&str; 2] = ["../content/src", "../wire/src"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut paths = vec![PathBuf::from(COLLECT)];
    sources(Path::new(FOLDER), &mut paths)?;
    paths.sort();
    let fingerprint = quiclab_fingerprint::of_files(&paths).map_err(|error| error.to_string())?;
    for file in fingerprint.files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rustc-env=QUICLAB_SIM_TESTBED={}", fingerprint.digest);
    let mut paths = Vec::new();
    for folder in CONTENT_FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        sources(Path::new(folder), &mut paths)?;
    }
    paths.sort();
    let fingerprint = quiclab_fingerprint::of_files(&paths).map_err(|error| error.to_string())?;
    println!("cargo::rustc-env=QUICLAB_CONTENT={}", fingerprint.digest);
    Ok(())
}

/// The sources below a folder, apart from tests.
fn sources(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !TESTS.iter().any(|name| path.ends_with(name))
        {
            paths.push(path);
        }
    }
    Ok(())
}
