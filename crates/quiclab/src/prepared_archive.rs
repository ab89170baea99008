//! Archives of prepared things: a machine that has QEMU and no compilers takes kernel, guest images and stacks from one.
//!
//! An archive is a [bundle](quiclab_bundle), so every file has its hash, and its own name has the hash of its bytes. Things are named by what
//! they are made of. Who takes one trusts its maker as much as one who installs a program of theirs.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_bundle::{Bundle, Limits, Mode, Writer};
use quiclab_inputs::open_regular;
use quiclab_testbed::{cache::Cache, hash, supplies::installed_archives};
use quiclab_units::ShowPath;
use serde::{Deserialize, Serialize};

use crate::progress;

/// The list of what is in it.
const LIST: &str = "prepared.json";
const SCHEMA: u32 = 1;
/// Start and end of an archive's name; between them are the first digits of its SHA-256.
const START: &str = "quiclab-prepared-";
const END: &str = ".zip";
const DIGITS: usize = 16;
/// Kinds of things that are taken along. Saved states belong to a version of QEMU, and object files to a compiler.
const KINDS: [&str; 4] = ["image/", "kernel/", "program/", "stack/"];
/// The longest file of a thing: a root file system with its device.
const MOST_BYTES: u64 = 8 << 30;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    schema: u32,
    quiclab: String,
    /// By the name of each thing, its files with their lengths. What an archive has of a file may be shorter: the rest is zeros.
    things: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Packs the things that this process has used into `folder`. Returns the archive.
///
/// # Errors
/// A damaged thing, a folder that cannot be written.
pub fn pack(cache: &Cache, folder: &Path) -> Result<PathBuf> {
    let used: Vec<_> = cache.used()?.into_iter().map(|used| used.name).collect();
    let names: Vec<_> = used.into_iter().filter(|name| KINDS.iter().any(|kind| name.starts_with(kind))).collect();
    fs::create_dir_all(folder).with_context(|| folder.shown())?;
    let aside = tempfile::Builder::new().prefix(".quiclab-prepared-").tempfile_in(folder);
    let mut writer = Writer::new(BufWriter::new(aside.with_context(|| folder.shown())?), "quiclab-prepared")?;
    let mut list = List { schema: SCHEMA, quiclab: env!("CARGO_PKG_VERSION").to_owned(), things: BTreeMap::new() };
    for name in names {
        let files = cache.carried(&name)?;
        for file in &files {
            let opened = File::open(&file.path).with_context(|| file.path.shown())?;
            let is_program = opened.metadata()?.permissions().mode() & 0o111 != 0;
            let mode = if is_program { Mode::Program } else { Mode::Plain };
            let inside = format!("things/{name}/{}", file.name);
            writer.add(&inside, mode, file.data_bytes, opened.take(file.data_bytes))?;
        }
        list.things.insert(name, files.into_iter().map(|file| (file.name, file.bytes)).collect());
    }
    writer.add_bytes(LIST, (serde_json::to_string_pretty(&list)? + "\n").as_bytes())?;
    let (mut buffer, _) = writer.finish()?;
    buffer.flush().with_context(|| folder.shown())?;
    let file = buffer.into_inner().map_err(|error| error.into_error()).with_context(|| folder.shown())?;
    let _ = file.as_file().set_permissions(fs::Permissions::from_mode(0o644));
    let digest = hash::of_file(file.path()).with_context(|| file.path().shown())?;
    let path = folder.join(format!("{START}{}{END}", &digest[..DIGITS]));
    file.persist(&path).map_err(|error| error.error).with_context(|| path.shown())?;
    Ok(path)
}

