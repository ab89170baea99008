//! Archives of prepared things: a machine that has QEMU and no compilers takes kernel, guest images and stacks from one.
//!
//! An archive is a [bundle](quiclab_record::bundle), so every file has its hash, and its own name has the hash of its bytes. Things are named by what
//! they are made of, which nothing proves: whoever takes an archive trusts its maker as much as one who installs a program of theirs. So each
//! thing keeps a note of the archive that it was taken from, which is shown where the thing is used.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, BufWriter, Read, Seek, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_inputs::open_regular;
use quiclab_record::bundle::{Bundle, Limits, Mode, Writer};
use quiclab_testbed::{
    cache::{Archive, Cache, Origin, is_kept_by_the_cache},
    hash,
    stack_store::installed_archives,
};
use quiclab_units::ShowPath;
use serde::{Deserialize, Serialize};

use crate::terminal::progress;

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
/// The length of all files together, which are mostly holes.
const MOST_BYTES_OF_ALL: u64 = 64 * MOST_BYTES;
/// What an archive may hold. Programs and file systems shrink to a third or so, seldom to a twentieth; all stacks together take 2 GB.
const LIMITS: Limits =
    Limits { files: 100_000, bytes: 32 << 30, text_bytes: 16 << 20, expansion: 40, harmless_bytes: 64 << 20 };
/// Things in the cache whose hash of a file system goes into the identities of runs.
const FILE_SYSTEMS: [&str; 2] = ["image/", "stack/"];
/// Archives before this one, for each thing.
const MOST_EARLIER: usize = 64;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    schema: u32,
    quiclab: String,
    /// Files of each thing with their lengths, by its name. What an archive has of a file may be shorter: the rest is zeros.
    things: BTreeMap<String, BTreeMap<String, u64>>,
    /// Archives of things that the maker of this one took from another: that one and those before it, the latest first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    earlier: BTreeMap<String, Vec<Archive>>,
}

/// The result of taking an archive into the cache.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// Path of the archive.
    pub path: PathBuf,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Number of its things that the cache did not have.
    pub taken: usize,
    /// Number of all its things.
    pub all: usize,
}

