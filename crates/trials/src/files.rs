//! Files of a stack whose endpoints run on this machine.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use quiclab_testbed::{
    cache::Cache,
    image::Image,
    loopback::Root,
    stack::{Source, has_files, packages, prepare_files},
};

/// A stack's files, before there is a mount namespace for them.
pub struct Files {
    stack: PathBuf,
    image: Option<PathBuf>,
}

impl Files {
    /// Builds what the cache has not; `tell` is told what takes long.
    ///
    /// # Errors
    /// A build that fails, or an interruption.
    pub fn build(
        cache: &Cache,
        source: &Source,
        again: bool,
        stop: &Arc<AtomicBool>,
        tell: impl Fn(&str),
    ) -> Result<Self> {
        let manifest = &source.manifest;
        if again || !has_files(cache, source)? {
            tell(&format!("building {} {} (once; up to some minutes)", manifest.name, manifest.version));
        }
        let stack = prepare_files(cache, source, again, stop)?;
        let packages = packages(source);
        // What is linked for this machine runs on it; Debian's packages are not on it.
        let image = match packages.is_empty() {
            true => None,
            false => {
                if Image::find(cache, &packages).is_none() {
                    tell(&format!("building a root file system with {packages:?} (once; a minute or two)"));
                }
                Some(Image::prepare(cache, &packages, stop)?.file())
            }
        };
        Ok(Self { stack, image })
    }

    /// The file system that endpoints of the stack see; `shared` is a folder of this machine that is in it under the same name.
    ///
    /// # Errors
    /// Outside of [`enter`](quiclab_testbed::loopback::enter), or where erofs-utils are missing.
    pub fn root(&self, folder: &Path, shared: &Path) -> Result<Root> {
        match &self.image {
            None => Root::of_this_machine(folder, &self.stack, shared),
            Some(image) => Root::of_guest(folder, &self.stack, image, shared),
        }
    }
}
