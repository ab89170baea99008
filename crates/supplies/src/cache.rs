//! What is made once and used by many runs: kernel, guest image, stack builds, saved states.
//!
//! A thing is made aside and renamed into place, so that a half-made one is never found; a lock keeps two processes
//! from making the same thing, another one from removing what a process uses. Sizes and hashes of its files are kept beside them: sizes are
//! compared whenever it is looked for, hashes by [`Cache::verify`].

mod carried;
mod former;
mod holds;
mod origin;
mod orphans;
mod prune;
mod scratch;
mod sizes;
mod sums;
mod verify;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, anyhow, bail};
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde::Serialize;

use self::sizes::{CONTENTS, contents, wrong_sizes};
use crate::process::wait_for;
pub use carried::CarriedFile;
pub use origin::{Archive, Origin, is_kept_by_the_cache};
pub use prune::{Pruned, Thing};
pub use scratch::Scratch;
pub use sums::TREE;
pub use verify::{Care, Damage, Verifying};

/// Folder of imported stacks below the cache's.
pub const IMPORTED: &str = "imported";

/// The folder of all cached things. Clones share what they know of it.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Things that this process uses, locked as long as they are here.
    held: Arc<Mutex<BTreeMap<String, File>>>,
    /// A lock for each folder, held by who reads the thing in it.
    turns: Arc<Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>>>,
    /// Whether what is not there is an error.
    makes_nothing: Arc<AtomicBool>,
    /// Ends the waiting for what another process makes.
    stop: Arc<OnceLock<Arc<AtomicBool>>>,
    /// Is told of archives from which something is used.
    say: Arc<OnceLock<fn(&str)>>,
    /// Archives that it was told of.
    told: Arc<Mutex<BTreeSet<Archive>>>,
}

/// A thing that this process uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Its name, such as `stack/quiche-0123456789abcdef`.
    pub name: String,
    /// SHA-256 of the list of its files' hashes, which is the file `sums` in it.
    pub sha256: String,
}

impl Cache {
    /// The cache in `folder`.
    pub fn at(folder: PathBuf) -> Self {
        Self {
            folder,
            held: Arc::default(),
            turns: Arc::default(),
            makes_nothing: Arc::default(),
            stop: Arc::default(),
            say: Arc::default(),
            told: Arc::default(),
        }
    }

    /// `$QUICLAB_CACHE`, else `$XDG_CACHE_HOME/quiclab`, else `~/.cache/quiclab`.
    ///
    /// # Errors
    /// Where none of the three variables is set.
    pub fn from_environment() -> Result<Self> {
        let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("QUICLAB_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("quiclab")))
            .or_else(|| set("HOME").map(|folder| folder.join(".cache/quiclab")))
            .context(
                "no cache folder: found none of QUICLAB_CACHE, XDG_CACHE_HOME, HOME\nhint: export QUICLAB_CACHE=DIR",
            )?;
        Ok(Self::at(folder))
    }

    /// Where `name` is or would be.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The name of the thing in a folder of this cache; `None` of any other folder.
    pub fn name_of(&self, folder: &Path) -> Option<String> {
        Some(folder.strip_prefix(&self.folder).ok()?.to_str()?.to_owned()).filter(|name| !name.is_empty())
    }

    /// Ends the waiting for what another process makes, from now on, where `stop` is set. The first flag stays.
    pub fn heed(&self, stop: &Arc<AtomicBool>) {
        let _ = self.stop.set(stop.clone());
    }

    /// Makes what is not there an error from now on: nothing is built, fetched, or booted to save its state.
    pub fn forbid_making(&self) {
        self.makes_nothing.store(true, Ordering::Relaxed);
    }

    /// The things that this process has used so far and that have hashes, in order of name.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn used(&self) -> Result<Vec<Used>> {
        let names: Vec<String> = self.held.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let with_hashes = names.into_iter().map(|name| (self.path(&name).join(sums::SUMS), name));
        with_hashes
            .filter(|(list, _)| list.is_file())
            .map(|(list, name)| Ok(Used { name, sha256: sums::of_file(&list)? }))
            .collect()
    }