/// Packs the things that this process has used into `folder`. Returns the archive, and the SHA-256 of its bytes.
///
/// # Errors
/// A damaged thing, a folder that cannot be written.
pub fn pack(cache: &Cache, folder: &Path) -> Result<(PathBuf, String)> {
    let used: Vec<_> = cache.used()?.into_iter().map(|used| used.name).collect();
    let names: Vec<_> = used.into_iter().filter(|name| KINDS.iter().any(|kind| name.starts_with(kind))).collect();
    fs::create_dir_all(folder).with_context(|| folder.shown())?;
    let aside = tempfile::Builder::new().prefix(".quiclab-prepared-").tempfile_in(folder);
    let mut writer = Writer::new(BufWriter::new(aside.with_context(|| folder.shown())?), "quiclab-prepared")?;
    let mut list = List {
        schema: SCHEMA,
        quiclab: env!("CARGO_PKG_VERSION").to_owned(),
        things: BTreeMap::new(),
        earlier: BTreeMap::new(),
    };
    for name in names {
        let files = cache.carried(&name)?;
        for file in &files {
            let opened = open_regular(&file.path).with_context(|| file.path.shown())?;
            let is_program = opened.metadata()?.permissions().mode() & 0o111 != 0;
            let mode = if is_program { Mode::Program } else { Mode::Plain };
            let inside = format!("things/{name}/{}", file.name);
            writer.add(&inside, mode, file.data_bytes, opened.take(file.data_bytes))?;
        }
        if let Some(origin) = cache.origin(&name) {
            list.earlier.insert(name.clone(), origin.archives());
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
    Ok((path, digest))
}

/// Takes the things of the archive at `path`, or of all archives in that folder, that the cache does not have yet. With `sha256`, an archive that
/// has another hash is refused before anything of it is read.
///
/// # Errors
/// No archive, one whose bytes are not those of its name or of `sha256`, one that is refused.
pub fn take(cache: &Cache, path: &Path, sha256: Option<&str>) -> Result<Vec<Taken>> {
    let is_folder = path.is_dir();
    if is_folder && sha256.is_some() {
        bail!("--sha256 is the hash of one archive, and --from {} is a folder", path.shown());
    }
    let archives = if is_folder { archives(path)? } else { vec![path.to_path_buf()] };
    archives.into_iter().map(|archive| take_one(cache, &archive, sha256).with_context(|| archive.shown())).collect()
}

/// Takes from the archives that an installed quiclab brings what the cache does not have yet.
///
/// # Errors
/// As [`take`].
pub fn take_installed(cache: &Cache) -> Result<()> {
    take_missing(cache, &installed_archives())
}

/// Takes what the cache does not have. Of archives of which it has everything, only the list is read.
fn take_missing(cache: &Cache, archives: &[PathBuf]) -> Result<()> {
    for archive in archives.iter().filter(|path| digits(path).is_some()) {
        let list = (|| read_list(&mut open(open_regular(archive)?)?))().with_context(|| archive.shown())?;
        if !list.things.keys().all(|name| cache.path(name).is_dir()) {
            progress::say(&format!("unpacking {} (once)", archive.shown()));
            take_one(cache, archive, None).with_context(|| archive.shown())?;
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
            "{}: found no {START}HASH{END}, expected at least one\nhint: quiclab tools prepare --to makes one",
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

fn take_one(cache: &Cache, archive: &Path, sha256: Option<&str>) -> Result<Taken> {
    let mut file = open_regular(archive)?;
    // Of the file that is then read, whatever is renamed to its place meanwhile.
    let found = hash::of_reader(&mut file)?;
    file.rewind()?;
    if let Some(expected) = sha256.filter(|expected| !found.eq_ignore_ascii_case(expected)) {
        bail!(
            "found SHA-256 {found}, expected {expected} as --sha256 says; nothing of it was taken\nhint: ask whoever made the archive for its \
             hash"
        );
    }
    if let Some(expected) = digits(archive).filter(|expected| !found.starts_with(expected)) {
        bail!("found SHA-256 {found}, expected {expected}… as its name says\nhint: fetch it again");
    }
    let mut bundle = open(file)?;
    let list = read_list(&mut bundle)?;
    // All of it before anything is unpacked.
    list.check(&bundle)?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let from = Archive { archive: name, sha256: found.clone() };
    let mut taken = 0;
    for (name, files) in &list.things {
        let mut is_new = false;
        cache.folder(name, |folder| {
            is_new = true;
            bundle.extract(&format!("things/{name}/"), folder)?;
            lengthen(folder, files)?;
            if FILE_SYSTEMS.iter().any(|kind| name.starts_with(kind)) {
                Cache::check_file_system(folder).context(name.clone())?;
            }
            Origin::now(from.clone(), list.earlier.get(name).cloned().unwrap_or_default()).write(folder)
        })?;
        taken += usize::from(is_new);
    }
    Ok(Taken { path: archive.to_path_buf(), sha256: found, taken, all: list.things.len() })
}

fn open(file: File) -> Result<Bundle<BufReader<File>>> {
    Ok(Bundle::open(BufReader::new(file), LIMITS)?)
}

fn read_list(bundle: &mut Bundle<BufReader<File>>) -> Result<List> {
    let list: List = serde_json::from_slice(&bundle.read(LIST)?).context(LIST)?;
    if list.schema > SCHEMA {
        bail!("{LIST}: found schema {}, expected at most {SCHEMA}\nhint: use a newer version of quiclab", list.schema);
    }
    Ok(list)
}

impl List {
    /// Refuses what does not belong into a cache. The archive has the files of the list and no others.
    fn check<R: Read + Seek>(&self, bundle: &Bundle<R>) -> Result<()> {
        let mut bytes = 0_u64;
        for (name, files) in &self.things {
            check(name, files)?;
            bytes = files.values().fold(bytes, |sum, bytes| sum.saturating_add(*bytes));
        }
        if bytes > MOST_BYTES_OF_ALL {
            bail!("{LIST}: found {bytes} bytes of files, expected at most {MOST_BYTES_OF_ALL}");
        }
        let is_listed = |file: &str| {
            let mut parts = file.strip_prefix("things/").unwrap_or_default().splitn(3, '/');
            let (kind, thing, rest) = (parts.next(), parts.next(), parts.next());
            let thing = kind.zip(thing).map(|(kind, thing)| format!("{kind}/{thing}"));
            thing
                .and_then(|thing| self.things.get(&thing))
                .zip(rest)
                .is_some_and(|(files, rest)| files.contains_key(rest))
        };
        if let Some((file, ..)) = bundle.files().find(|(file, ..)| *file != LIST && !is_listed(file)) {
            bail!("{}: found a file that {LIST} does not list, expected none", file.escape_debug());
        }
        for (name, earlier) in &self.earlier {
            if !self.things.contains_key(name)
                || earlier.len() > MOST_EARLIER
                || !earlier.iter().all(Archive::is_plausible)
            {
                bail!(
                    "{LIST}: earlier: {}: found no list of archives, expected the names and SHA-256 of at most {MOST_EARLIER}, of a thing in \
                     this one",
                    name.escape_debug()
                );
            }
        }
        Ok(())
    }
}

/// Names of things are folders of the cache, so a strange one is refused.
fn check(name: &str, files: &BTreeMap<String, u64>) -> Result<()> {
    quiclab_record::bundle::check_name(name)?;
    if name.matches('/').count() != 1 || name.contains("/.") || !KINDS.iter().any(|kind| name.starts_with(kind)) {
        bail!("{LIST}: things: found {name:?}, expected names that begin with one of {}", KINDS.join(", "));
    }
    for (file, bytes) in files {
        quiclab_record::bundle::check_name(file)?;
        if is_kept_by_the_cache(file) {
            bail!("{LIST}: {name}/{file}: found a name that the cache writes itself, expected another one");
        }
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
mod tests;