/// Takes the things of the archive at `path`, or of all archives in that folder, that the cache does not have yet. Returns how many it took, and
/// how many there are.
///
/// # Errors
/// No archive, one whose bytes are not those of its name, one that is refused.
pub fn take(cache: &Cache, path: &Path) -> Result<(usize, usize)> {
    let archives = if path.is_dir() { archives(path)? } else { vec![path.to_path_buf()] };
    let (mut taken, mut all) = (0, 0);
    for archive in archives {
        let (some, of) = take_one(cache, &archive).with_context(|| archive.shown())?;
        taken += some;
        all += of;
    }
    Ok((taken, all))
}

/// Takes from the archives that an installed quiclab brings what the cache does not have yet.
///
/// # Errors
/// As [`take`].
pub fn take_installed(cache: &Cache) -> Result<()> {
    take_missing(cache, &installed_archives())
}

/// Of archives of which the cache has everything, only the list is read.
fn take_missing(cache: &Cache, archives: &[PathBuf]) -> Result<()> {
    for archive in archives.iter().filter(|path| digits(path).is_some()) {
        let list = (|| read_list(&mut open(archive)?))().with_context(|| archive.shown())?;
        if !list.things.keys().all(|name| cache.path(name).is_dir()) {
            progress::say(&format!("unpacking {} (once)", archive.shown()));
            take_one(cache, archive).with_context(|| archive.shown())?;
        }
    }
    Ok(())
}

fn archives(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.shown())?.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = entries.filter(|path| digits(path).is_some()).collect();
    found.sort();
    if found.is_empty() {
        bail!(
            "{}: found no {START}HASH{END}, expected at least one\nhint: quiclab prepare --to makes one",
            folder.shown()
        );
    }
    Ok(found)
}

