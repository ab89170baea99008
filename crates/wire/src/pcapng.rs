//! pcapng: sections of blocks (draft-ietf-opsawg-pcapng).

use std::io::Read;

use pcap_parser::pcapng::{
    parse_decryptionsecretsblock_be, parse_decryptionsecretsblock_le, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le,
};
use pcap_parser::{
    DSB_MAGIC, EPB_MAGIC, IDB_MAGIC, ISB_MAGIC, NRB_MAGIC, OptionCode, PcapNGOption, SHB_MAGIC, SPB_MAGIC,
};
use quiclab_units::Time;

use crate::capture::{Capture, Interface};
use crate::error::CaptureError;
use crate::reader::{FramePlace, MAXIMUM_BLOCK_BYTES, Step};
use crate::secrets::Secrets;
use crate::skip_reason::SkipReason;
use crate::source::Source;

/// Type, length, and the length again.
const MINIMUM_BLOCK_BYTES: usize = 12;
/// Offset of the data in an enhanced packet block: behind type, length, interface, two halves of the time, two lengths.
const PACKET_DATA_OFFSET: usize = 28;
/// The packet block that the enhanced one replaced.
const OBSOLETE_PACKET_BLOCK: u32 = 2;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// `if_tsresol` where an interface has none: microseconds.
const DEFAULT_RESOLUTION: u8 = 6;
/// The bit of `if_tsresol` that makes its exponent one of 2 instead of 10.
const POWER_OF_TWO: u8 = 0x80;

/// What the current section has said so far.
#[derive(Default)]
pub(crate) struct PcapngFile {
    big_endian: bool,
    /// Index in the capture of the section's interface 0.
    first_interface: usize,
    /// Clocks of the section's interfaces.
    clocks: Vec<Clock>,
}

/// How an interface counts time.
#[derive(Clone, Copy)]
struct Clock {
    link_type: u16,
    resolution: u8,
    offset_seconds: i64,
}

impl PcapngFile {
    pub(crate) fn recognises(magic: &[u8]) -> bool {
        // The type of a section header block reads the same in both byte orders.
        magic == SHB_MAGIC.to_le_bytes()
    }

