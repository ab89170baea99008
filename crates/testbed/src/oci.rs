//! Container images as archives: from what `docker save` or skopeo wrote to the root file system of an endpoint.
//!
//! Images are foreign bytes. Nothing is written outside of the tree that is given, sizes are bounded, and what the image's
//! own digests do not agree with is refused. Call order: [`unpack`], then [`pack`].
//!
//! The documents are read with a few structs of serde. The `oci-spec` crate would replace those alone, knows nothing of what
//! `docker save` writes, and brings ten more crates; archives and layers are read with `tar`.

mod archive;
mod config;
mod layers;
mod members;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use tree::Tree;

pub use config::{Image, Layer};

use crate::{
    erofs,
    image::{ROOT_FILE, seal},
};

/// The file system's UUID: any constant.
const UUID: &str = "7175696c-6162-4000-8000-000000000003";
/// Where the agent mounts something, or writes: of an image, nothing is needed there but a folder.
const MOUNTED: &[&str] = &["proc", "sys", "dev", "tmp", "run", "www", "downloads", "certs", "logs", "stack"];

/// An image that was unpacked.
#[derive(Debug)]
pub struct Unpacked {
    /// What it says of itself.
    pub image: Image,
    tree: PathBuf,
}

/// Unpacks the image in `archive`, which may be compressed, into a folder below `work`, an empty folder.
///
/// # Errors
/// An archive that is none, is cut off, holds no image or more than one, or one of another machine; a layer that is damaged,
/// too large, or wants to be somewhere else; an interruption, where `stop` was set.
pub fn unpack(archive: &Path, work: &Path, stop: &AtomicBool) -> Result<Unpacked> {
    let place = || archive.display().to_string();
    let archive = archive::Archive::open(archive, &work.join("archive.tar")).with_context(place)?;
    let image = config::find(&archive).with_context(place)?;
    let folder = work.join("tree");
    let mut tree = Tree::create(&folder)?;
    let mut room = layers::Room::default();
    for (number, layer) in image.layers.iter().enumerate() {
        let which = || format!("{}: layer {} of {} ({})", place(), number + 1, image.layers.len(), layer.member);
        layers::apply(&archive, layer, &mut tree, &mut room, stop).with_context(which)?;
    }
    for path in MOUNTED {
        tree.empty_folder(path)?;
    }
    tree.plain_file_at("etc/hosts")?;
    tree.ensure_folder(&image.folder).with_context(|| format!("{}: WorkingDir {:?}", place(), image.folder))?;
    tree.finish()?;
    Ok(Unpacked { image, tree: folder })
}

/// Makes the root file system of an unpacked image in `folder`.
///
/// # Errors
/// A missing program, a full disk, or a tree that is too large.
pub fn pack(unpacked: &Unpacked, folder: &Path) -> Result<()> {
    let file = folder.join(ROOT_FILE);
    erofs::make(&file, &unpacked.tree, UUID)?;
    seal(folder)?;
    fs::remove_dir_all(&unpacked.tree).with_context(|| unpacked.tree.display().to_string())
}

#[cfg(test)]
mod test_images;
#[cfg(test)]
mod tests;
