//! Stacks as folders with plain files: taken out of the file systems that virtual machines mount, once, without root.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    cache::{Cache, TREE},
    command,
    stack::{BuiltStack, Source},
};

/// What a root must have for the agent to put something over it.
const FOLDERS: &[&str] = &["dev", "proc", "sys", "tmp", "run", "root", "var/tmp", "etc"];
/// Files of a root that the agent replaces.
const FILES: &[&str] = &["etc/hosts"];

/// A built stack, and its files as folders.
#[derive(Clone, Debug)]
pub(crate) struct PlainStack {
    /// The build.
    pub built: BuiltStack,
    /// The root file system.
    pub root: PathBuf,
    /// What the endpoint sees as `/stack`.
    pub files: PathBuf,
}

impl PlainStack {
    /// Whether the cache has the build of a stack, and the folders of that build.
    pub fn is_built(cache: &Cache, source: &Source) -> Result<bool> {
        let Some(built) = BuiltStack::find(cache, source)? else { return Ok(false) };
        Ok([root_name(&built)?, files_name(&built)?].iter().all(|name| cache.path(name).is_dir()))
    }

    /// Takes the files out, unless the cache has them.
    ///
    /// # Errors
    /// Where erofs-utils are missing, or the disk is full.
    pub fn prepare(cache: &Cache, built: BuiltStack) -> Result<Self> {
        let root = cache.folder(&root_name(&built)?, |folder| {
            cache.inherit(built.image.folder(), folder)?;
            let root = extract(&built.image.file(), folder)?;
            for name in FOLDERS {
                fs::create_dir_all(root.join(name)).with_context(|| (*name).to_owned())?;
            }
            for name in FILES {
                let path = root.join(name);
                if fs::symlink_metadata(&path).is_err() {
                    fs::write(&path, "").with_context(|| path.display().to_string())?;
                }
            }
            Ok(())
        })?;
        let files = cache.folder(&files_name(&built)?, |folder| {
            cache.inherit(built.folder(), folder)?;
            extract(&built.file(), folder).map(drop)
        })?;
        Ok(Self { built, root: root.join(TREE), files: files.join(TREE) })
    }
}

/// Names of the folders of a build, by what is in them: the root's, and that of the stack's own files.
///
/// # Errors
/// Where a hash cannot be read.
pub(crate) fn names(built: &BuiltStack) -> Result<[String; 2]> {
    let last = |name: String| name.trim_start_matches("plain/").to_owned();
    Ok([last(root_name(built)?), last(files_name(built)?)])
}

fn root_name(built: &BuiltStack) -> Result<String> {
    Ok(format!("plain/root-{}", short(&built.image.digest()?)))
}

fn files_name(built: &BuiltStack) -> Result<String> {
    Ok(format!("plain/stack-{}", short(&built.digest()?)))
}

fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

/// Takes the files of a file system out, into a folder of `folder`.
fn extract(image: &Path, folder: &Path) -> Result<PathBuf> {
    let tree = folder.join(TREE);
    let to = format!("--extract={}", tree.display());
    let arguments = [to.as_ref(), "--no-preserve-owner".as_ref(), "--preserve-perms".as_ref(), image.as_os_str()];
    command::run("fsck.erofs", &arguments, "erofs-utils")?;
    Ok(tree)
}
