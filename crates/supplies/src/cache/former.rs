//! Things of earlier versions of quiclab, which noted the hash of a file system before they made its file longer, and no other hash.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::FileExt,
    path::Path,
};

use anyhow::{Context, Result};

use crate::hash;

/// Where the hash is.
const DIGEST: &str = "sha256";
/// Files it can be of.
const FILES: [&str; 2] = ["root.erofs", "stack.erofs"];
/// Where the superblock of erofs is (`erofs_fs.h`): its magic number, and in it the binary logarithm of the length of a block and the
/// number of blocks.
const SUPERBLOCK: u64 = 1024;
const MAGIC: u32 = 0xe0f5_e1e2;
const BLOCK_BITS: usize = 12;
const BLOCKS: usize = 36;

/// What is wrong with the file system of such a thing, if anything is.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn problem(folder: &Path) -> Result<Option<String>> {
    let Ok(expected) = fs::read_to_string(folder.join(DIGEST)) else { return Ok(None) };
    for name in FILES {
        let path = folder.join(name);
        let place = || path.display().to_string();
        let Ok(file) = File::open(&path) else { continue };
        let Some(length) = length(&file) else {
            return Ok(Some(format!("{name}: found no erofs file system, expected one")));
        };
        let found = hash::of_reader(&mut file.take(length)).with_context(place)?;
        if found != expected.trim() {
            return Ok(Some(format!("{name}: found SHA-256 {found}, expected {}", expected.trim())));
        }
    }
    Ok(None)
}

/// Bytes of the file system in a file.
fn length(file: &File) -> Option<u64> {
    let mut superblock = [0; 128];
    file.read_exact_at(&mut superblock, SUPERBLOCK).ok()?;
    let word = |at: usize| Some(u32::from_le_bytes(superblock.get(at..at + 4)?.try_into().ok()?));
    (word(0)? == MAGIC).then_some(())?;
    u64::from(word(BLOCKS)?).checked_shl(u32::from(superblock[BLOCK_BITS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_file_system_covers_its_blocks_and_not_what_its_file_was_made_longer_by() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![7; 8192];
        bytes[1024..1028].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[1024 + BLOCK_BITS] = 12;
        bytes[1024 + BLOCKS..1024 + BLOCKS + 4].copy_from_slice(&2_u32.to_le_bytes());
        let path = folder.path().join("stack.erofs");
        let write = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        };
        write(&bytes);
        assert_eq!(problem(folder.path()).unwrap(), None, "there is no hash");
        fs::write(folder.path().join(DIGEST), hash::of_reader(&mut &bytes[..]).unwrap()).unwrap();
        assert_eq!(problem(folder.path()).unwrap(), None);
        bytes[8191] = 8;
        write(&bytes);
        assert!(problem(folder.path()).unwrap().unwrap().starts_with("stack.erofs: found SHA-256 "));
        write(b"short");
        assert!(problem(folder.path()).unwrap().unwrap().contains("no erofs file system"));
    }
}
