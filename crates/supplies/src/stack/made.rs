//! Builds in the cache: made now, or before.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result};

use crate::cache::{Cache, Origin};

use super::Source;

/// Where a build's source was.
const FROM: &str = "from";

/// Whether a build was made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// The command was run.
    Now,
    /// The cache had it.
    Before {
        /// When it was made; `None` where the disk does not say.
        at: Option<SystemTime>,
        /// The stack's folder then; `None` for a build of an earlier version of quiclab, which did not note it.
        from: Option<PathBuf>,
        /// The archive that it was taken from; `None` where it was built here.
        origin: Option<Box<Origin>>,
    },
}

impl Made {
    /// Describes a build in the cache.
    pub fn before(folder: &Path) -> Self {
        let from = fs::read_to_string(folder.join(FROM)).ok().map(PathBuf::from);
        let origin = Origin::of(folder).map(Box::new);
        Self::Before { at: fs::metadata(folder).and_then(|facts| facts.modified()).ok(), from, origin }
    }
}

/// The folder `name` of the cache, filled by `make` where it is not there or where it is to be made `again`. The old one stays
/// until the new one is whole.
///
/// # Errors
/// Those of `make`, and of the cache.
pub fn make(
    cache: &Cache,
    name: &str,
    source: &Source,
    again: bool,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<(PathBuf, Made)> {
    let mut made = false;
    let make = |folder: &Path| {
        made = true;
        make(folder)?;
        let from = fs::canonicalize(&source.folder).unwrap_or_else(|_| source.folder.clone());
        fs::write(folder.join(FROM), from.display().to_string()).context(FROM)
    };
    let folder = if again {
        cache.replace(name, |_| false, make)?;
        cache.path(name)
    } else {
        cache.folder(name, make)?
    };
    let made = if made { Made::Now } else { Made::before(&folder) };
    Ok((folder, made))
}
