//! The crates of the workspace and their files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quiclab_testing::files::repository;

/// One file of a crate.
pub struct Text {
    /// Its path below the repository.
    pub path: PathBuf,
    pub text: String,
}

/// One file of a crate, taken apart.
pub struct Source {
    /// Its path below the repository.
    pub path: PathBuf,
    pub tokens: TokenStream,
}

/// The folders of all crates below the repository, in order: those in `crates`, and those that stand in the folder of another one.
///
/// A folder with a workspace of its own, such as that of a fuzzer, is none.
pub fn crates() -> Vec<PathBuf> {
    let mut crates = Vec::new();
    for folder in folders(&repository().join("crates")) {
        let inner = folders(&folder);
        crates.extend([folder].into_iter().chain(inner).filter(|folder| is_crate(folder)));
    }
    crates.sort();
    assert!(crates.len() > 15, "{} crates: is the search for them broken?", crates.len());
    crates.iter().map(|folder| folder.strip_prefix(repository()).unwrap().to_owned()).collect()
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap().map(Result::unwrap);
    entries.filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()).collect()
}

fn is_crate(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    text.contains("[package]") && !text.contains("[workspace]")
}

/// Files of the crates: those of `src`, or also those of `tests`.
pub fn texts(with_tests: bool) -> Vec<Text> {
    let parts: &[&str] = if with_tests { &["src", "tests"] } else { &["src"] };
    let mut texts = Vec::new();
    for krate in crates() {
        let mut waiting: Vec<_> = parts.iter().map(|part| repository().join(&krate).join(part)).collect();
        while let Some(path) = waiting.pop() {
            // Stacks that tests link to are not part of the crates.
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                texts.push(Text { path: path.strip_prefix(repository()).unwrap().to_owned(), text });
            }
        }
    }
    texts.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(texts.len() > 500, "{} files: is the search for them broken?", texts.len());
    texts
}

/// The same files, taken apart.
pub fn sources(with_tests: bool) -> Vec<Source> {
    let source = |Text { path, text }| {
        let tokens = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Source { path, tokens }
    };
    texts(with_tests).into_iter().map(source).collect()
}
