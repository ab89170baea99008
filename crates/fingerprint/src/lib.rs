//! Digests of source code by what it does. Build scripts use them for the identity of simulated runs, which must change when the
//! results can change, and only then.
//!
//! [`Rooms`] digests crates of this workspace: their code as tokens, so that comments, documentation, layout and tests do not count, and
//! the exact versions of the libraries they compute with. [`of_files`] digests single files in the same way.
//!
//! The version of the compiler is not part of it. The simulator computes with integers and with IEEE 754 arithmetic (`+ - * /` and square
//! roots), whose results the standard fixes to the last bit and which Rust never reorders or fuses; everything else, such as logarithms and
//! cube roots, comes from the library `libm`, which is code like any other. Methods of `f64` whose precision the compiler may choose are
//! refused in rooms.

mod dependencies;
mod modules;
mod tokens;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// Crates of this workspace whose code decides about a result.
#[derive(Clone, Copy, Debug)]
pub struct Rooms<'a> {
    /// The folders of the crates below the workspace's, such as `crates/sim`.
    pub folders: &'a [&'a str],
    /// Libraries that they compute with, and so do the libraries that these use: their exact versions count.
    pub computing: &'a [&'a str],
    /// Libraries that results do not follow from, such as those for error types.
    pub other: &'a [&'a str],
}

/// Everything that results of the simulator follow from, apart from the testbed around it.
pub const SIMULATOR: Rooms = Rooms {
    folders: &["crates/units", "crates/path", "crates/sim"],
    computing: &["libm", "rand_chacha", "sha2"],
    // Error types, and how stages stand in files: what a run is told stands in its settings.
    other: &["serde", "thiserror", "toml"],
};

/// Why there is no digest.
#[derive(Debug, thiserror::Error)]
pub enum FingerprintError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {what}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A digest, and the files that it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// 16 hexadecimal digits.
    pub digest: String,
    /// Sources, manifests and `Cargo.lock`: a build script is to run again when one of them changes.
    pub files: Vec<PathBuf>,
}

impl Rooms<'_> {
    /// The digest of the rooms of the workspace in the folder `workspace`.
    ///
    /// # Errors
    /// Where a file cannot be read or understood, or a library is neither among those that compute nor among the others.
    pub fn fingerprint(&self, workspace: &Path) -> Result<Fingerprint, FingerprintError> {
        let mut digest = Sha256::new();
        let mut files = Vec::new();
        for folder in self.folders {
            let root = workspace.join(folder).join("src/lib.rs");
            for module in modules::of(&root)? {
                tokens::refuse_open_precision(&module.path, &module.text)?;
                // Where a file lies counts, because it says which module it is.
                update(&mut digest, folder, &module.name, &tokens::of(&module.path, &module.text)?);
                files.push(module.path);
            }
        }
        let lock = workspace.join("Cargo.lock");
        for (name, version, checksum) in dependencies::of(self, workspace, &lock, &mut files)? {
            update(&mut digest, &name, &version, &checksum);
        }
        files.push(lock);
        Ok(Fingerprint { digest: short(digest), files })
    }
}

/// The digest of single files, in this order.
///
/// # Errors
/// Where a file cannot be read or is no Rust.
pub fn of_files(paths: &[PathBuf]) -> Result<Fingerprint, FingerprintError> {
    let mut digest = Sha256::new();
    for path in paths {
        update(&mut digest, "", "", &tokens::of(path, &read(path)?)?);
    }
    Ok(Fingerprint { digest: short(digest), files: paths.to_vec() })
}

fn update(digest: &mut Sha256, place: &str, name: &str, contents: &str) {
    for part in [place, name, contents] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
}

fn short(digest: Sha256) -> String {
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<String, FingerprintError> {
    fs::read_to_string(path).map_err(|source| FingerprintError::Read { path: path.to_owned(), source })
}
