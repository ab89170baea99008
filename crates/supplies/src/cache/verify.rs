//! Makes sure that cached things are what they were when they were made.
//!
//! Reading some hundred megabytes costs every run a few tenths of a second. So a thing whose hashes were right is not read again as long as
//! the kernel says that its files have not changed (length, inode, and the times of the last change, which no program can set back), the
//! machine has not restarted, and a day has not passed: what a failing disk does on its own shows in no such fact.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread::{self, JoinHandle},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use super::{Cache, former, sizes::wrong_sizes, sums};

/// How long hashes are believed without reading the files again.
const BELIEVED_SECONDS: i64 = 24 * 3600;
/// Changes within one tick of the clock of file systems have one time. A file that changed this shortly before it was read is read again.
const SETTLED_SECONDS: i64 = 2;

/// How carefully a thing is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Files that have not changed since they were read are not read again.
    Default,
    /// Every file is read.
    Thorough,
}

/// What was found when the files of a thing were read last.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// Identity of the machine's start.
    boot: String,
    /// When, s since the Unix epoch.
    at_seconds: i64,
    /// The files by their names in the list, with their hashes.
    files: BTreeMap<String, (sums::Facts, String)>,
}

/// A thing that is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is damaged: {problem}\nhint: {hint}", path.display())]
pub struct Damage {
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
    /// How to fix it.
    pub hint: String,
}

impl Cache {
    /// Makes sure that the thing in `folder` of this cache is as it was made.
    ///
    /// # Errors
    /// [`Damage`], or where it cannot be read.
    pub fn verify(&self, folder: &Path, care: Care) -> Result<()> {
        let damage = |problem| anyhow!(self.damage(folder, problem));
        if let Some(problem) = wrong_sizes(folder)? {
            return Err(damage(problem));
        }
        let now = seconds_now();
        let files = sums::files(folder)?;
        let stamp_path = self.name_of(folder).map(|name| self.sibling_of(&name, "json"));
        let stamp = stamp_path.as_ref().and_then(|path| read_stamp(path));
        let facts = files.iter().map(|(path, facts)| (sums::escaped(path), facts.clone())).collect::<BTreeMap<_, _>>();
        if care == Care::Default && stamp.as_ref().is_some_and(|stamp| stamp.holds_for(&facts, now)) {
            return Ok(());
        }
        let found = sums::of_folder(folder)?;
        // An earlier version of quiclab kept hashes of file systems alone: of all else, what was first read counts.
        let expected = match (sums::read(folder)?, stamp) {
            (Some(expected), _) => Some(expected),
            (None, Some(stamp)) => Some(stamp.into_sums()),
            (None, None) => {
                if let Some(problem) = former::problem(folder)? {
                    return Err(damage(problem));
                }
                None
            }
        };
        if let Some(problem) = expected.and_then(|expected| difference(&expected, &found)) {
            return Err(damage(problem));
        }
        // What changed while it was read is read again the next time.
        let is_same = sums::files(folder)? == files;
        if let Some(path) = stamp_path.filter(|_| is_same) {
            let files = facts.into_iter().zip(found);
            let files = files.map(|((name, facts), (_, (sum, _)))| (name, (facts, sum))).collect();
            // A cache on a disk that cannot be written is read each time.
            let _ = write_stamp(&path, &Stamp { boot: boot(), at_seconds: now, files });
        }
        Ok(())
    }

    /// Compares the file system in `folder` with the hash that the thing has of it, which goes into the identities of runs: whoever makes an
    /// archive writes both.
    ///
    /// # Errors
    /// Where they differ, or cannot be read.
    pub fn check_file_system(folder: &Path) -> Result<()> {
        former::problem(folder)?.map_or(Ok(()), |problem| Err(anyhow!(problem)))
    }

    /// [`Cache::verify`] for several things, beside what the caller does. Things that another run of this process looks at are waited for and not
    /// read twice.
    pub fn verify_aside(&self, folders: Vec<PathBuf>) -> Verifying {
        let outcome = Arc::new(OnceLock::new());
        let (cache, written) = (self.clone(), outcome.clone());
        let thread = thread::spawn(move || {
            let verified = folders.iter().try_for_each(|folder| {
                let turn = cache.turn(folder);
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                cache.verify(folder, Care::Default)
            });
            let _ = written.set(verified.map_err(|error| match error.downcast::<Damage>() {
                Ok(damage) => Failure::Damage(damage),
                Err(error) => Failure::Other(format!("{error:#}")),
            }));
        });
        Verifying { outcome, thread: Some(thread) }
    }

