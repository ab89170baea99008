//! Reads bundles that come from strangers.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use sha2::{Digest, Sha256};
use zip::{CompressionMethod, ZipArchive};

use crate::bundle::{SUMS, error::BundleError, name::check_name, write::hex};

/// What is read at once.
const CHUNK: usize = 1 << 16;
/// Bits of a mode that say what a file is, and a plain one (stat(2)).
const KIND: u32 = 0o170_000;
const PLAIN: u32 = 0o100_000;
/// Anybody may run it.
const PROGRAM: u32 = 0o111;
/// Deflate makes at most 1032 bytes of one (RFC 1951: 258 bytes for two bits).
const MOST_FOR_A_BYTE: u64 = 1032;

/// How much a bundle may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Files in it.
    pub files: usize,
    /// Bytes of all its files together, decompressed.
    pub bytes: u64,
    /// Bytes of the list of hashes, and of any file that is read as a whole.
    pub text_bytes: u64,
    /// Bytes of all its files for each byte of the archive. What records and programs have in them is rarely compressed to less than a
    /// twentieth.
    pub expansion: u64,
    /// Bytes of all its files that are fine however few bytes the archive has.
    pub harmless_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { files: 2_000_000, bytes: 1 << 42, text_bytes: 512 << 20, expansion: 100, harmless_bytes: 256 << 20 }
    }
}

/// A bundle that was opened.
///
/// These are refused: archives that are cut; two files of one name, or that share bytes; names that [`check_name`] refuses, or outside of one
/// folder; links, folders, devices; encryption, methods other than store and deflate; more or longer files than the [`Limits`]; files that the
/// list does not have, and those of the list that are missing. A file whose length in the archive's directory is wrong is damaged: no more
/// than that length is ever decompressed.
pub struct Bundle<R> {
    zip: ZipArchive<R>,
    limits: Limits,
    folder: String,
    files: BTreeMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    index: usize,
    bytes: u64,
    is_program: bool,
    sha256: String,
}

impl<R: Read + Seek> Bundle<R> {
    /// Reads the archive's directory and the list of hashes, not the files.
    ///
    /// # Errors
    /// What is refused, and damaged archives.
    pub fn open(mut reader: R, limits: Limits) -> Result<Self, BundleError> {
        let length = reader.seek(SeekFrom::End(0)).map_err(BundleError::file("the archive"))?;
        let mut zip = ZipArchive::new(reader).map_err(BundleError::Archive)?;
        if zip.len() > limits.files {
            let most = format!("at most {}", limits.files);
            return Err(BundleError::refused("the archive", format!("{} files", zip.len()), most));
        }
        if zip.has_duplicate_names() {
            return Err(BundleError::refused("the archive", "two files of one name", "one of each name"));
        }
        if zip.has_overlapping_entries().map_err(BundleError::Archive)? {
            return Err(BundleError::refused("the archive", "files that share bytes", "bytes of their own for each"));
        }
        let (mut files, mut bytes) = (BTreeMap::new(), 0_u64);
        for index in 0..zip.len() {
            let (name, entry) = entry(&mut zip, index)?;
            bytes = bytes.saturating_add(entry.bytes);
            files.insert(name, entry);
        }
        let expanded = length.saturating_mul(limits.expansion.min(MOST_FOR_A_BYTE)).max(limits.harmless_bytes);
        let most = limits.bytes.min(expanded);
        if bytes > most {
            return Err(BundleError::refused(
                "the archive",
                format!("{bytes} bytes of files"),
                format!("at most {most}"),
            ));
        }
        let folder = only_folder(&files)?;
        let files = files.into_iter().map(|(name, entry)| (name[folder.len() + 1..].to_owned(), entry)).collect();
        let mut bundle = Self { zip, limits, folder, files };
        bundle.read_sums()?;
        Ok(bundle)
    }

