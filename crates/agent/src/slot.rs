//! The slot: the block of plain memory through which orders come in and results go out.
//!
//! Both directions begin at offset 0 with one block of [`BLOCK`] bytes: an 8-byte magic and a little-endian length.
//! Orders follow as JSON. Results follow as a JSON [`Manifest`] and then blobs, each starting on a block. The header
//! of the results is written last: whoever finds it finds everything.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{orders::Orders, report::Report};

/// Alignment of everything in the slot, in bytes; `O_DIRECT` asks for it.
pub const BLOCK: usize = 4096;
/// First bytes of orders. The version is part of it.
pub const ORDERS_MAGIC: [u8; 8] = *b"QLORDER1";
/// First bytes of results.
pub const RESULTS_MAGIC: [u8; 8] = *b"QLRESLT1";

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
    /// For example `client/stderr`.
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
    /// There is no header where one should be.
    #[error("offset 0 of the slot: found {found:02x?}, expected {expected:02x?}")]
    Magic {
        /// What is there.
        found: [u8; 8],
        /// What should be.
        expected: [u8; 8],
    },
    /// A length that the slot does not have.
    #[error("{what}: {length} bytes at offset {offset} of the slot, which has {available}")]
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
    /// Not the JSON that was expected.
    #[error("offset {BLOCK} of the slot: {0}")]
    Json(#[from] serde_json::Error),
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

/// The slot as the guest sees it: a block device that the host changed behind the kernel's back, so no page of it may
/// come from the page cache.
pub struct Device {
    file: File,
    buffer: Aligned,
}

/// A page-aligned buffer.
struct Aligned(Box<[Page]>);

#[repr(C, align(4096))]
#[derive(Clone)]
struct Page([u8; BLOCK]);

impl Aligned {
    fn new(pages: usize) -> Self {
        Self(vec![Page([0; BLOCK]); pages].into_boxed_slice())
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: a Page is exactly its bytes, and the pages lie side by side.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * BLOCK) }
    }
}

impl Device {
    /// Opens the device at `path`, past the page cache.
    ///
    /// # Errors
    /// As `open` does.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)?;
        Ok(Self { file, buffer: Aligned::new(256) })
    }

    /// Reads the orders that stand at the beginning.
    ///
    /// # Errors
    /// A slot without orders, or orders that cannot be understood.
    pub fn read_orders(&mut self) -> Result<Orders, SlotError> {
        let mut reader = DirectReader { device: self, offset: 0, filled: 0, taken: 0 };
        let json = read_json(&mut reader, ORDERS_MAGIC, u64::MAX)?;
        Ok(serde_json::from_slice(&json)?)
    }

    /// Writes everything that `reader` yields at `offset`, padded to a block, and returns its length.
    ///
    /// # Errors
    /// A failed read or write, for example past the end of the slot.
    pub fn write_at(&mut self, offset: u64, reader: &mut impl Read) -> io::Result<u64> {
        let mut total = 0;
        loop {
            let chunk = self.buffer.bytes();
            let mut filled = 0;
            while filled < chunk.len() {
                match reader.read(&mut chunk[filled..])? {
                    0 => break,
                    count => filled += count,
                }
            }
            let padded = filled.next_multiple_of(BLOCK);
            chunk[filled..padded].fill(0);
            write_direct(&self.file, &chunk[..padded], offset + total)?;
            total += filled as u64;
            if filled < chunk.len() {
                return Ok(total);
            }
        }
    }

    /// Writes whole, page-aligned blocks without copying them first.
    ///
    /// # Errors
    /// As [`Device::write_at`].
    pub fn write_pages_at(&self, offset: u64, pages: &[u8]) -> io::Result<()> {
        write_direct(&self.file, pages, offset)
    }
}

fn write_direct(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are those of a live slice.
        let written = unsafe { libc::pwrite(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), offset as i64) };
        match written {
            count if count > 0 => {
                bytes = &bytes[count as usize..];
                offset += count as u64;
            }
            0 => return Err(io::Error::new(io::ErrorKind::StorageFull, "the results do not fit into the slot")),
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

struct DirectReader<'a> {
    device: &'a mut Device,
    offset: u64,
    filled: usize,
    taken: usize,
}

impl Read for DirectReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.filled {
            let descriptor = self.device.file.as_raw_fd();
            let chunk = self.device.buffer.bytes();
            // SAFETY: the buffer is live, page-aligned and as long as said.
            let count = unsafe { libc::pread(descriptor, chunk.as_mut_ptr().cast(), chunk.len(), self.offset as i64) };
            self.filled = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
            self.taken = 0;
            self.offset += self.filled as u64;
        }
        let count = out.len().min(self.filled - self.taken);
        out[..count].copy_from_slice(&self.device.buffer.bytes()[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
