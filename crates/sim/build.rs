//! Tells the simulator by what it does: a digest of its sources and of those it rests on, which belongs to the identity of every simulated run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    // Cargo starts this in the folder of the package.
    let mut digest = Sha256::new();
    for room in ["../units/src", "../path/src", "src"] {
        println!("cargo::rerun-if-changed={room}");
        let mut files = Vec::new();
        collect(Path::new(room), &mut files)?;
        files.sort();
        for path in files {
            let text = fs::read(&path)?;
            digest.update(path.to_string_lossy().as_bytes());
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
    }
    let hex: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=QUICLAB_SIMULATOR={hex}");
    Ok(())
}

/// The files of a folder and of those below it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