    pub(crate) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        summary: &mut Capture,
    ) -> Result<Step, CaptureError> {
        let byte_offset = source.offset();
        let head = source.peek(MINIMUM_BLOCK_BYTES)?;
        if head.is_empty() {
            return Ok(Step::End);
        }
        let Ok(head) = <&[u8; MINIMUM_BLOCK_BYTES]>::try_from(head) else {
            return Ok(Step::Cut);
        };
        let word = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let is_section_header = word(0) == SHB_MAGIC.to_le_bytes();
        if is_section_header {
            self.big_endian = if u32::from_le_bytes(word(8)) == BYTE_ORDER_MAGIC {
                false
            } else if u32::from_be_bytes(word(8)) == BYTE_ORDER_MAGIC {
                true
            } else {
                return Err(malformed(
                    byte_offset,
                    "byte-order magic of the section header block",
                    format!("{:02x?}", word(8)),
                    "1a 2b 3c 4d or 4d 3c 2b 1a",
                ));
            };
        }
        let block_type = self.number(word(0));
        let block_length = self.number(word(4));
        if block_length > MAXIMUM_BLOCK_BYTES {
            return Err(CaptureError::BlockTooLong {
                byte_offset,
                length: u64::from(block_length),
                limit: u64::from(MAXIMUM_BLOCK_BYTES),
            });
        }
        let block_bytes = block_length as usize;
        if block_bytes < MINIMUM_BLOCK_BYTES || !block_bytes.is_multiple_of(4) {
            return Err(malformed(
                byte_offset,
                "block length",
                block_length.to_string(),
                "a multiple of 4, at least 12",
            ));
        }
        let block = source.peek(block_bytes)?;
        if block.len() < block_bytes {
            return Ok(Step::Cut);
        }
        let step = match block_type {
            SHB_MAGIC => {
                self.first_interface = summary.interfaces.len();
                self.clocks.clear();
                Step::Described
            }
            EPB_MAGIC => return self.enhanced_packet(block, byte_offset),
            IDB_MAGIC => self.interface(block, byte_offset, summary)?,
            DSB_MAGIC => self.secrets(block, byte_offset, summary)?,
            // Names of addresses, and counters that `dumpcap` writes at the end: no block of these has a frame.
            NRB_MAGIC | ISB_MAGIC => Step::Described,
            SPB_MAGIC => Step::Skipped(SkipReason::NoTime),
            OBSOLETE_PACKET_BLOCK => Step::Skipped(SkipReason::ObsoletePacketBlock),
            _ => Step::Skipped(SkipReason::OtherBlock),
        };
        source.consume(block_bytes);
        Ok(step)
    }

    fn number(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// The fields are read here: the library makes a list of the options of every packet, which costs more than all else.
    fn enhanced_packet(&self, block: &[u8], byte_offset: u64) -> Result<Step, CaptureError> {
        let field = |number: usize| {
            let bytes = block.get(8 + 4 * number..12 + 4 * number)?;
            Some(self.number(bytes.try_into().ok()?))
        };
        let fields = (field(0), field(1), field(2), field(3), field(4));
        let (Some(interface), Some(ticks_high), Some(ticks_low), Some(captured_length), Some(length)) = fields else {
            return Err(bad_fields(byte_offset, "enhanced packet block"));
        };
        let captured_end = PACKET_DATA_OFFSET + captured_length as usize;
        let trailer = block.len() - 4;
        let length_again = self.number([block[trailer], block[trailer + 1], block[trailer + 2], block[trailer + 3]]);
        if captured_end > trailer || length_again as usize != block.len() {
            return Err(bad_fields(byte_offset, "enhanced packet block"));
        }
        let Some(clock) = self.clocks.get(interface as usize) else {
            return Err(malformed(
                byte_offset,
                "interface of an enhanced packet block",
                interface.to_string(),
                &format!("less than {}, the interfaces described so far", self.clocks.len()),
            ));
        };
        let ticks = (u64::from(ticks_high) << 32) | u64::from(ticks_low);
        let Some(time) = clock.time(ticks) else {
            return Err(malformed(
                byte_offset,
                "time of an enhanced packet block",
                format!("{ticks} ticks and {} s", clock.offset_seconds),
                "a time from 1970 to 2554",
            ));
        };
        Ok(Step::Frame(FramePlace {
            time,
            interface: (self.first_interface + interface as usize) as u32,
            link_type: clock.link_type,
            length,
            captured: PACKET_DATA_OFFSET..captured_end,
            record_bytes: block.len(),
        }))
    }

    fn interface(&mut self, block: &[u8], byte_offset: u64, summary: &mut Capture) -> Result<Step, CaptureError> {
        let parsed = if self.big_endian {
            parse_interfacedescriptionblock_be(block)
        } else {
            parse_interfacedescriptionblock_le(block)
        };
        let Ok((_, block)) = parsed else {
            return Err(bad_fields(byte_offset, "interface description block"));
        };
        // Looked up here: the library reads if_tsoffset as little-endian always, and takes any length of either option.
        let resolution = match option_value(&block.options, OptionCode::IfTsresol) {
            None => DEFAULT_RESOLUTION,
            Some(&[resolution]) if exponent_fits(resolution) => resolution,
            Some(other) => {
                return Err(malformed(
                    byte_offset,
                    "if_tsresol of an interface description block",
                    format!("{other:02x?}"),
                    "one byte, at most 10^19 or 2^63 ticks per second",
                ));
            }
        };
        let offset_seconds = match option_value(&block.options, OptionCode::IfTsoffset) {
            None => 0,
            Some(value) => match (<[u8; 8]>::try_from(value), self.big_endian) {
                (Ok(bytes), true) => i64::from_be_bytes(bytes),
                (Ok(bytes), false) => i64::from_le_bytes(bytes),
                (Err(_), _) => {
                    return Err(malformed(
                        byte_offset,
                        "if_tsoffset of an interface description block",
                        format!("{} bytes", value.len()),
                        "8 bytes",
                    ));
                }
            },
        };
        let link_type = (block.linktype.0 & 0xffff) as u16;
        self.clocks.push(Clock { link_type, resolution, offset_seconds });
        summary.interfaces.push(Interface {
            name: block.if_name().and_then(Result::ok).map(|name| name.trim_end_matches('\0').to_owned()),
            link_type,
            snap_length: Some(block.snaplen).filter(|length| *length > 0),
        });
        Ok(Step::Described)
    }

    fn secrets(&self, block: &[u8], byte_offset: u64, summary: &mut Capture) -> Result<Step, CaptureError> {
        let parsed = if self.big_endian {
            parse_decryptionsecretsblock_be(block)
        } else {
            parse_decryptionsecretsblock_le(block)
        };
        let Ok((_, block)) = parsed else {
            return Err(bad_fields(byte_offset, "decryption secrets block"));
        };
        // The parser hands out the padding as well.
        let length = block.data.len().min(block.secrets_len as usize);
        summary.secrets.push(Secrets { kind: block.secrets_type.0, data: block.data[..length].to_vec() });
        Ok(Step::Described)
    }
}

impl Clock {
    /// Rounds down to whole nanoseconds. `None` outside of what [`Time`] holds.
    fn time(self, ticks: u64) -> Option<Time> {
        // What nearly every file has; the general way costs several divisions of 128 bits.
        if self.offset_seconds == 0 && matches!(self.resolution, 6 | 9) {
            let nanoseconds_per_tick = if self.resolution == 9 { 1 } else { 1_000 };
            return ticks.checked_mul(nanoseconds_per_tick).map(Time::from_nanos);
        }
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & !POWER_OF_TWO);
        let nanoseconds = if self.resolution & POWER_OF_TWO != 0 {
            (ticks * 1_000_000_000) >> exponent
        } else if exponent <= 9 {
            ticks * 10_u128.pow(9 - exponent)
        } else {
            ticks / 10_u128.pow(exponent - 9)
        };
        let shifted = i128::try_from(nanoseconds).ok()? + i128::from(self.offset_seconds) * 1_000_000_000;
        u64::try_from(shifted).ok().map(Time::from_nanos)
    }
}

/// Whether a second has a number of ticks that fits in 64 bits.
fn exponent_fits(resolution: u8) -> bool {
    let largest = if resolution & POWER_OF_TWO != 0 { 63 } else { 19 };
    resolution & !POWER_OF_TWO <= largest
}

/// The first option of this code, without padding. `None` when it is not there.
fn option_value<'a>(options: &'a [PcapNGOption], code: OptionCode) -> Option<&'a [u8]> {
    let option = options.iter().find(|option| option.code == code)?;
    option.as_bytes().ok()
}

fn bad_fields(byte_offset: u64, block: &'static str) -> CaptureError {
    malformed(
        byte_offset,
        block,
        "fields that are longer than the block, or two lengths that differ".to_owned(),
        "fields that fill it",
    )
}

fn malformed(byte_offset: u64, what: &'static str, found: String, expected: &str) -> CaptureError {
    CaptureError::Malformed { byte_offset, what, found, expected: expected.to_owned() }
}