    fn may_make(&self, name: &str) -> Result<()> {
        if self.makes_nothing.load(Ordering::Relaxed) {
            bail!(
                "{}: found no {name}, expected it there because of --no-build\nhint: without --no-build it is made",
                self.folder.display()
            );
        }
        Ok(())
    }

    /// The folder `name`; `make` fills it, in a folder of another name, where it is not there yet.
    ///
    /// # Errors
    /// Those of `make`, or of the file system, or where a cached thing is damaged.
    pub fn folder(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let path = self.path(name);
        self.hold(name)?;
        if path.is_dir() {
            self.tell_origin(name);
            return self.check(&path).map(|()| path);
        }
        self.may_make(name)?;
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        let _lock = self.lock(name)?;
        if path.is_dir() {
            self.tell_origin(name);
            return self.check(&path).map(|()| path);
        }
        let (parent, _) = name.rsplit_once('/').unwrap_or_default();
        let aside = self.scratch(parent)?;
        make(aside.path())?;
        list(aside.path())?;
        fs::rename(aside.path(), &path).with_context(|| path.display().to_string())?;
        // Nothing is left to remove under the old name.
        aside.keep();
        Ok(path)
    }

    /// The folder `name`, made anew by `make` unless what is there `is_current`; the old one is there until the new one is.
    /// True where it was made.
    ///
    /// # Errors
    /// Those of `make`, or of the file system.
    pub fn replace(
        &self,
        name: &str,
        is_current: impl FnOnce(&Path) -> bool,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<bool> {
        let path = self.path(name);
        let parent = path.parent().context("a cached thing has a folder")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        self.hold(name)?;
        let _lock = self.lock(name)?;
        if path.is_dir() && self.check(&path).is_ok() && is_current(&path) {
            self.tell_origin(name);
            return Ok(false);
        }
        self.may_make(name)?;
        // Not beside it: whoever lists the folder would find it half made.
        let outside = self.scratch("")?;
        let aside = outside.path().join("made");
        fs::create_dir(&aside)?;
        make(&aside)?;
        list(&aside)?;
        if path.exists() {
            renameat2(AT_FDCWD, &aside, AT_FDCWD, &path, RenameFlags::RENAME_EXCHANGE)
                .with_context(|| path.display().to_string())?;
        } else {
            fs::rename(&aside, &path).with_context(|| path.display().to_string())?;
        }
        Ok(true)
    }

    fn lock(&self, name: &str) -> Result<File> {
        let path = self.folder.join(format!(".lock-{}", name.replace('/', "-")));
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        match self.stop.get() {
            Some(stop) => wait_for(&file, stop),
            None => file.lock().map_err(Into::into),
        }
        .with_context(|| path.display().to_string())?;
        Ok(file)
    }

    /// Compares the sizes of a thing's files.
    fn check(&self, folder: &Path) -> Result<()> {
        match wrong_sizes(folder)? {
            None => Ok(()),
            Some(problem) => Err(anyhow!(self.damage(folder, problem))),
        }
    }
}

/// Notes the hashes and sizes of a thing's files.
fn list(folder: &Path) -> Result<()> {
    sums::write(folder)?;
    fs::write(folder.join(CONTENTS), contents(folder)?).context(CONTENTS)
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread, time::Duration};

    use super::*;
    use crate::process::Interrupted;

