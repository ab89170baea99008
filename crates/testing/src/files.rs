//! Paths in this repository.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder of the captures of real stacks, which its README.md describes.
pub fn captures() -> PathBuf {
    repository().join("crates/wire/tests/data/captures")
}

/// One of these captures, by the name of its file; `.pcapng` where that has no extension.
pub fn capture(name: &str) -> PathBuf {
    let path = captures().join(name);
    if path.extension().is_some() { path } else { path.with_extension("pcapng") }
}
