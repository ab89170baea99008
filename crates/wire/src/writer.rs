//! Writes pcapng (draft-ietf-opsawg-pcapng) with nanosecond times.
//!
//! The blocks are put together by hand because the library that writes pcapng, pcap-file, has no decryption secrets block,
//! neither in its stable release (2.0) nor in the candidates for 3.0. The output contains nothing but what it was given (no
//! tool name, no host, no clock). Little-endian on every machine.

use std::io::Write;

use quiclab_units::Time;

use crate::error::WriteError;

const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const ENHANCED_PACKET_BLOCK: u32 = 6;
const DECRYPTION_SECRETS_BLOCK: u32 = 10;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_EPB_FLAGS: u16 = 2;
const OPTION_END: u16 = 0;

/// A place where Ethernet frames are captured.
#[derive(Clone, Copy, Debug)]
pub struct TapDescription<'a> {
    /// `if_name`, at most 65535 bytes.
    pub name: &'a str,
    /// Most bytes kept of each frame; `None` for no limit.
    pub snap_length: Option<u32>,
}

/// Which way a frame went at its tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received by the interface.
    Inbound,
    /// Sent by the interface.
    Outbound,
}

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct PacketToWrite<'a> {
    /// When the tap saw it.
    pub time: Time,
    /// Index into the interfaces given to [`CaptureWriter::new`].
    pub interface: u32,
    /// Bytes the frame had on the wire.
    pub frame_length: u32,
    /// The first bytes of the frame, Ethernet header first.
    pub captured: &'a [u8],
    /// `None` leaves it unsaid.
    pub direction: Option<Direction>,
}

/// Writes one section: secrets, interfaces, packets. The same calls give the same bytes.
pub struct CaptureWriter<W: Write> {
    output: W,
    snap_lengths: Vec<Option<u32>>,
    previous_time: Option<Time>,
    /// One block, reused.
    block: Vec<u8>,
}

impl<W: Write> CaptureWriter<W> {
    /// Writes the headers. `tls_key_log` holds SSLKEYLOGFILE lines and stands before any packet, as decrypting readers need it.
    /// Hand in a buffered writer.
    ///
    /// # Errors
    /// [`WriteError::TooLong`] for a name or key log that fits no length field; [`WriteError::Write`] from the output.
    pub fn new(output: W, interfaces: &[TapDescription], tls_key_log: Option<&[u8]>) -> Result<Self, WriteError> {
        let mut writer = CaptureWriter {
            output,
            snap_lengths: interfaces.iter().map(|tap| tap.snap_length).collect(),
            previous_time: None,
            block: Vec::with_capacity(2048),
        };
        writer.section_header()?;
        if let Some(lines) = tls_key_log {
            writer.secrets(lines)?;
        }
        for tap in interfaces {
            writer.interface(tap)?;
        }
        Ok(writer)
    }

    /// Appends one packet.
    ///
    /// # Errors
    /// [`WriteError`] when the packet names an interface that is not there, has more bytes than its frame or its
    /// interface's snap length, or is earlier than the one before it. Nothing is written then.
    pub fn write_packet(&mut self, packet: &PacketToWrite) -> Result<(), WriteError> {
        self.check(packet)?;
        self.previous_time = Some(packet.time);
        let nanoseconds = packet.time.as_nanos();
        self.begin(ENHANCED_PACKET_BLOCK);
        self.put(&packet.interface.to_le_bytes());
        self.put(&((nanoseconds >> 32) as u32).to_le_bytes());
        self.put(&(nanoseconds as u32).to_le_bytes());
        self.put(&(packet.captured.len() as u32).to_le_bytes());
        self.put(&packet.frame_length.to_le_bytes());
        self.put_padded(packet.captured);
        if let Some(direction) = packet.direction {
            let flags: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            self.option(OPTION_EPB_FLAGS, &flags.to_le_bytes());
            self.option(OPTION_END, &[]);
        }
        self.end()
    }

    /// Flushes and hands the output back.
    ///
    /// # Errors
    /// [`WriteError::Write`] from the output.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn check(&self, packet: &PacketToWrite) -> Result<(), WriteError> {
        let time = packet.time;
        let Some(snap_length) = self.snap_lengths.get(packet.interface as usize) else {
            return Err(WriteError::UnknownInterface {
                time,
                interface: packet.interface,
                interfaces: self.snap_lengths.len(),
            });
        };
        let limits = [(Some(packet.frame_length), "the frame's length"), (*snap_length, "the interface's snap length")];
        for (limit, limited_by) in limits {
            let Some(limit) = limit else { continue };
            if packet.captured.len() > limit as usize {
                return Err(WriteError::TooManyBytes { time, captured: packet.captured.len(), limit, limited_by });
            }
        }
        match self.previous_time {
            Some(previous) if time < previous => Err(WriteError::TimeBackwards { time, previous }),
            _ => Ok(()),
        }
    }

    fn section_header(&mut self) -> Result<(), WriteError> {
        const UNKNOWN_SECTION_LENGTH: i64 = -1;
        self.begin(SECTION_HEADER_BLOCK);
        self.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        self.put(&1_u16.to_le_bytes());
        self.put(&0_u16.to_le_bytes());
        self.put(&UNKNOWN_SECTION_LENGTH.to_le_bytes());
        self.end()
    }

    fn secrets(&mut self, lines: &[u8]) -> Result<(), WriteError> {
        let length = bounded(lines.len(), crate::MAXIMUM_BLOCK_BYTES as usize / 2, "TLS key log")?;
        self.begin(DECRYPTION_SECRETS_BLOCK);
        self.put(&crate::Secrets::TLS_KEY_LOG.to_le_bytes());
        self.put(&(length as u32).to_le_bytes());
        self.put_padded(lines);
        self.end()
    }

    fn interface(&mut self, tap: &TapDescription) -> Result<(), WriteError> {
        const NANOSECONDS: u8 = 9;
        bounded(tap.name.len(), usize::from(u16::MAX), "interface name")?;
        self.begin(INTERFACE_DESCRIPTION_BLOCK);
        self.put(&LINKTYPE_ETHERNET.to_le_bytes());
        self.put(&0_u16.to_le_bytes());
        self.put(&tap.snap_length.unwrap_or(0).to_le_bytes());
        self.option(OPTION_IF_NAME, tap.name.as_bytes());
        self.option(OPTION_IF_TSRESOL, &[NANOSECONDS]);
        self.option(OPTION_END, &[]);
        self.end()
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.put(&block_type.to_le_bytes());
        // The length, known at the end.
        self.put(&[0; 4]);
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let length = (self.block.len() + 4) as u32;
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(&length.to_le_bytes());
        self.output.write_all(&self.block)?;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn put_padded(&mut self, bytes: &[u8]) {
        self.put(bytes);
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        self.block.extend_from_slice(&[0; 3][..padding]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put_padded(value);
    }
}

fn bounded(length: usize, limit: usize, what: &'static str) -> Result<usize, WriteError> {
    if length > limit {
        return Err(WriteError::TooLong { what, length, limit });
    }
    Ok(length)
}
