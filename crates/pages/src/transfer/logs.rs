//! Logs of endpoints: opening them, and the packets that they name.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
};

use anyhow::{Context, Result};
use quiclab_inputs::open_unlinked;
use quiclab_metrics::PlannedKey;
use quiclab_units::ShowPath;
use quiclab_wire::{Decompressed, QlogPacket, QlogSpace};

/// Opens a log of a record, which may be compressed.
///
/// # Errors
/// Where it cannot be opened, or is no regular file.
pub fn open_log(path: &Path) -> Result<BufReader<Decompressed<File>>> {
    decompressed(path, open_unlinked(path))
}

/// Reads the log at `path` that opening gave, which may be compressed.
///
/// # Errors
/// Where it could not be opened.
pub fn decompressed(path: &Path, file: io::Result<File>) -> Result<BufReader<Decompressed<File>>> {
    let file = file.with_context(|| format!("{}: cannot be opened", path.shown()))?;
    Ok(BufReader::new(Decompressed::detect(file).with_context(|| path.shown())?))
}

/// Keys by which a packet can be found in a capture.
pub fn planned_keys(packet: &QlogPacket) -> Vec<PlannedKey> {
    let mut keys = Vec::new();
    if let (Some(QlogSpace::OneRtt), Some(number)) = (packet.space, packet.packet_number) {
        keys.push(PlannedKey::PacketNumber(number));
    }
    if let (true, Some(checksum)) = (packet.datagram_id_is_crc32c, packet.datagram_id) {
        keys.push(PlannedKey::DatagramChecksum(checksum));
    }
    keys
}