    /// The folder that all files are in.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Names of the files below [`Bundle::folder`] in order, with their lengths in bytes and SHA-256 in hexadecimal; the list itself is not
    /// among them.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64, &str)> {
        self.files.iter().map(|(name, entry)| (name.as_str(), entry.bytes, entry.sha256.as_str()))
    }

    /// Reads every file and compares its hash with the list's. `each` is called after each file with its length.
    ///
    /// Returns what is wrong, in order of name; at most `most` files.
    pub fn check(&mut self, most: usize, mut each: impl FnMut(u64)) -> Vec<BundleError> {
        let names: Vec<_> = self.files.iter().map(|(name, entry)| (name.clone(), entry.bytes)).collect();
        let mut wrong = Vec::new();
        for (name, bytes) in names {
            if let Err(error) = self.copy(&name, &mut std::io::sink()) {
                wrong.push(error);
            }
            if wrong.len() >= most {
                break;
            }
            each(bytes);
        }
        wrong
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// One that is not there, is longer than [`Limits::text_bytes`], or does not have its hash.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>, BundleError> {
        let entry = self.files.get(name).ok_or_else(|| self.missing(name))?;
        if entry.bytes > self.limits.text_bytes {
            let most = format!("at most {}", self.limits.text_bytes);
            return Err(BundleError::refused(&self.whole(name), format!("{} bytes", entry.bytes), most));
        }
        let mut bytes = Vec::new();
        self.copy(name, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the files whose names begin with `prefix` below the folder `to`, without that prefix. Files that are there already are not
    /// overwritten. Long runs of zeros become holes.
    ///
    /// # Errors
    /// One that does not have its hash, and a folder that cannot be written.
    pub fn extract(&mut self, prefix: &str, to: &Path) -> Result<usize, BundleError> {
        let names: Vec<_> = self.files.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        for name in &names {
            let path = to.join(&name[prefix.len()..]);
            let place = path.display().to_string();
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(BundleError::file(&place))?;
            }
            let mode = if self.files[name].is_program { 0o755 } else { 0o644 };
            let file = File::options().write(true).create_new(true).mode(mode).open(&path);
            let mut sparse = Sparse { file: file.map_err(BundleError::file(&place))?, length: 0 };
            self.copy(name, &mut sparse)?;
            sparse.finish().map_err(BundleError::file(&place))?;
        }
        Ok(names.len())
    }

    /// Decompresses a file into `to`, and compares length and hash.
    fn copy(&mut self, name: &str, to: &mut impl Write) -> Result<(), BundleError> {
        let place = self.whole(name);
        let entry = self.files.get(name).ok_or_else(|| self.missing(name))?;
        let (found, bytes) = hash_into(&mut self.zip, entry, &place, to)?;
        if bytes != entry.bytes {
            return Err(BundleError::refused(&place, format!("{bytes} bytes"), entry.bytes.to_string()));
        }
        if found != entry.sha256 {
            return Err(BundleError::Changed { place, found, expected: entry.sha256.clone() });
        }
        Ok(())
    }

    /// Takes the list out of the files, and what it says into each.
    fn read_sums(&mut self) -> Result<(), BundleError> {
        let place = self.whole(SUMS);
        let list = self.files.remove(SUMS).ok_or_else(|| {
            BundleError::refused(&place, "no such file", "the list of hashes that quiclab writes last")
        })?;
        if list.bytes > self.limits.text_bytes {
            let most = format!("at most {}", self.limits.text_bytes);
            return Err(BundleError::refused(&place, format!("{} bytes", list.bytes), most));
        }
        let mut text = Vec::new();
        hash_into(&mut self.zip, &list, &place, &mut text)?;
        let text = String::from_utf8(text)
            .map_err(|_| BundleError::refused(&place, "bytes that are no UTF-8", "lines of text"))?;
        for (number, line) in text.lines().enumerate() {
            let place = format!("{place}, line {}", number + 1);
            let (sum, name) = line.split_once("  ").filter(|(sum, _)| is_sum(sum)).ok_or_else(|| {
                BundleError::refused(&place, "something else", "64 hexadecimal digits, two spaces and a name")
            })?;
            let Some(entry) = self.files.get_mut(name) else {
                let shown = name.escape_debug();
                return Err(BundleError::refused(
                    &place,
                    format!("{shown}, which is missing"),
                    "a file of the archive",
                ));
            };
            if !entry.sha256.is_empty() {
                return Err(BundleError::refused(&place, format!("{name} again"), "each file once"));
            }
            sum.clone_into(&mut entry.sha256);
        }
        match self.files.iter().find(|(_, entry)| entry.sha256.is_empty()) {
            Some((name, _)) => {
                Err(BundleError::refused(&self.whole(name), format!("no line in {SUMS}"), "its hash there"))
            }
            None => Ok(()),
        }
    }

    fn missing(&self, name: &str) -> BundleError {
        BundleError::refused(&self.whole(name), "no such file", "one, as in a bundle that quiclab writes")
    }

    fn whole(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

/// What the archive's directory says of a file.
fn entry<R: Read + Seek>(zip: &mut ZipArchive<R>, index: usize) -> Result<(String, Entry), BundleError> {
    let number = format!("file {}", index + 1);
    let file = zip.by_index_raw(index).map_err(BundleError::zip(&number))?;
    let name = std::str::from_utf8(file.name_raw())
        .map_err(|_| BundleError::refused(&number, "a name that is no UTF-8", "text"))?
        .to_owned();
    if file.is_dir() {
        return Err(BundleError::refused(&name.escape_debug().to_string(), "a folder", "files only"));
    }
    check_name(&name)?;
    let mode = file.unix_mode().unwrap_or(PLAIN);
    if file.is_symlink() || !matches!(mode & KIND, 0 | PLAIN) {
        return Err(BundleError::refused(&name, format!("a link or a device (mode {mode:o})"), "plain files only"));
    }
    if file.encrypted() {
        return Err(BundleError::refused(&name, "an encrypted file", "one that is not"));
    }
    if !matches!(file.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        let found = format!("the method {}", file.compression());
        return Err(BundleError::refused(&name, found, "store or deflate"));
    }
    let entry = Entry { index, bytes: file.size(), is_program: mode & PROGRAM != 0, sha256: String::new() };
    Ok((name, entry))
}

/// The folder that all files are in.
fn only_folder(files: &BTreeMap<String, Entry>) -> Result<String, BundleError> {
    let folder = |name: &str| name.split_once('/').map(|(folder, _)| folder.to_owned());
    let first = files.keys().next().ok_or_else(|| BundleError::refused("the archive", "no file", "a bundle"))?;
    let one =
        folder(first).ok_or_else(|| BundleError::refused(first, "a file in no folder", "all files in one folder"))?;
    match files.keys().find(|name| folder(name).as_ref() != Some(&one)) {
        Some(other) => {
            Err(BundleError::refused(other, "a file outside of it", format!("all files in the folder {one}")))
        }
        None => Ok(one),
    }
}

fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Decompresses an entry, but not more than one byte beyond its length. Gives the hash and the length.
fn hash_into<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
    entry: &Entry,
    place: &str,
    to: &mut impl Write,
) -> Result<(String, u64), BundleError> {
    let file = zip.by_index(entry.index).map_err(BundleError::zip(place))?;
    let mut file = file.take(entry.bytes.saturating_add(1));
    let (mut hasher, mut buffer, mut bytes) = (Sha256::new(), vec![0; CHUNK], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hex(hasher), bytes)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                to.write_all(&buffer[..count]).map_err(BundleError::file(place))?;
                bytes += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(BundleError::damaged(place)(error)),
        }
    }
}

/// A file in which chunks of zeros are holes.
struct Sparse {
    file: File,
    length: u64,
}

impl Sparse {
    fn finish(self) -> std::io::Result<()> {
        self.file.set_len(self.length)
    }
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.length += bytes.len() as u64;
        if bytes.iter().all(|byte| *byte == 0) {
            self.file.seek(SeekFrom::Start(self.length))?;
        } else {
            self.file.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
