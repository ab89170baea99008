//! Classic pcap: one header, then records.

use std::io::Read;

use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};
use quiclab_units::Time;

use crate::capture::{Capture, Interface};
use crate::error::CaptureError;
use crate::reader::{FramePlace, MAXIMUM_BLOCK_BYTES, Step};
use crate::source::Source;

const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// µs and ns, each in the writer's byte order.
const MAGICS: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

/// What the file header says.
pub(crate) struct PcapFile {
    big_endian: bool,
    nanoseconds_per_tick: u64,
    link_type: u16,
}

impl PcapFile {
    pub(crate) fn recognises(magic: &[u8]) -> bool {
        let Ok(bytes) = <[u8; 4]>::try_from(magic) else {
            return false;
        };
        MAGICS.contains(&u32::from_le_bytes(bytes)) || MAGICS.contains(&u32::from_be_bytes(bytes))
    }

    /// Reads the file header; notes a truncation when it is not whole.
    pub(crate) fn open<R: Read>(source: &mut Source<R>, summary: &mut Capture) -> Result<PcapFile, CaptureError> {
        let bytes = source.peek(FILE_HEADER_BYTES)?;
        let Ok((_, header)) = parse_pcap_header(bytes) else {
            summary.truncation = Some(source.truncation());
            return Ok(PcapFile { big_endian: false, nanoseconds_per_tick: 1, link_type: 0 });
        };
        source.consume(FILE_HEADER_BYTES);
        // The upper 16 bits say how long the frame check sequence is.
        let link_type = (header.network.0 & 0xffff) as u16;
        summary.interfaces.push(Interface {
            name: None,
            link_type,
            snap_length: Some(header.snaplen).filter(|length| *length > 0),
        });
        Ok(PcapFile {
            big_endian: header.is_bigendian(),
            nanoseconds_per_tick: if header.is_nanosecond_precision() { 1 } else { 1_000 },
            link_type,
        })
    }

    pub(crate) fn next<R: Read>(&self, source: &mut Source<R>) -> Result<Step, CaptureError> {
        let byte_offset = source.offset();
        let header = source.peek(RECORD_HEADER_BYTES)?;
        if header.is_empty() {
            return Ok(Step::End);
        }
        let Ok(header) = <&[u8; RECORD_HEADER_BYTES]>::try_from(header) else {
            return Ok(Step::Cut);
        };
        let length_field = [header[8], header[9], header[10], header[11]];
        let captured_length =
            if self.big_endian { u32::from_be_bytes(length_field) } else { u32::from_le_bytes(length_field) };
        if captured_length > MAXIMUM_BLOCK_BYTES {
            return Err(CaptureError::BlockTooLong {
                byte_offset,
                length: u64::from(captured_length),
                limit: u64::from(MAXIMUM_BLOCK_BYTES),
            });
        }
        let record_bytes = RECORD_HEADER_BYTES + captured_length as usize;
        let bytes = source.peek(record_bytes)?;
        let parsed = if self.big_endian { parse_pcap_frame_be(bytes) } else { parse_pcap_frame(bytes) };
        let Ok((_, record)) = parsed else {
            return Ok(Step::Cut);
        };
        let nanoseconds =
            u64::from(record.ts_sec) * 1_000_000_000 + u64::from(record.ts_usec) * self.nanoseconds_per_tick;
        Ok(Step::Frame(FramePlace {
            time: Time::from_nanos(nanoseconds),
            interface: 0,
            link_type: self.link_type,
            length: record.origlen,
            captured: RECORD_HEADER_BYTES..record_bytes,
            record_bytes,
        }))
    }
}
