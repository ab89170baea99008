//! The slot: the block of plain memory through which orders come in and results go out.
//!
//! Both directions begin at offset 0 with one block of [`BLOCK`] bytes: an 8-byte magic and a little-endian length.
//! Orders follow as JSON. Results follow as a JSON [`Manifest`] and then blobs, each starting on a block. The header
//! of the results is written last: whoever finds it finds everything.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

use crate::{orders::Orders, report::Report, results::BlobError};

/// Alignment of everything in the slot, in bytes; `O_DIRECT` asks for it.
pub const BLOCK: usize = 4096;
/// First bytes of orders. The version is part of it.
pub const ORDERS_MAGIC: [u8; 8] = *b"QLORDER1";
/// First bytes of results.
pub const RESULTS_MAGIC: [u8; 8] = *b"QLRESLT1";
/// Room for header and manifest in front of the blobs of results; they hold counters and names only.
pub const MANIFEST_ROOM: u64 = 2 << 20;
/// Most log files of one role that are handed over.
pub const MOST_LOGS: usize = 1000;

/// Exit status of QEMU when the agent has powered the machine off: the device `isa-debug-exit` makes `value * 2 + 1` of what is
/// written to it.
pub const POWER_OFF_STATUS: i32 = POWER_OFF_VALUE as i32 * 2 + 1;
/// What the agent writes to the device `isa-debug-exit` when it is done.
pub const POWER_OFF_VALUE: u8 = 0x10;

/// What results consist of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// How the run went.
    pub report: Report,
    /// What else is there.
    pub blobs: Vec<Blob>,
}

/// One named piece of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Name of the blob, for example `client/stderr`.
    pub name: String,
    /// Offset in the slot, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Why a slot could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// Reading failed.
    #[error("the slot cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The machine ended without handing anything over.
    #[error("the slot still holds the orders, so the agent has not handed over any results")]
    NoResults,
    /// There is no header where one should be.
    #[error(
        "offset 0 of the slot: found the bytes \"{}\", expected \"{}\"",
        found.escape_ascii(),
        expected.escape_ascii()
    )]
    Magic {
        /// What is there.
        found: [u8; 8],
        /// What should be.
        expected: [u8; 8],
    },
    /// A length that the slot does not have.
    #[error("{what}: found {length} bytes at offset {offset} of the slot, which has {available} bytes")]
    Range {
        /// Whose length.
        what: String,
        /// Where it starts.
        offset: u64,
        /// What it says.
        length: u64,
        /// What there is.
        available: u64,
    },
    /// The slot does not hold the JSON that was expected.
    #[error("offset {BLOCK} of the slot: {0}")]
    Json(#[from] serde_json::Error),
    /// Results that the orders cannot lead to.
    #[error("the results are not those of this run: {0}")]
    Blobs(#[from] BlobError),
}

/// The bytes of orders, ready to stand at the beginning of the slot.
///
/// # Errors
/// Where the orders cannot be serialised.
pub fn encode_orders(orders: &Orders) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(orders)?;
    let mut bytes = header(ORDERS_MAGIC, json.len() as u64).to_vec();
    bytes.extend(json);
    Ok(bytes)
}

/// A header block.
pub fn header(magic: [u8; 8], length: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(&magic);
    block[8..16].copy_from_slice(&length.to_le_bytes());
    block
}

/// Reads the header and the JSON behind it from the beginning of `reader`.
///
/// # Errors
/// A wrong magic, a length over `available`, or a failed read.
pub fn read_json(reader: &mut impl Read, magic: [u8; 8], available: u64) -> Result<Vec<u8>, SlotError> {
    let mut first = [0; BLOCK];
    reader.read_exact(&mut first)?;
    let found: [u8; 8] = first[..8].try_into().unwrap_or_default();
    if found == ORDERS_MAGIC && magic == RESULTS_MAGIC {
        return Err(SlotError::NoResults);
    }
    if found != magic {
        return Err(SlotError::Magic { found, expected: magic });
    }
    let length = u64::from_le_bytes(first[8..16].try_into().unwrap_or_default());
    if length > available.saturating_sub(BLOCK as u64) {
        return Err(SlotError::Range { what: "header".into(), offset: BLOCK as u64, length, available });
    }
    let mut json = vec![0; length as usize];
    reader.read_exact(&mut json)?;
    Ok(json)
}