    #[test]
    fn a_thing_is_made_once_and_a_failed_attempt_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        assert!(cache.folder("kernel/6.1", |_| anyhow::bail!("no")).is_err());
        assert!(!cache.path("kernel/6.1").exists());
        for _ in 0..2 {
            let made = cache.folder("kernel/6.1", |aside| Ok(fs::write(aside.join("vmlinuz"), "x")?)).unwrap();
            assert_eq!(fs::read_to_string(made.join("vmlinuz")).unwrap(), "x");
        }
        let unused = cache.folder("kernel/6.1", |_| panic!("made twice"));
        assert!(unused.is_ok());
        let left: Vec<_> =
            fs::read_dir(cache.path("kernel")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["6.1"]);
    }

    #[test]
    fn waiting_for_what_another_process_makes_ends_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || Cache::at(folder.path().to_path_buf());
        let made = Barrier::new(2);
        let (stop, waiting) = (Arc::new(AtomicBool::new(false)), cache());
        waiting.heed(&stop);
        thread::scope(|scope| {
            scope.spawn(|| {
                cache().folder("stack/a", |_| {
                    made.wait();
                    made.wait();
                    Ok(())
                })
            });
            made.wait();
            let other = scope.spawn(|| waiting.folder("stack/a", |_| panic!("it is being made")));
            thread::sleep(Duration::from_millis(200));
            let has_waited = !other.is_finished();
            stop.store(true, Ordering::Relaxed);
            let ended = other.join();
            made.wait();
            assert!(has_waited);
            let error = ended.unwrap().unwrap_err();
            assert!(error.downcast_ref::<Interrupted>().is_some(), "{error:#}");
        });
        assert!(cache().path("stack/a").is_dir());
    }

    #[test]
    fn what_is_used_is_listed_and_nothing_is_made_where_that_is_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let make = |text: &'static str| move |aside: &Path| Ok(fs::write(aside.join("file"), text)?);
        let maker = Cache::at(folder.path().to_path_buf());
        for (name, text) in [("stack/a", "one"), ("stack/b", "two"), ("kernel/6.1", "one")] {
            maker.folder(name, make(text)).unwrap();
        }
        let user = Cache::at(folder.path().to_path_buf());
        user.forbid_making();
        user.folder("stack/b", |_| unreachable!()).unwrap();
        user.clone().folder("stack/a", |_| unreachable!()).unwrap();
        let used = user.used().unwrap();
        assert_eq!(used.iter().map(|thing| &thing.name[..]).collect::<Vec<_>>(), ["stack/a", "stack/b"]);
        assert_ne!(used[0].sha256, used[1].sha256);
        // The same files have the same hash, whatever the thing is called.
        assert_eq!(maker.used().unwrap()[0].sha256, used[0].sha256);
        for error in [
            user.folder("stack/c", |_| unreachable!()).unwrap_err(),
            user.replace("stack/c", |_| true, |_| unreachable!()).unwrap_err(),
        ] {
            assert!(error.to_string().contains("found no stack/c"), "{error}");
        }
        assert!(!user.path("stack/c").exists());
    }

    #[test]
    fn a_thing_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let text = || fs::read_to_string(cache.path("imported/x/text")).unwrap();
        let write = |text: &'static str| move |aside: &Path| Ok(fs::write(aside.join("text"), text)?);
        assert!(cache.replace("imported/x", |_| unreachable!(), write("one")).unwrap());
        assert!(!cache.replace("imported/x", |_| true, |_| unreachable!()).unwrap());
        assert!(cache.replace("imported/x", |_| false, |_| anyhow::bail!("no")).is_err());
        assert_eq!(text(), "one");
        assert!(cache.replace("imported/x", |_| false, write("two")).unwrap());
        assert_eq!(text(), "two");
        // A damaged one is made again.
        fs::write(cache.path("imported/x/text"), "longer").unwrap();
        assert!(cache.replace("imported/x", |_| true, write("three")).unwrap());
        assert_eq!(fs::read_dir(cache.path("imported")).unwrap().count(), 1);
        let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".new-");
        assert_eq!(fs::read_dir(folder.path()).unwrap().flatten().filter(hidden).count(), 0);
    }

    #[test]
    fn a_damaged_thing_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let made = cache.folder("image", |aside| Ok(fs::write(aside.join("root.erofs"), "whole")?)).unwrap();
        fs::write(made.join("root.erofs"), "who").unwrap();
        let error = cache.folder("image", |_| panic!("made twice")).unwrap_err().to_string();
        assert!(error.contains("is damaged") && error.contains("hint: quiclab cache remove image;"), "{error}");
    }
}
