//! The archive that an image is saved as: a tar, plain or compressed, whose members are found by name.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read, Seek},
    os::unix::fs::FileExt,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_wire::Decompressed;

use super::members::{self, Kind};

/// Most bytes of an archive, and of what it decompresses to: layers of the largest tree, and what tar adds to them.
const LARGEST_ARCHIVE: u64 = 8 << 30;
/// Longest document of an image.
const LONGEST_DOCUMENT: u64 = 4 << 20;
const MOST_MEMBERS: usize = 100_000;
/// Links to links, as `docker save` once wrote them for layers that two images share.
const MOST_HOPS: usize = 8;

/// An opened archive.
pub struct Archive {
    file: File,
    members: BTreeMap<PathBuf, Place>,
}

enum Place {
    Here { offset: u64, length: u64 },
    At(PathBuf),
}

/// The contents of a member.
pub struct Contents<'a> {
    file: &'a File,
    offset: u64,
    left: u64,
}

impl Archive {
    /// Opens the archive at `path`; one that is compressed is decompressed to `aside`.
    ///
    /// # Errors
    /// Where it is no archive, or is cut off.
    pub fn open(path: &Path, aside: &Path) -> Result<Self> {
        if path.is_dir() {
            bail!(
                "found a folder, expected an archive\nhint: tar -C {} -cf ARCHIVE . makes one of an OCI layout",
                path.display()
            );
        }
        let mut file = quiclab_inputs::open_regular(path)?;
        let mut magic = [0; 4];
        let _ = file.read_at(&mut magic, 0)?;
        if magic.starts_with(&[0x1f, 0x8b]) || magic == [0x28, 0xb5, 0x2f, 0xfd] {
            file = decompress(file, aside)?;
        }
        let length = file.metadata()?.len();
        if length > LARGEST_ARCHIVE {
            bail!("found {length} bytes, expected at most {LARGEST_ARCHIVE}");
        }
        let mut found = BTreeMap::new();
        members::for_each(BufReader::with_capacity(1 << 20, &file), &mut |member| {
            if found.len() >= MOST_MEMBERS {
                bail!("found more than {MOST_MEMBERS} members, expected fewer in an image");
            }
            let path = plain(Path::new(&*String::from_utf8_lossy(&member.path)));
            let place = match member.kind {
                Kind::File if member.offset.checked_add(member.size).is_some_and(|end| end <= length) => {
                    Place::Here { offset: member.offset, length: member.size }
                }
                Kind::File => bail!("{}: the archive is truncated in the middle of it", path.display()),
                Kind::Symlink(target) => {
                    let target = String::from_utf8_lossy(&target).into_owned();
                    Place::At(plain(&path.parent().unwrap_or(Path::new("")).join(target)))
                }
                Kind::HardLink(target) => Place::At(plain(Path::new(&*String::from_utf8_lossy(&target)))),
                Kind::Folder | Kind::Special => return Ok(()),
            };
            found.insert(path, place);
            Ok(())
        })
        .context("expected a tar archive, plain, gzip or zstd")?;
        Ok(Self { file, members: found })
    }

    /// True where there is a member `name`.
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(Path::new(name))
    }

    /// The contents of the member `name`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn contents(&self, name: &str) -> Result<Contents<'_>> {
        let mut path = plain(Path::new(name));
        for _ in 0..MOST_HOPS {
            match self.members.get(&path) {
                Some(Place::Here { offset, length }) => {
                    return Ok(Contents { file: &self.file, offset: *offset, left: *length });
                }
                Some(Place::At(other)) => path = other.clone(),
                None => break,
            }
        }
        bail!(
            "{name}: missing in the archive, but its image needs it\nhint: the archive may be truncated or \
             incomplete; save it again"
        )
    }

    /// The document `name`.
    ///
    /// # Errors
    /// Where there is none, or it is too long to be one.
    pub fn document(&self, name: &str) -> Result<Vec<u8>> {
        let mut contents = self.contents(name)?;
        if contents.left > LONGEST_DOCUMENT {
            bail!("{name}: found {} bytes, expected at most {LONGEST_DOCUMENT}", contents.left);
        }
        let mut bytes = Vec::new();
        contents.read_to_end(&mut bytes).with_context(|| name.to_owned())?;
        Ok(bytes)
    }
}

impl Read for Contents<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.file.read_at(&mut buffer[..most], self.offset)?;
        self.offset += count as u64;
        self.left -= count as u64;
        Ok(count)
    }
}

/// Names are only compared, never opened: what leads out of the archive finds nothing.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    plain
}

fn decompress(file: File, aside: &Path) -> Result<File> {
    let mut out = File::options().read(true).write(true).create_new(true).open(aside).context("decompressing")?;
    let input = Decompressed::detect(BufReader::with_capacity(1 << 18, file)).context("decompressing")?;
    let mut input = input.take(LARGEST_ARCHIVE + 1);
    io::copy(&mut input, &mut out).context("decompressing\nhint: the archive may be truncated; save it again")?;
    out.rewind()?;
    Ok(out)
}
