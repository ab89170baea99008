//! The slot as the guest sees it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    orders::Orders,
    slot::{self, BLOCK, Blob, MANIFEST_ROOM, Manifest, ORDERS_MAGIC, SlotError, read_json},
};

use crate::run::Finished;

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

    /// Writes what a run left, the header last: whoever finds it finds everything.
    ///
    /// # Errors
    /// Where the slot is too small or a file cannot be read.
    pub fn hand_over(&mut self, mut finished: Finished, orders: &Orders) -> Result<()> {
        let mut offset = MANIFEST_ROOM;
        let mut blobs = Vec::new();
        for (name, pages) in finished.captures() {
            self.write_pages_at(offset, pages).context("handing over a capture")?;
            let length = pages.len() as u64;
            blobs.push(Blob { name, offset, length });
            offset += length;
        }
        let end = self.file.seek(SeekFrom::End(0)).context("the length of the slot")?;
        for mut source in finished.sources(orders) {
            // Downloads come first. A log that does not fit is no reason to lose a run.
            finished.cut_to(&mut source, end.saturating_sub(offset));
            let length =
                self.write_at(offset, &mut source.open()?).with_context(|| format!("handing over {}", source.name))?;
            blobs.push(Blob { name: source.name, offset, length });
            offset += length.next_multiple_of(BLOCK as u64);
        }
        let manifest = serde_json::to_vec(&Manifest { report: finished.report, blobs })?;
        let length = manifest.len();
        anyhow::ensure!((length + BLOCK) as u64 <= MANIFEST_ROOM, "the manifest is too long: {length} bytes");
        self.write_at(BLOCK as u64, &mut &manifest[..])?;
        self.write_at(0, &mut &slot::header(slot::RESULTS_MAGIC, length as u64)[..])?;
        Ok(())
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
