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

/// One of these files, by its name; a capture also without the `.pcapng` at its end.
pub fn capture(name: &str) -> PathBuf {
    let path = captures().join(name);
    // Names hold versions, so what stands behind a dot need not be an extension.
    if path.is_file() { path } else { captures().join(format!("{name}.pcapng")) }
}
