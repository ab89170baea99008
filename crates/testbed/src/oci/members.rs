//! The members of a tar stream, with bounds on what is kept in memory.

use std::io::Read;

use anyhow::{Context, Result, bail};
use tar::EntryType;

/// Longest name or set of extended attributes that is read. Linux has no path longer than 4 KiB.
const LONGEST_NAME: u64 = 64 << 10;
const LONGEST_EXTENSIONS: u64 = 1 << 20;

/// A member of a tar stream.
pub struct Member<'a> {
    /// Its path as it stands there: not to be trusted.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// Permission bits, with set-user-ID and the like.
    pub mode: u32,
    /// Bytes of its contents.
    pub size: u64,
    /// Where its contents are in the stream.
    pub offset: u64,
    /// Its contents.
    pub contents: &'a mut dyn Read,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file with contents of its own.
    File,
    /// A folder.
    Folder,
    /// A symbolic link to this path.
    Symlink(Vec<u8>),
    /// Another name of the member with this path.
    HardLink(Vec<u8>),
    /// A device or a pipe.
    Special,
}

/// Names that come before the member they belong to.
#[derive(Default)]
struct Announced {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

/// Calls `visit` with each member in turn.
///
/// # Errors
/// A stream that is no tar or ends in the middle, and those of `visit`.
pub fn for_each(reader: impl Read, visit: &mut dyn FnMut(Member) -> Result<()>) -> Result<()> {
    let mut archive = tar::Archive::new(reader);
    let mut announced = Announced::default();
    // Raw, because the names that members announce would be read into memory however long they are.
    for entry in archive.entries().context("reading tar")?.raw(true) {
        let mut entry = entry.context("reading tar")?;
        let offset = entry.raw_file_position();
        let header = entry.header().clone();
        let size = header.entry_size().context("reading tar")?;
        match header.entry_type() {
            EntryType::GNULongName => announced.path = Some(name(&mut entry, size)?),
            EntryType::GNULongLink => announced.link = Some(name(&mut entry, size)?),
            EntryType::XHeader => {
                let bytes = read(&mut entry, size, LONGEST_EXTENSIONS)?;
                extensions(&bytes, &mut announced)?;
            }
            EntryType::XGlobalHeader => {}
            other => {
                let Announced { path, link } = std::mem::take(&mut announced);
                let path = path.unwrap_or_else(|| header.path_bytes().into_owned());
                let link = link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
                let kind = kind(other, &path, link)?;
                let mode = header.mode().unwrap_or(0o644) & 0o7777;
                visit(Member { path, kind, mode, size, offset, contents: &mut entry })?;
            }
        }
    }
    Ok(())
}

fn kind(entry: EntryType, path: &[u8], link: Option<Vec<u8>>) -> Result<Kind> {
    let shown = String::from_utf8_lossy(path);
    let target = || link.filter(|link| !link.is_empty()).with_context(|| format!("{shown}: a link to nothing"));
    Ok(match entry {
        // Before POSIX, a folder was a file whose name ends so.
        EntryType::Regular | EntryType::Continuous if path.ends_with(b"/") => Kind::Folder,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Folder,
        EntryType::Symlink => Kind::Symlink(target()?),
        EntryType::Link => Kind::HardLink(target()?),
        EntryType::Char | EntryType::Block | EntryType::Fifo => Kind::Special,
        other => bail!("{shown}: found type {:?}, expected a file, a folder or a link", other.as_byte() as char),
    })
}

fn name(reader: &mut impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = read(reader, size, LONGEST_NAME)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    Ok(bytes)
}

fn extensions(bytes: &[u8], announced: &mut Announced) -> Result<()> {
    for extension in tar::PaxExtensions::new(bytes) {
        let extension = extension.context("extended header of tar")?;
        match extension.key_bytes() {
            b"path" => announced.path = Some(extension.value_bytes().to_vec()),
            b"linkpath" => announced.link = Some(extension.value_bytes().to_vec()),
            // What does not fit into the plain header is larger than anything that is taken here.
            b"size" => bail!(
                "found a member of {} bytes, expected at most 8 GiB",
                String::from_utf8_lossy(extension.value_bytes())
            ),
            key if key.starts_with(b"GNU.sparse.") => bail!("found a sparse file, expected none"),
            _ => {}
        }
    }
    Ok(())
}

fn read(reader: &mut impl Read, size: u64, most: u64) -> Result<Vec<u8>> {
    if size > most {
        bail!("reading tar: found a name of {size} bytes, expected at most {most}");
    }
    let mut bytes = Vec::new();
    reader.take(size).read_to_end(&mut bytes).context("reading tar")?;
    if bytes.len() as u64 != size {
        bail!("reading tar: found {} bytes of a name of {size}: the archive is truncated", bytes.len());
    }
    Ok(bytes)
}
