//! Tells the simulator by what it does: a digest of its sources and of those it rests on, which belongs to the identity of every simulated run.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut digest = Sha256::new();
    for room in ["../units/src", "../path/src", "src"] {
        println!("cargo::rerun-if-changed={room}");
        let mut files = Vec::new();
        collect(&here.join(room), Path::new(room), &mut files)?;
        files.sort();
        for (name, path) in files {
            let text = fs::read(path)?;
            digest.update(name.to_string_lossy().as_bytes());
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
    }
    let hex: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=QUICLAB_SIMULATOR={hex}");
    Ok(())
}

/// The files of a folder and of those below it, with their names from `name` on.
fn collect(folder: &Path, name: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = name.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
