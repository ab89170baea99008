//! A whole capture in memory.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::CaptureError;
use crate::packet::Packet;
use crate::reader::CaptureReader;
use crate::secrets::Secrets;
use crate::skip_reason::SkipReason;

/// A capture file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Interfaces in the order of the file. A classic pcap has one.
    pub interfaces: Vec<Interface>,
    /// UDP and TCP packets in the order of the file. Empty when read with [`CaptureReader`], which hands them out one by one.
    pub packets: Vec<Packet>,
    /// Decryption secrets in the order of the file.
    pub secrets: Vec<Secrets>,
    /// Frames and blocks that did not become a packet, by reason. A reason that did not occur is absent.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Where the file was cut off in the middle of something; `None` when it ends where a record ends.
    pub truncation: Option<Truncation>,
}

/// Where packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `if_name` of pcapng. `None` when the file has none, and for classic pcap.
    pub name: Option<String>,
    /// `LINKTYPE_` number: 1 is Ethernet, 101 raw IP.
    pub link_type: u16,
    /// Bytes kept per frame. `None` when unlimited (0 in the file).
    pub snap_length: Option<u32>,
}

/// Where a file was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Offset of the first byte of the record or block that is not whole, in the uncompressed file.
    pub byte_offset: u64,
    /// Bytes of it that are there.
    pub bytes_present: u64,
}

impl Capture {
    /// Reads a pcap or pcapng file, plain or gzip, to its end. Takes anything that reads; a byte slice does.
    ///
    /// # Errors
    /// [`CaptureError`] when the input is no capture, breaks its own format, or cannot be read. A file that merely stops
    /// in the middle of a record is not an error: see [`Capture::truncation`].
    pub fn read<R: Read>(input: R) -> Result<Capture, CaptureError> {
        let mut reader = CaptureReader::new(input)?;
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet()? {
            packets.push(packet);
        }
        Ok(Capture { packets, ..reader.into_summary() })
    }
}
