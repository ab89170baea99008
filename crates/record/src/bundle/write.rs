//! Writes bundles.

use std::{
    collections::BTreeMap,
    io::{Read, Seek, Write},
};

use sha2::{Digest, Sha256};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use crate::bundle::{SUMS, error::BundleError, name::check_name};

/// How hard files are compressed: zlib's usual level.
const LEVEL: i64 = 6;
/// Longest file without zip64's sizes of 64 bits. Less than 4 GiB, because compressed data can be a little longer than the file.
const LARGE: u64 = 0xF000_0000;
/// What is read at once.
const CHUNK: usize = 1 << 17;

/// Who may do what with a file: its mode in the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// 0644.
    Plain,
    /// 0755.
    Program,
}

/// A bundle that is being written.
pub struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
    folder: String,
    sums: BTreeMap<String, String>,
}

impl<W: Write + Seek> Writer<W> {
    /// An empty bundle whose files are below `folder`, a single name.
    ///
    /// # Errors
    /// Where it cannot be the name of a folder.
    pub fn new(writer: W, folder: &str) -> Result<Self, BundleError> {
        check_name(folder)?;
        if folder.contains('/') {
            return Err(BundleError::refused(folder, "several folders", "one"));
        }
        Ok(Self { zip: ZipWriter::new(writer), folder: folder.to_owned(), sums: BTreeMap::new() })
    }

    /// Adds a text or other bytes as the file `name`.
    ///
    /// # Errors
    /// As [`Writer::add`].
    pub fn add_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), BundleError> {
        self.add(name, Mode::Plain, bytes.len() as u64, bytes)
    }

    /// Adds what `reader` yields as the file `name`; `length` is how much that is, in bytes.
    ///
    /// # Errors
    /// A name that [`check_name`] refuses or that is there already, another length, a reader or a disk that fails.
    pub fn add(&mut self, name: &str, mode: Mode, length: u64, mut reader: impl Read) -> Result<(), BundleError> {
        let name = self.entry_name(name)?;
        self.start(&name, mode, length)?;
        let (mut hasher, mut buffer, mut found) = (Sha256::new(), vec![0; CHUNK], 0);
        loop {
            let count = match reader.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                count => count.map_err(BundleError::file(&name))?,
            };
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            self.zip.write_all(&buffer[..count]).map_err(BundleError::file(&name))?;
            found += count as u64;
        }
        if found != length {
            return Err(BundleError::refused(&name, format!("{found} bytes"), format!("{length}, as it had before")));
        }
        self.sums.insert(name, hex(hasher));
        Ok(())
    }

    /// Writes the list of hashes and the archive's directory. Gives the writer, and the files in it but for the list.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn finish(mut self) -> Result<(W, usize), BundleError> {
        let inside = |name: &str| name[self.folder.len() + 1..].to_owned();
        let text: String = self.sums.iter().map(|(name, sum)| format!("{sum}  {}\n", inside(name))).collect();
        let name = format!("{}/{SUMS}", self.folder);
        self.start(&name, Mode::Plain, text.len() as u64)?;
        self.zip.write_all(text.as_bytes()).map_err(BundleError::file(&name))?;
        let count = self.sums.len();
        Ok((self.zip.finish().map_err(BundleError::zip("the archive's directory"))?, count))
    }

    fn entry_name(&self, name: &str) -> Result<String, BundleError> {
        let whole = format!("{}/{name}", self.folder);
        check_name(&whole)?;
        if self.sums.contains_key(&whole) || name == SUMS {
            return Err(BundleError::refused(&whole, "a second file of that name", "one of each name"));
        }
        Ok(whole)
    }

    fn start(&mut self, name: &str, mode: Mode, length: u64) -> Result<(), BundleError> {
        let permissions = match mode {
            Mode::Plain => 0o644,
            Mode::Program => 0o755,
        };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .last_modified_time(DateTime::default())
            .unix_permissions(permissions)
            .large_file(length > LARGE);
        self.zip.start_file(name, options).map_err(BundleError::zip(name))
    }
}

pub(crate) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
