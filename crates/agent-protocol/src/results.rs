//! Reads the results that a virtual machine left in its slot.
//!
//! These are foreign bytes: programs of strangers ran in that machine. What they can make the reader do is bounded by the slot: a manifest
//! of at most [`MANIFEST_ROOM`] bytes, and blobs that lie behind it, do not overlap, and are no more and no longer than what was ordered.

use std::{collections::BTreeSet, io::Read};

use crate::{
    activity::{ACTIVITY, MOST_ACTIVITY_BYTES},
    orders::Orders,
    slot::{BLOCK, Blob, MANIFEST_ROOM, MOST_LOGS, Manifest, RESULTS_MAGIC, SlotError, read_json},
};

/// The taps of a run that captures, in the order of the capture's interfaces.
pub const TAPS: [&str; 2] = ["sender", "behind-bottleneck"];
/// The folders in which results have the endpoints' logs.
pub const ROLES: [&str; 2] = ["server", "client"];

/// Why results cannot be those of the run that was ordered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// There are more blobs than a run leaves.
    #[error("found {found} files, expected at most {most}")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there can be.
        most: usize,
    },
    /// A blob that is no part of what was ordered.
    #[error("{name:?}: expected tap/..., download/..., server/... or client/... of what the run was told to leave")]
    Unordered {
        /// Its name.
        name: String,
    },
    /// Two blobs of one name.
    #[error("{name:?}: found twice")]
    Twice {
        /// Their name.
        name: String,
    },
    /// A blob that does not start where a block does.
    #[error("{name:?}: found offset {offset}, expected a multiple of {BLOCK}")]
    Unaligned {
        /// Its name.
        name: String,
        /// Where it starts.
        offset: u64,
    },
    /// A blob that reaches out of the part of the slot that is for blobs.
    #[error("{name:?}: found {length} bytes at offset {offset}, expected them between {from} and {available}")]
    Outside {
        /// Its name.
        name: String,
        /// Where it starts.
        offset: u64,
        /// Its length.
        length: u64,
        /// Where blobs start.
        from: u64,
        /// Length of the slot.
        available: u64,
    },
    /// Two blobs with the same bytes.
    #[error("{name:?}: found it at offset {offset}, inside {other:?}, which ends at {end}")]
    Overlap {
        /// Name of the second one.
        name: String,
        /// Where it starts.
        offset: u64,
        /// Name of the first one.
        other: String,
        /// Where that ends.
        end: u64,
    },
    /// There are more bytes than were ordered.
    #[error("{what}: found {found} bytes, expected at most {most}")]
    TooLong {
        /// A blob, or all blobs of a folder.
        what: String,
        /// Their bytes.
        found: u64,
        /// What was ordered.
        most: u64,
    },
    /// A report of a forwarder that was not ordered, or that no forwarder with these stages makes.
    #[error("the forwarder's report: {what}: found {found}, expected {expected}")]
    Forwarder {
        /// Which part of it.
        what: &'static str,
        /// What it says.
        found: String,
        /// What it can say.
        expected: String,
    },
    /// Taps that were not ordered, or in another order.
    #[error("found the taps {found:?}, expected the first of {expected:?}")]
    Taps {
        /// Their names.
        found: Vec<String>,
        /// What was ordered.
        expected: Vec<&'static str>,
    },
    /// A capture with headers that were not ordered, or without those that were.
    #[error("tap/{name}: found has_headers = {found}, expected {}", !found)]
    Headers {
        /// The tap.
        name: String,
        /// What it says.
        found: bool,
    },
    /// A capture whose length is not that of its blocks.
    #[error("tap/{name}: found {found} bytes, expected those of {blocks} blocks of {block_bytes} bytes")]
    Capture {
        /// The tap.
        name: String,
        /// Length of its blob.
        found: u64,
        /// Blocks that it says to have used.
        blocks: u64,
        /// Their length.
        block_bytes: u64,
    },
}

/// Reads the manifest from the beginning of a slot of `available` bytes, and makes sure that it is one that `orders` can lead to.
///
/// # Errors
/// Where there are no results, or they cannot be those of such a run.
pub fn read_manifest(slot: &mut impl Read, available: u64, orders: &Orders) -> Result<Manifest, SlotError> {
    let json = read_json(slot, RESULTS_MAGIC, available.min(MANIFEST_ROOM))?;
    let manifest: Manifest = serde_json::from_slice(&json)?;
    check(&manifest, available, orders)?;
    Ok(manifest)
}

/// What [`read_manifest`] makes sure of, for results that came another way.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(manifest: &Manifest, available: u64, orders: &Orders) -> Result<(), BlobError> {
    check_names(&manifest.blobs, orders)?;
    check_places(&manifest.blobs, available)?;
    check_lengths(&manifest.blobs, orders)?;
    check_taps(manifest, orders)?;
    match &manifest.report.forwarder {
        Some(report) => forwarder::check(report, orders),
        None => Ok(()),
    }
}

