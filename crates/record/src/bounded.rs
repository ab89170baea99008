//! The files of a record. It may have come from elsewhere, and an endpoint wrote some of them: none of them may be a link to a file of the
//! user, or a pipe.

use std::{io, path::Path};

use quiclab_inputs::{read_unlinked, read_unlinked_text};

/// The longest file that is read as a whole. Those of a run of thousands of flows have some 100 MB; captures and logs are read in pieces.
const MOST_BYTES: u64 = 1 << 30;
/// The longest log of an endpoint, some ten times what a transfer of 1 GB makes. Decompressed.
pub const MOST_QLOG_BYTES: u64 = 4 << 30;

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_unlinked(path, MOST_BYTES)
}

pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_unlinked_text(path, MOST_BYTES)
}
