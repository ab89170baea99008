//! A layer, put over those below it.
//!
//! <https://github.com/opencontainers/image-spec/blob/v1.1.0/layer.md>

use std::{
    io::{self, BufReader, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result, bail};
use quiclab_wire::Decompressed;

use super::{
    archive::Archive,
    config::Layer,
    members::{self, Kind, Member},
    tree::Tree,
};
use crate::{hash, image::LARGEST_ROOT_BYTES, perform::Interrupted};

/// Most members of all layers together.
const MOST_MEMBERS: u64 = 1_000_000;
/// What tar adds to each member, at most, where names are not of extraordinary length.
const TAR_OVERHEAD: u64 = 4096;
const WHITEOUT: &[u8] = b".wh.";
/// All that lower layers have in its folder is gone.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// What an old storage driver kept for itself.
const BOOKKEEPING: &[u8] = b".wh..wh.";

/// What all layers together may still take.
pub struct Room {
    stream: u64,
    contents: u64,
    members: u64,
}

impl Default for Room {
    fn default() -> Self {
        let contents = LARGEST_ROOT_BYTES;
        Self { stream: contents + MOST_MEMBERS * TAR_OVERHEAD, contents, members: MOST_MEMBERS }
    }
}

/// Applies `layer` to `tree`.
///
/// # Errors
/// A layer that is damaged, too large, or that leaves the tree; [`Interrupted`] where `stop` was set.
pub fn apply(archive: &Archive, layer: &Layer, tree: &mut Tree, room: &mut Room, stop: &AtomicBool) -> Result<()> {
    let input = BufReader::with_capacity(1 << 18, archive.contents(&layer.member)?);
    let input = Decompressed::detect(input).context("decompressing")?;
    let mut input = Metered { input, hasher: hash::Hasher::default(), left: &mut room.stream };
    tree.begin_layer();
    let (contents, left) = (&mut room.contents, &mut room.members);
    members::for_each(&mut input, &mut |member| {
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let shown = String::from_utf8_lossy(&member.path).into_owned();
        *left = left.checked_sub(1).with_context(|| format!("found more than {MOST_MEMBERS} files, expected fewer"))?;
        if member.kind == Kind::File {
            *contents = contents.checked_sub(member.size).with_context(|| too_large(&shown))?;
        }
        put(member, tree).with_context(|| shown)
    })?;
    // The digest is over everything, also what follows the end that tar sees.
    io::copy(&mut input, &mut io::sink()).context("decompressing")?;
    let found = input.hasher.hex();
    if found != layer.digest {
        bail!("found SHA-256 {found}, expected {}\nhint: the archive is damaged; save the image again", layer.digest);
    }
    Ok(())
}

fn put(member: Member, tree: &mut Tree) -> Result<()> {
    let Member { path, kind, mode, size, contents, .. } = member;
    let trimmed = path.strip_suffix(b"/").unwrap_or(&path);
    let cut = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = trimmed.split_at(cut);
    if name == OPAQUE {
        return tree.hide_contents(folder);
    }
    if name.starts_with(BOOKKEEPING) {
        return Ok(());
    }
    if let Some(hidden) = name.strip_prefix(WHITEOUT) {
        // The name would be that of a folder above.
        if matches!(hidden, b"" | b"." | b"..") {
            bail!("found a whiteout of {:?}, expected a name", String::from_utf8_lossy(hidden));
        }
        return tree.hide(&[folder, hidden].concat());
    }
    match kind {
        Kind::File => tree.add_file(&path, mode, contents, size),
        Kind::Folder => tree.add_folder(&path, Some(mode)),
        Kind::Symlink(target) => tree.add_symlink(&path, &target),
        Kind::HardLink(target) => tree.add_hard_link(&path, &target),
        // The guest has devices of its own, and an ordinary user can make none.
        Kind::Special => Ok(()),
    }
}

fn too_large(path: &str) -> String {
    format!(
        "{path}: found layers of more than {LARGEST_ROOT_BYTES} bytes (4 GiB), expected at most that\nhint: this may \
         not be an endpoint, or the image contains its build tools; build it in stages"
    )
}

/// Counts and hashes what passes.
struct Metered<'a, R> {
    input: R,
    hasher: hash::Hasher,
    left: &'a mut u64,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        *self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(too_large("reading")))?;
        self.hasher.write_all(&buffer[..count])?;
        Ok(count)
    }
}
