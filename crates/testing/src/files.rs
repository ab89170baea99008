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

/// One of these captures, by the name of its file, with or without the `.pcapng` at its end.
pub fn capture(name: &str) -> PathBuf {
    captures().join(format!("{}.pcapng", name.strip_suffix(".pcapng").unwrap_or(name)))
}