    /// Whoever looks at a thing holds this.
    fn turn(&self, folder: &Path) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(folder.to_path_buf()).or_default().clone()
    }

    pub(super) fn damage(&self, folder: &Path, problem: String) -> Damage {
        Damage { path: folder.to_path_buf(), problem, hint: self.remedy(folder) }
    }

    /// How to get a thing anew.
    fn remedy(&self, folder: &Path) -> String {
        match self.name_of(folder) {
            Some(name) if name.starts_with("imported/") => {
                format!("quiclab cache remove {name}, and quiclab stacks import it again")
            }
            Some(name) => format!("quiclab cache remove {}; it will be made again", crate::shell::quoted(&name)),
            None => format!("remove {} and make it again", folder.display()),
        }
    }
}

/// Things that are being looked at.
#[derive(Debug)]
pub struct Verifying {
    outcome: Arc<OnceLock<Result<(), Failure>>>,
    thread: Option<JoinHandle<()>>,
}

/// Errors can be told once, and this one is asked for more often.
#[derive(Clone, Debug)]
enum Failure {
    Damage(Damage),
    Other(String),
}

impl Failure {
    fn error(&self) -> anyhow::Error {
        match self {
            Self::Damage(damage) => anyhow!(damage.clone()),
            Self::Other(text) => anyhow!(text.clone()),
        }
    }
}

impl Verifying {
    /// Fails where damage has been found already. Does not wait.
    ///
    /// # Errors
    /// [`Damage`], or why something could not be read.
    pub fn so_far(&self) -> Result<()> {
        match self.outcome.get() {
            Some(Err(failure)) => Err(failure.error()),
            _ => Ok(()),
        }
    }

    /// Waits until everything was looked at.
    ///
    /// # Errors
    /// As [`Verifying::so_far`].
    pub fn finish(mut self) -> Result<()> {
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| anyhow!("the thread that reads the cache panicked"))?;
        }
        self.so_far()
    }
}

impl Stamp {
    fn holds_for(&self, files: &BTreeMap<String, sums::Facts>, now: i64) -> bool {
        let age = now - self.at_seconds;
        (0..BELIEVED_SECONDS).contains(&age)
            && self.boot == boot()
            && self.files.len() == files.len()
            && self.files.iter().all(|(name, (facts, _))| {
                files.get(name) == Some(facts) && facts.changed_seconds() + SETTLED_SECONDS <= self.at_seconds
            })
    }

    fn into_sums(self) -> sums::Sums {
        self.files.into_iter().map(|(name, (facts, sum))| (name, (sum, facts.bytes()))).collect()
    }
}

/// The first difference, in words.
fn difference(expected: &sums::Sums, found: &sums::Sums) -> Option<String> {
    let names = expected.keys().chain(found.keys());
    names.into_iter().find_map(|name| match (expected.get(name), found.get(name)) {
        (Some(expected), Some(found)) if expected == found => None,
        (Some((expected, _)), Some((found, _))) if expected != found => {
            Some(format!("{name}: found SHA-256 {found}, expected {expected}"))
        }
        (Some((_, expected)), Some((_, found))) => Some(format!("{name}: found {found} bytes, expected {expected}")),
        (Some(_), None) => Some(format!("{name}: missing")),
        (None, _) => Some(format!("{name}: found a file that was not there when it was made")),
    })
}

fn read_stamp(path: &Path) -> Option<Stamp> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write_stamp(path: &Path, stamp: &Stamp) -> Result<()> {
    let parent = path.parent().context("a stamp is in a folder")?;
    fs::create_dir_all(parent)?;
    // Others may share the cache.
    let readable = fs::Permissions::from_mode(0o644);
    let file = tempfile::Builder::new().permissions(readable).tempfile_in(parent)?;
    serde_json::to_writer(file.as_file(), stamp)?;
    file.persist(path)?;
    Ok(())
}

/// Identity of this start of the machine.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn seconds_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() as i64)
}

#[cfg(test)]
mod tests;
