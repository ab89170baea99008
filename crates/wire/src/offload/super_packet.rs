//! Segmentation: what a card sends of a super-packet, as Linux does it in software (`__udp_gso_segment`, `tcp_gso_segment`,
//! `inet_gso_segment`).

use thiserror::Error;

use crate::offload::{
    checksum::{complete_ipv4, folded},
    header::{
        CHECKSUM_OFFSET, CHECKSUM_START, ETHERNET_BYTES, HEADER_BYTES, KIND, KIND_ECN, KIND_NONE, KIND_TCP_IPV4,
        KIND_TCP_IPV6, KIND_UDP, NEEDS_CHECKSUM, SEGMENT_BYTES, TCP_CHECKSUM, UDP_CHECKSUM, number,
        with_partial_checksum,
    },
};

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// Where TCP's flags are, and those that not all packets of a super-packet have.
const TCP_FLAGS: usize = 13;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Why a buffer cannot be cut.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CutError {
    /// A kind of segmentation that is not UDP's or TCP's.
    #[error("found segmentation of kind {0:#x}, expected UDP (0x5), TCP over IPv4 (0x1) or TCP over IPv6 (0x4)")]
    Kind(u8),
    /// The header says something that the frame does not have.
    #[error("found a super-packet of {bytes} bytes with {found}, expected {expected}")]
    Header {
        /// Bytes of its frame.
        bytes: usize,
        /// What does not fit.
        found: String,
        /// What does.
        expected: &'static str,
    },
}

/// A frame that is yet to be cut.
#[derive(Clone, Copy, Debug)]
pub struct SuperPacket<'a> {
    frame: &'a [u8],
    is_ipv4: bool,
    is_tcp: bool,
    /// Where the header of TCP or UDP starts.
    transport: usize,
    /// Where their payload starts.
    payload: usize,
    segment_bytes: usize,
}

impl<'a> SuperPacket<'a> {
    /// Looks at a buffer; `None` where its frame is a packet already.
    ///
    /// # Errors
    /// A super-packet that cannot be cut.
    pub fn read(buffer: &'a [u8]) -> Result<Option<Self>, CutError> {
        let Some((header, frame)) =
            buffer.split_at_checked(HEADER_BYTES).filter(|(header, _)| header[KIND] != KIND_NONE)
        else {
            return Ok(None);
        };
        let wrong = |found: String, expected| CutError::Header { bytes: frame.len(), found, expected };
        let is_ipv4 = frame.get(12..14) == Some(&IPV4);
        let is_tcp = match header[KIND] & !KIND_ECN {
            KIND_TCP_IPV4 if is_ipv4 => true,
            KIND_TCP_IPV6 if frame.get(12..14) == Some(&IPV6) => true,
            KIND_UDP if is_ipv4 || frame.get(12..14) == Some(&IPV6) => false,
            KIND_TCP_IPV4 | KIND_TCP_IPV6 | KIND_UDP => {
                let found = format!("EtherType {:02x?}", frame.get(12..14).unwrap_or_default());
                return Err(wrong(found, "that of IPv4 or IPv6, as its kind of segmentation says"));
            }
            _ => return Err(CutError::Kind(header[KIND])),
        };
        if header[0] & NEEDS_CHECKSUM == 0 {
            return Err(wrong("a complete checksum".to_owned(), "one that is left to the card"));
        }
        let transport = number(header, CHECKSUM_START);
        let offset = number(header, CHECKSUM_OFFSET);
        let expected_offset = if is_tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        let least = ETHERNET_BYTES + if is_ipv4 { IPV4_HEADER } else { IPV6_HEADER };
        if transport < least || offset != expected_offset {
            let found = format!("its checksum at {transport} + {offset}");
            return Err(wrong(found, "it in the header of UDP (+ 6) or TCP (+ 16), behind that of IP"));
        }
        let payload = match is_tcp {
            true => frame.get(transport + 12).map(|byte| transport + (usize::from(byte >> 4) * 4).max(TCP_HEADER)),
            false => Some(transport + UDP_HEADER),
        };
        let Some(payload) = payload.filter(|payload| *payload <= frame.len()) else {
            return Err(wrong(format!("headers from byte {transport} on"), "a frame that has them whole"));
        };
        let segment_bytes = number(header, SEGMENT_BYTES);
        if segment_bytes == 0 {
            return Err(wrong("packets without payload".to_owned(), "at least 1 byte in each"));
        }
        Ok(Some(Self { frame, is_ipv4, is_tcp, transport, payload, segment_bytes }))
    }

    /// How many packets it becomes.
    pub fn count(&self) -> usize {
        self.frame[self.payload..].len().div_ceil(self.segment_bytes).max(1)
    }

    /// The packets as buffers, in order. Their checksums are left to a card.
    pub fn packets(self) -> impl ExactSizeIterator<Item = Vec<u8>> + 'a {
        (0..self.count()).map(move |index| self.packet(index))
    }

    fn packet(&self, index: usize) -> Vec<u8> {
        let payload = &self.frame[self.payload..];
        let from = index * self.segment_bytes;
        let is_last = index + 1 == self.count();
        let part = &payload[from..payload.len().min(from + self.segment_bytes)];
        let offset = if self.is_tcp { TCP_CHECKSUM } else { UDP_CHECKSUM };
        let mut buffer = Vec::with_capacity(HEADER_BYTES + self.payload + part.len());
        buffer.extend(with_partial_checksum(self.transport as u16, offset as u16));
        buffer.extend(&self.frame[..self.payload]);
        buffer.extend(part);

        let length = self.payload - self.transport + part.len();
        let (below, transport) = buffer[HEADER_BYTES..].split_at_mut(self.transport);
        self.number_ip(&mut below[ETHERNET_BYTES..], index, length);
        // The sum of the pseudo-header covers the length: the old one goes, the new one comes (RFC 1624, section 3).
        let old_length = (self.frame.len() - self.transport) as u16;
        let summed = u16::from_be_bytes([transport[offset], transport[offset + 1]]);
        let summed = folded(u64::from(summed) + u64::from(!old_length) + length as u64);
        transport[offset..offset + 2].copy_from_slice(&summed.to_be_bytes());
        if self.is_tcp {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            transport[4..8].copy_from_slice(&sequence.wrapping_add(from as u32).to_be_bytes());
            if !is_last {
                transport[TCP_FLAGS] &= !(FIN | PSH);
            }
            if index > 0 {
                transport[TCP_FLAGS] &= !CWR;
            }
        } else {
            transport[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        }
        buffer
    }

    /// Writes what is different in the `index`-th packet's header of IP, of which `length` bytes are TCP or UDP.
    fn number_ip(&self, header: &mut [u8], index: usize, length: usize) {
        if self.is_ipv4 {
            let total = (header.len() + length) as u16;
            let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(index as u16);
            header[2..4].copy_from_slice(&total.to_be_bytes());
            header[4..6].copy_from_slice(&identification.to_be_bytes());
            complete_ipv4(header);
        } else {
            let extensions = header.len() - IPV6_HEADER;
            header[4..6].copy_from_slice(&((extensions + length) as u16).to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