fn check_names(blobs: &[Blob], orders: &Orders) -> Result<(), BlobError> {
    let most =
        TAPS.len() + orders.transfer.names.len() + ROLES.len() * MOST_LOGS + usize::from(orders.sampling.is_some());
    if blobs.len() > most {
        return Err(BlobError::TooMany { found: blobs.len(), most });
    }
    let downloads: BTreeSet<&str> = orders.transfer.names.iter().map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    for blob in blobs {
        let is_ordered = match blob.name.split_once('/') {
            Some(("tap", tap)) => orders.tap.is_some() && TAPS.contains(&tap),
            Some(("download", file)) => downloads.contains(file),
            _ if blob.name == ACTIVITY => orders.sampling.is_some(),
            Some((role, _)) => ROLES.contains(&role),
            None => false,
        };
        if !is_ordered {
            return Err(BlobError::Unordered { name: shortened(&blob.name) });
        }
        if !seen.insert(&blob.name) {
            return Err(BlobError::Twice { name: shortened(&blob.name) });
        }
    }
    Ok(())
}

fn check_places(blobs: &[Blob], available: u64) -> Result<(), BlobError> {
    let mut sorted: Vec<_> = blobs.iter().collect();
    sorted.sort_by_key(|blob| (blob.offset, blob.length));
    let mut before: Option<(&Blob, u64)> = None;
    for blob in sorted {
        let Blob { offset, length, .. } = *blob;
        let name = || shortened(&blob.name);
        if offset % BLOCK as u64 != 0 {
            return Err(BlobError::Unaligned { name: name(), offset });
        }
        let end = offset.checked_add(length).filter(|end| offset >= MANIFEST_ROOM && *end <= available);
        let Some(end) = end else {
            return Err(BlobError::Outside { name: name(), offset, length, from: MANIFEST_ROOM, available });
        };
        match before {
            Some((other, other_end)) if offset < other_end && length > 0 => {
                return Err(BlobError::Overlap { name: name(), offset, other: shortened(&other.name), end: other_end });
            }
            Some((_, other_end)) if end < other_end => {}
            _ => before = Some((blob, end)),
        }
    }
    Ok(())
}

fn check_lengths(blobs: &[Blob], orders: &Orders) -> Result<(), BlobError> {
    let most = orders.transfer.size_bytes;
    let too_long = blobs.iter().find(|blob| blob.name.starts_with("download/") && blob.length > most);
    if let Some(blob) = too_long {
        return Err(BlobError::TooLong { what: blob.name.clone(), found: blob.length, most });
    }
    if let Some(blob) = blobs.iter().find(|blob| blob.name == ACTIVITY && blob.length > MOST_ACTIVITY_BYTES) {
        return Err(BlobError::TooLong { what: blob.name.clone(), found: blob.length, most: MOST_ACTIVITY_BYTES });
    }
    for role in ROLES {
        let is_of_role = |blob: &&Blob| blob.name.split('/').next() == Some(role);
        // They do not overlap, so that the sum is no more than the slot.
        let found = blobs.iter().filter(is_of_role).map(|blob| blob.length).sum();
        let most = orders.log_limit_bytes;
        if found > most {
            return Err(BlobError::TooLong { what: format!("{role}/"), found, most });
        }
    }
    Ok(())
}

fn check_taps(manifest: &Manifest, orders: &Orders) -> Result<(), BlobError> {
    let expected: &[&'static str] = if orders.tap.is_some() { &TAPS } else { &[] };
    let taps = &manifest.report.taps;
    // A run that failed early has not opened them all.
    if taps.len() > expected.len() || taps.iter().zip(expected).any(|(tap, name)| tap.name != *name) {
        let found = taps.iter().take(TAPS.len() + 1).map(|tap| shortened(&tap.name)).collect();
        return Err(BlobError::Taps { found, expected: expected.to_vec() });
    }
    if let Some(tap) = taps.iter().find(|tap| tap.has_headers != orders.network.super_packets) {
        return Err(BlobError::Headers { name: tap.name.clone(), found: tap.has_headers });
    }
    for tap in taps {
        let name = format!("tap/{}", tap.name);
        let found = manifest.blobs.iter().find(|blob| blob.name == name).map_or(0, |blob| blob.length);
        let (blocks, block_bytes) = (tap.blocks_used, tap.block_bytes);
        if tap.bytes_used() != Some(found) {
            return Err(BlobError::Capture { name: tap.name.clone(), found, blocks, block_bytes });
        }
    }
    Ok(())
}

/// The beginning of a name: guests choose names of any length.
pub(super) fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

mod forwarder;
#[cfg(test)]
mod tests;
