//! What a stack is built from: the files of its folder, and what its manifest names besides.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{hash, image::ROOT_FILE};

use super::{MANIFEST, Source, plain_name};

/// Version of what surrounds a stack's own build command.
const RECIPE: &[u8] = b"3";
/// What a build, or a fuzzer, leaves in a folder and is not part of its source.
const NOT_SOURCE: &[&str] = &["target", "fuzz", "node_modules", ".git", "__pycache__", ROOT_FILE];
/// Folders below each other; more are taken for links that lead back to themselves.
const DEEPEST: usize = 64;

/// Name of what is made of a stack's source, in a folder of the cache.
///
/// # Errors
/// A file that cannot be read, an input of the manifest that is not there.
pub fn name_below(folder: &str, source: &Source) -> Result<String> {
    let mut hasher = hash::Hasher::default().part(RECIPE);
    for file in source_files(&source.folder)? {
        hasher = hasher.part(file.as_os_str().as_encoded_bytes()).part(&fs::read(source.folder.join(&file))?);
    }
    for input in &source.manifest.build.inputs {
        hasher = hasher.part(input.as_bytes());
        for (name, path) in input_files(source, input)? {
            let digest = hash::of_file(&path).with_context(|| path.display().to_string())?;
            hasher = hasher.part(name.as_os_str().as_encoded_bytes()).part(digest.as_bytes());
        }
    }
    Ok(format!("{folder}/{}-{}", plain_name(source), hasher.short()))
}

/// The files that an entry of `build.inputs` stands for: their names, which are the same on every machine, and where they are.
///
/// # Errors
/// Where there are none.
fn input_files(source: &Source, input: &str) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let place = || format!("{}: build.inputs: found {input:?}", source.folder.join(MANIFEST).display());
    let is_pattern = input.contains(['*', '?', '[']);
    let roots = if is_pattern {
        let folder = glob::Pattern::escape(&source.folder.display().to_string());
        let pattern = if Path::new(input).is_absolute() { input.to_owned() } else { format!("{folder}/{input}") };
        let paths = glob::glob(&pattern).with_context(place)?;
        let paths = paths.collect::<Result<Vec<_>, _>>().with_context(place)?;
        if paths.is_empty() {
            bail!("{}, which matches no file, expected at least one", place());
        }
        paths
    } else {
        vec![source.folder.join(input)]
    };
    let mut files = BTreeMap::new();
    for root in roots {
        let name = root.strip_prefix(&source.folder).unwrap_or(&root).to_path_buf();
        let Ok(facts) = fs::metadata(&root) else {
            bail!(
                "{}, but {} does not exist; expected a file, a folder or a pattern\nhint: paths are relative to the folder of {MANIFEST}",
                place(),
                root.display()
            );
        };
        if facts.is_dir() {
            let below = source_files(&root).with_context(place)?;
            files.extend(below.into_iter().map(|file| (name.join(&file), root.join(&file))));
        } else if facts.is_file() {
            files.insert(name, root);
        } else {
            bail!("{}, which is a device, a pipe or a socket, expected a file, a folder or a pattern", place());
        }
    }
    if files.is_empty() {
        bail!("{}, which contains no file, expected at least one", place());
    }
    Ok(files)
}

/// Every file that a stack is built from: its name, as seen from the folder of all stacks, and where it is. Inputs from elsewhere are not
/// among them.
///
/// # Errors
/// A file that cannot be read, an input of the manifest that is not there.
pub fn all_files(source: &Source) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let own = PathBuf::from(source.folder.file_name().unwrap_or_default());
    let mut files: BTreeMap<_, _> =
        source_files(&source.folder)?.into_iter().map(|file| (own.join(&file), source.folder.join(&file))).collect();
    for input in &source.manifest.build.inputs {
        for (name, path) in input_files(source, input)? {
            // `../contract-rust/x` is a neighbour.
            if let Ok(name) = name.strip_prefix("..")
                && name.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            {
                files.insert(name.to_path_buf(), path);
            }
        }
    }
    Ok(files)
}

/// The files below a folder, in order.
fn source_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(folder, Path::new(""), DEEPEST, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(root: &Path, below: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(below);
    let Some(depth) = depth.checked_sub(1) else {
        bail!(
            "{}: found more than {DEEPEST} nested folders\nhint: does a link lead back to a parent folder?",
            folder.display()
        );
    };
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if NOT_SOURCE.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let path = below.join(entry.file_name());
        // Follows links: two versions of a stack may share one program.
        let facts = fs::metadata(entry.path()).with_context(|| entry.path().display().to_string())?;
        if facts.is_dir() {
            collect(root, &path, depth, files)?;
        } else if facts.is_file() {
            files.push(path);
        } else {
            bail!("{}: found a device, a pipe or a socket, expected files and folders", entry.path().display());
        }
    }
    Ok(())
}