/// The digits of a hash in the name of an archive.
fn digits(path: &Path) -> Option<&str> {
    let digits = path.file_name()?.to_str()?.strip_prefix(START)?.strip_suffix(END)?;
    (digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

fn take_one(cache: &Cache, archive: &Path) -> Result<(usize, usize)> {
    if let Some(expected) = digits(archive) {
        let found = hash::of_file(archive)?;
        if !found.starts_with(expected) {
            bail!("found SHA-256 {found}, expected {expected}… as its name says\nhint: fetch it again");
        }
    }
    let mut bundle = open(archive)?;
    let list = read_list(&mut bundle)?;
    let mut taken = 0;
    for (name, files) in &list.things {
        check(name, files)?;
        let mut is_new = false;
        cache.folder(name, |folder| {
            is_new = true;
            bundle.extract(&format!("things/{name}/"), folder)?;
            lengthen(folder, files)
        })?;
        taken += usize::from(is_new);
    }
    Ok((taken, list.things.len()))
}

fn open(archive: &Path) -> Result<Bundle<BufReader<File>>> {
    Ok(Bundle::open(BufReader::new(open_regular(archive)?), Limits::default())?)
}

fn read_list(bundle: &mut Bundle<BufReader<File>>) -> Result<List> {
    let list: List = serde_json::from_slice(&bundle.read(LIST)?).context(LIST)?;
    if list.schema > SCHEMA {
        bail!("{LIST}: found schema {}, expected at most {SCHEMA}\nhint: use a newer version of quiclab", list.schema);
    }
    Ok(list)
}

/// Names of things are folders of the cache, so a strange one is refused.
fn check(name: &str, files: &BTreeMap<String, u64>) -> Result<()> {
    quiclab_bundle::check_name(name)?;
    if name.matches('/').count() != 1 || name.contains("/.") || !KINDS.iter().any(|kind| name.starts_with(kind)) {
        bail!("{LIST}: things: found {name:?}, expected names that begin with one of {}", KINDS.join(", "));
    }
    for (file, bytes) in files {
        quiclab_bundle::check_name(file)?;
        if *bytes > MOST_BYTES {
            bail!("{LIST}: {name}/{file}: found {bytes} bytes, expected at most {MOST_BYTES}");
        }
    }
    Ok(())
}

/// Gives files the zeros at their ends back.
fn lengthen(folder: &Path, files: &BTreeMap<String, u64>) -> Result<()> {
    for (name, bytes) in files {
        let path = folder.join(name);
        let file = File::options().write(true).open(&path).with_context(|| path.shown())?;
        let found = file.metadata()?.len();
        if found > *bytes {
            bail!("{LIST}: {name}: found {bytes} bytes, expected at least the {found} that the archive has");
        }
        file.set_len(*bytes).with_context(|| path.shown())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path) -> Cache {
        let cache = Cache::at(folder.to_path_buf());
        for (name, text) in [("kernel/6.1-a", "kernel"), ("stack/x-b", "stack"), ("state/c", "state")] {
            let make = |aside: &Path| {
                fs::write(aside.join("file"), text)?;
                Ok(File::options().write(true).open(aside.join("file"))?.set_len(1 << 20)?)
            };
            cache.folder(name, make).unwrap();
        }
        cache
    }

    #[test]
    fn what_one_machine_has_made_another_one_takes_and_has_the_same() {
        let [one, other, out] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let archive = pack(&cache(one.path()), out.path()).unwrap();
        assert_eq!(pack(&cache(one.path()), out.path()).unwrap(), archive, "the bytes are the same");
        assert!(fs::metadata(&archive).unwrap().len() < 4000);
        let there = Cache::at(other.path().to_path_buf());
        assert_eq!(take(&there, out.path()).unwrap(), (2, 2));
        assert_eq!(take(&there, &archive).unwrap(), (0, 2));
        for name in ["kernel/6.1-a/file", "stack/x-b/file", "stack/x-b/sums", "stack/x-b/contents"] {
            let [left, right] = [one.path(), other.path()].map(|folder| fs::read(folder.join(name)).unwrap());
            assert!(left == right, "{name}");
        }
        assert!(!other.path().join("state").exists());
    }

    #[test]
    fn what_an_installed_quiclab_brings_is_unpacked_once() {
        let [one, other, out] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let archive = pack(&cache(one.path()), out.path()).unwrap();
        let there = Cache::at(other.path().to_path_buf());
        take_missing(&there, &[out.path().join("another file"), archive.clone()]).unwrap();
        assert_eq!(fs::metadata(other.path().join("kernel/6.1-a/file")).unwrap().len(), 1 << 20);
        // Its bytes are not looked at again: they could be anything behind the list.
        let changed = out.path().join(format!("{START}0123456789abcdef{END}"));
        fs::rename(&archive, &changed).unwrap();
        take_missing(&there, std::slice::from_ref(&changed)).unwrap();
        fs::remove_dir_all(other.path().join("stack/x-b")).unwrap();
        assert!(take_missing(&there, &[changed]).is_err());
    }

    #[test]
    fn an_archive_that_is_not_what_its_name_says_is_refused() {
        let [one, other, out] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let archive = pack(&cache(one.path()), out.path()).unwrap();
        let wrong = out.path().join(format!("{START}0123456789abcdef{END}"));
        fs::rename(&archive, &wrong).unwrap();
        let error = format!("{:#}", take(&Cache::at(other.path().to_path_buf()), &wrong).unwrap_err());
        assert!(error.contains("expected 0123456789abcdef"), "{error}");
        assert!(take(&Cache::at(other.path().to_path_buf()), one.path()).is_err());
    }

    #[test]
    fn names_of_things_that_lead_elsewhere_are_refused() {
        for name in ["../x", "stack/../x", "state/x", "stack/x/y", "stack/.x", "stack"] {
            assert!(check(name, &BTreeMap::new()).is_err(), "{name}");
        }
        check("stack/x", &BTreeMap::from([("a/b".to_owned(), MOST_BYTES)])).unwrap();
        assert!(check("stack/x", &BTreeMap::from([("a".to_owned(), MOST_BYTES + 1)])).is_err());
        assert!(check("stack/x", &BTreeMap::from([("../a".to_owned(), 1)])).is_err());
    }
}
