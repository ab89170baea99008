//! The folder in which a command is killed, and what is in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File, TryLockError},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

use quiclab_record::{Contents, layout::CONTENTS_FILE};
use sha2::{Digest, Sha256};

use crate::common::quiclab;

/// Things of the cache that are made by slow downloads, and that no test changes: links to those of the other tests.
const SHARED: [&str; 4] = ["kernel", "image", "build", "program"];

/// What is known of runs that failed, until they succeed.
const FAILURES: &str = "out/made/failed";

/// A folder with a cache, a folder for temporary files, and one for what a command makes.
pub struct Place {
    folder: tempfile::TempDir,
    /// Hidden files of the cache before anything was killed.
    hidden: BTreeSet<String>,
    /// What the command makes where nobody kills it: paths below [`Place::out`] and in the cache, with hashes; `None` of what varies.
    whole: BTreeMap<String, Option<String>>,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(&format!("quiclab-kills-{name}-")).tempdir().unwrap();
        for name in ["tmp", "out", "cache", "input"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let set = |name| env::var_os(name).map(PathBuf::from);
        let shared = set("QUICLAB_CACHE").or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("quiclab")));
        let shared = shared.unwrap_or_else(|| set("HOME").unwrap().join(".cache/quiclab"));
        for name in SHARED.into_iter().filter(|name| shared.join(name).is_dir()) {
            symlink(shared.join(name), folder.path().join("cache").join(name)).unwrap();
        }
        Self { folder, hidden: BTreeSet::new(), whole: BTreeMap::new() }
    }

    /// Text in the command line of every process that works here.
    pub fn mark(&self) -> String {
        self.folder.path().display().to_string()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the command writes.
    pub fn out(&self) -> PathBuf {
        self.path("out/made")
    }

    /// `quiclab`, with this place's cache and temporary folder.
    pub fn quiclab(&self, words: &[&str]) -> Command {
        let mut command = quiclab();
        command.args(words).env("QUICLAB_CACHE", self.path("cache")).env("TMPDIR", self.path("tmp"));
        command.current_dir(self.folder.path());
        command
    }

    /// What the cache has before.
    pub fn note_before(&mut self) {
        self.hidden = hidden(&self.path("cache"));
    }

    /// What is there now is what the command makes. `varies`: ends of names of files that differ from one time to the next.
    pub fn note_whole(&mut self, varies: &[&str]) {
        let varies = |name: &str| varies.iter().any(|end| name.ends_with(end)) || name.ends_with(CONTENTS_FILE);
        let found = self.finished();
        assert!(!found.is_empty(), "the command makes nothing");
        self.whole =
            found.into_iter().map(|(name, hash)| (name.clone(), Some(hash).filter(|_| !varies(&name)))).collect();
        self.hidden.extend(hidden(&self.path("cache")).into_iter().filter(|name| !name.contains(".making-")));
    }

    /// Removes what the command has made.
    pub fn clear(&self) {
        for folder in ["out", "cache/imported", "cache/stack", "cache/own"] {
            let _ = fs::remove_dir_all(self.path(folder));
        }
        fs::create_dir_all(self.path("out")).unwrap();
    }

    /// What is there under its final name, with hashes.
    pub fn finished(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for folder in ["out", "input/results", "cache/imported", "cache/stack"] {
            list(&self.path(folder), folder, &mut found);
        }
        found
    }

    /// Everything under its final name is what it is to be, and nothing is gone.
    pub fn check_whole(&self, before: &BTreeMap<String, String>) {
        self.check_whole_except(&[], before);
    }

    /// The same, where some files say what has failed.
    pub fn check_whole_except(&self, tells: &[&str], before: &BTreeMap<String, String>) {
        let tells = |name: &str| tells.iter().any(|file| name.ends_with(file));
        let now = self.finished();
        for (name, hash) in before {
            let varies = self.whole.get(name).is_none_or(Option::is_none);
            // The three files of a trace are never of two traces: the earlier ones are removed before the new ones get their names.
            let is_replaced = name.ends_with(".parquet") && !now.contains_key(name);
            let is_kept = now.get(name).is_some_and(|now| varies || now == hash);
            assert!(is_kept || is_replaced, "{name} was finished, and was lost or changed");
        }
        for (name, hash) in &now {
            match self.whole.get(name) {
                Some(Some(whole)) => assert!(whole == hash || tells(name), "{name} is not what the command makes"),
                Some(None) => {}
                None => panic!("{name} is there, and the command makes no such file"),
            }
        }
        // A record has all of its files, or is not there.
        for name in now.keys().filter_map(|name| name.strip_suffix("/run.toml")) {
            let changes = Contents::changes(&self.path(name)).unwrap();
            assert!(changes.is_empty(), "{changes:?}");
            assert!(now.contains_key(&format!("{name}/{CONTENTS_FILE}")), "{name} is half a record");
        }
    }

    /// What the command has not made.
    pub fn missing(&self) -> Vec<String> {
        let now = self.finished();
        self.whole.keys().filter(|name| !now.contains_key(*name)).cloned().collect()
    }

    /// Unfinished and temporary files, held locks, and mounts.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found: Vec<_> = hidden(&self.path("out")).into_iter().chain(hidden(&self.path("input"))).collect();
        let failures = fs::read_dir(self.path(FAILURES)).into_iter().flatten().flatten();
        found.extend(failures.map(|entry| entry.path().display().to_string()));
        // Locks are files that stay; what counts is whether somebody has them.
        for name in hidden(&self.path("cache")).difference(&self.hidden) {
            let path = self.path("cache").join(name);
            let is_lock = path.is_file() && path.metadata().unwrap().len() == 0;
            if !is_lock || matches!(File::open(&path).unwrap().try_lock(), Err(TryLockError::WouldBlock)) {
                found.push(path.display().to_string());
            }
        }
        let temporary =
            fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path().display().to_string());
        found.extend(temporary);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        found.extend(mounts.lines().filter(|line| line.contains(&self.mark())).map(str::to_owned));
        found
    }
}

