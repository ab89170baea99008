//! A whole capture in memory.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::CaptureError;
use crate::packet::Packet;
use crate::reader::CaptureReader;

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

/// One Decryption Secrets Block.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    /// `secrets_type` of the block; [`Secrets::TLS_KEY_LOG`] for SSLKEYLOGFILE lines.
    pub kind: u32,
    /// The block's data without its padding.
    pub data: Vec<u8>,
}

/// Where a file was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Offset of the first byte of the record or block that is not whole, in the uncompressed file.
    pub byte_offset: u64,
    /// Bytes of it that are there.
    pub bytes_present: u64,
}

/// Why a frame or block did not become a [`Packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Neither IPv4 nor IPv6: ARP, LLDP and the like.
    NotIp,
    /// IP that carries neither UDP nor TCP: ICMP, IGMP, tunnels.
    NotUdpOrTcp,
    /// A fragment of an IP packet: its ports or its length cannot be known from it alone.
    IpFragment,
    /// The capture ends before the transport header does.
    HeadersCut,
    /// Headers that contradict themselves or their own lengths.
    Malformed,
    /// A link type this reader does not know.
    LinkTypeUnknown,
    /// A packet block without a time (pcapng Simple Packet Block).
    NoTime,
    /// The packet block that pcapng had before 2014; `editcap -F pcapng` rewrites it.
    ObsoletePacketBlock,
    /// A pcapng block that holds no frame this reader understands (statistics, names, custom blocks).
    OtherBlock,
}

impl Secrets {
    /// `secrets_type` of a TLS key log ("TLSK").
    pub const TLS_KEY_LOG: u32 = 0x544c_534b;
}

impl std::fmt::Debug for Secrets {
    /// Shows kind and size only: secrets do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets")
            .field("kind", &format_args!("{:#010x}", self.kind))
            .field("bytes", &self.data.len())
            .finish()
    }
}

impl SkipReason {
    /// Whether a packet of the flow under test may hide behind this reason, so that a count of it casts doubt on metrics.
    pub fn may_hide_packets(self) -> bool {
        match self {
            SkipReason::NotIp | SkipReason::NotUdpOrTcp | SkipReason::OtherBlock => false,
            SkipReason::IpFragment
            | SkipReason::HeadersCut
            | SkipReason::Malformed
            | SkipReason::LinkTypeUnknown
            | SkipReason::NoTime
            | SkipReason::ObsoletePacketBlock => true,
        }
    }

    /// Short stable name for messages.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::NotIp => "not IP",
            SkipReason::NotUdpOrTcp => "neither UDP nor TCP",
            SkipReason::IpFragment => "IP fragment",
            SkipReason::HeadersCut => "headers cut by the snap length",
            SkipReason::Malformed => "malformed headers",
            SkipReason::LinkTypeUnknown => "unknown link type",
            SkipReason::NoTime => "packet block without time",
            SkipReason::ObsoletePacketBlock => "obsolete pcapng packet block",
            SkipReason::OtherBlock => "other pcapng block",
        }
    }
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
