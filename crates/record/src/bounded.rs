//! The files of a record. It may have come from elsewhere, and an endpoint wrote some of them.

use std::{fs::File, io, path::Path};

use quiclab_units::{read_bounded, read_text_bounded};

/// The longest file that is read as a whole. Those of a run of thousands of flows have some 100 MB; captures and logs are read in pieces.
const MOST_BYTES: u64 = 1 << 30;
/// The longest log of an endpoint, some ten times what a transfer of 1 GB makes. Decompressed.
pub const MOST_QLOG_BYTES: u64 = 4 << 30;

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(File::open(path)?, MOST_BYTES)
}

pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_text_bounded(File::open(path)?, MOST_BYTES)
}
