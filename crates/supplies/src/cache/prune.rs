//! What the cache has, and how to make it smaller.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result, bail};

use super::{Cache, IMPORTED, Origin};
use crate::siblings::sibling;

/// Folders of the cache with things in them, and what these are.
const KINDS: &[(&str, &str)] = &[
    ("agent", "agent that the command carries"),
    ("build", "object files of stacks"),
    ("image", "root file system"),
    (IMPORTED, "imported stack"),
    ("kernel", "kernel"),
    ("own", "your own program"),
    ("plain", "root file system or stack, as plain files"),
    ("program", "stack of the simulator"),
    ("stack", "built stack"),
    ("state", "saved state of a guest"),
];
/// Folder of object files: no list of their contents, and locks of their own.
const BUILD: &str = "build";

/// A thing in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// Its name, such as `image/trixie-630a499be90625f9`.
    pub name: String,
    /// What it is, in words.
    pub about: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// What it takes of the disk.
    pub bytes: u64,
    /// When it was used last, or made where this is not known.
    pub used: SystemTime,
    /// True where it has hashes or lengths to be checked by.
    pub can_be_checked: bool,
    /// True where quiclab makes it again when it is needed.
    pub can_be_made_again: bool,
    /// Where it came from; `None` where it was made here.
    pub origin: Option<Origin>,
}

/// What came of making the cache smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Removed, or with a dry run to be removed.
    pub removed: Vec<Thing>,
    /// Would have been removed as well, but a process uses them.
    pub in_use: Vec<Thing>,
    /// What the cache takes of the disk afterwards.
    pub bytes_left: u64,
}

impl Cache {
    /// Everything in the cache, what was not used for longest first.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn things(&self) -> Result<Vec<Thing>> {
        let mut things = Vec::new();
        for (kind, about) in KINDS {
            let Ok(entries) = fs::read_dir(self.path(kind)) else { continue };
            for entry in entries {
                let path = entry.with_context(|| self.path(kind).display().to_string())?.path();
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                if name.starts_with('.') || !path.is_dir() {
                    continue;
                }
                let name = format!("{kind}/{name}");
                // It was removed meanwhile.
                let Ok(facts) = fs::metadata(&path) else { continue };
                let made = if *kind == BUILD { modified(&sibling(&path, "log")) } else { None };
                let made = made.or(facts.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
                things.push(Thing {
                    used: self.last_use(&name).map_or(made, |used| used.max(made)),
                    bytes: disk_bytes(&path),
                    about,
                    can_be_checked: *kind != BUILD,
                    can_be_made_again: *kind != IMPORTED,
                    origin: self.origin(&name),
                    name,
                    path,
                });
            }
        }
        things.sort_by(|one, other| (one.used, &one.name).cmp(&(other.used, &other.name)));
        Ok(things)
    }

    /// Removes things that were not used for longest until the cache takes at most `keep` bytes. What a process uses stays, and so do
    /// imported stacks, which cannot be made again without their images. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// Where something cannot be removed.
    pub fn prune(&self, keep: u64, dry_run: bool) -> Result<Pruned> {
        self.remove_leftovers()?;
        let things = self.things()?;
        let mut pruned = Pruned { bytes_left: things.iter().map(|thing| thing.bytes).sum(), ..Pruned::default() };
        for thing in things.into_iter().filter(|thing| thing.can_be_made_again) {
            if pruned.bytes_left <= keep {
                break;
            }
            if self.take_away(&thing, dry_run)? {
                pruned.bytes_left -= thing.bytes;
                pruned.removed.push(thing);
            } else {
                pruned.in_use.push(thing);
            }
        }
        Ok(pruned)
    }

    /// Removes the things of these names.
    ///
    /// # Errors
    /// A name that the cache does not have, before anything is removed; a thing that a process uses.
    pub fn remove(&self, names: &[String]) -> Result<Vec<Thing>> {
        let things = self.things()?;
        let wanted: BTreeSet<_> = names.iter().collect();
        let found: Vec<_> = things.into_iter().filter(|thing| wanted.contains(&thing.name)).collect();
        if let Some(missing) = names.iter().find(|name| !found.iter().any(|thing| thing.name == **name)) {
            bail!("found no {missing:?} in the cache\nhint: quiclab cache lists what there is");
        }
        for thing in &found {
            if !self.take_away(thing, false)? {
                bail!("{}: a process uses it\nhint: wait until its runs are over", thing.name);
            }
        }
        Ok(found)
    }

    /// Removes a thing. False where a process uses it.
    fn take_away(&self, thing: &Thing, dry_run: bool) -> Result<bool> {
        let Some(_lock) = self.lock_of(thing)? else { return Ok(false) };
        if dry_run {
            return Ok(true);
        }
        // Out of its place at once: who looks for it finds all of it or nothing.
        let scratch = self.scratch("")?;
        match fs::rename(&thing.path, scratch.path().join("removed")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            renamed => renamed.with_context(|| thing.path.display().to_string())?,
        }
        let besides = match thing.name.starts_with("build/") {
            true => ["log", "from"].map(|ending| sibling(&thing.path, ending)),
            false => ["json", "lock"].map(|ending| self.sibling_of(&thing.name, ending)),
        };
        for path in besides {
            let _ = fs::remove_file(path);
        }
        Ok(true)
    }

    fn lock_of(&self, thing: &Thing) -> Result<Option<File>> {
        if !thing.name.starts_with("build/") {
            return self.try_own(&thing.name);
        }
        let path = sibling(&thing.path, "lock");
        let lock = File::options().create(true).append(true).open(&path).with_context(|| path.display().to_string())?;
        Ok(lock.try_lock().is_ok().then_some(lock))
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

/// What a folder takes of the disk. What cannot be looked at does not count.
fn disk_bytes(folder: &Path) -> u64 {
    let own = fs::symlink_metadata(folder).map_or(0, |facts| facts.blocks() * 512);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => disk_bytes(&entry.path()),
        Ok(facts) => facts.blocks() * 512,
        Err(_) => 0,
    };
    own + entries.map(of).sum::<u64>()
}

#[cfg(test)]
mod tests;