/// Hidden files and folders below a folder, and those that are named as unfinished.
fn hidden(folder: &Path) -> BTreeSet<String> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || name.ends_with(".partial") {
                found.insert(entry.path().strip_prefix(root).unwrap().display().to_string());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                walk(root, &entry.path(), found);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(folder, folder, &mut found);
    found
}

fn list(folder: &Path, name: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let below = entry.file_name().to_string_lossy().into_owned();
        if below.starts_with('.') || below.ends_with(".partial") {
            continue;
        }
        let name = format!("{name}/{below}");
        if name.ends_with(FAILURES) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &name, found);
        } else {
            let hash = digest(&entry.path()).unwrap_or_default();
            found.insert(name, hash);
        }
    }
}

/// A hash of a file's length and of its blocks that are not empty. Images for virtual machines have gigabytes of holes, which are not read.
fn digest(path: &Path) -> io::Result<String> {
    const BLOCK: usize = 4096;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut hash = Sha256::new_with_prefix(length.to_le_bytes());
    let mut bytes = vec![0; 256 * BLOCK];
    let mut next = Some(0);
    while let Some(start) = next.take().filter(|start| *start < length) {
        let Some(data) = seek(&file, start, libc::SEEK_DATA)? else { break };
        let end = seek(&file, data, libc::SEEK_HOLE)?.unwrap_or(length);
        let mut place = data - data % BLOCK as u64;
        while place < end {
            let count = file.read_at(&mut bytes, place)?;
            for (index, block) in
                bytes[..count].chunks(BLOCK).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0))
            {
                hash.update((place + (index * BLOCK) as u64).to_le_bytes());
                hash.update(block);
            }
            if count == 0 {
                break;
            }
            place += count as u64;
        }
        next = Some(place.max(end));
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The next place with data, or the next hole; `None` behind the last one.
fn seek(file: &File, from: u64, what: i32) -> io::Result<Option<u64>> {
    // SAFETY: a system call on a live file.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from as i64, what) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}
