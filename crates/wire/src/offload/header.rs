//! The header that comes before each frame with `PACKET_VNET_HDR` and `IFF_VNET_HDR`: `struct virtio_net_hdr` (linux/virtio_net.h).
//!
//! Bytes: flags, kind of segmentation, and four 16-bit numbers in the machine's byte order: length of the headers, payload of each packet,
//! where the checksum starts, and where from there it is stored. Places count from the first byte of the frame.

use crate::offload::checksum::{folded, sum};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 10;
/// Bytes of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;

/// Flag: the checksum is left to a card. Its field holds the sum of the pseudo-header.
pub const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of segmentation.
pub(crate) const KIND: usize = 1;
pub(crate) const KIND_NONE: u8 = 0;
pub(crate) const KIND_TCP_IPV4: u8 = 1;
pub(crate) const KIND_TCP_IPV6: u8 = 4;
pub(crate) const KIND_UDP: u8 = 5;
/// Comes with a kind of TCP: the first packet has the flag CWR (RFC 3168, section 6.1.2).
pub(crate) const KIND_ECN: u8 = 0x80;
pub(crate) const SEGMENT_BYTES: usize = 4;
pub(crate) const CHECKSUM_START: usize = 6;
pub(crate) const CHECKSUM_OFFSET: usize = 8;

/// Where the checksum of TCP and UDP is in their headers.
pub(crate) const TCP_CHECKSUM: usize = 16;
pub(crate) const UDP_CHECKSUM: usize = 6;

/// One of the 16-bit numbers of a header that is at least [`HEADER_BYTES`] long.
pub(crate) fn number(buffer: &[u8], place: usize) -> usize {
    usize::from(u16::from_ne_bytes([buffer[place], buffer[place + 1]]))
}

/// The header of a frame whose checksum is left to a card.
pub fn with_partial_checksum(start: u16, offset: u16) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0] = NEEDS_CHECKSUM;
    header[CHECKSUM_START..CHECKSUM_OFFSET].copy_from_slice(&start.to_ne_bytes());
    header[CHECKSUM_OFFSET..].copy_from_slice(&offset.to_ne_bytes());
    header
}

/// The header of a super-packet: `kind` as the kernel numbers them, payload of each packet, and where its checksum is.
pub fn of_super_packet(kind: u8, segment_bytes: u16, start: u16, offset: u16) -> [u8; HEADER_BYTES] {
    let mut header = with_partial_checksum(start, offset);
    header[KIND] = kind;
    header[SEGMENT_BYTES..CHECKSUM_START].copy_from_slice(&segment_bytes.to_ne_bytes());
    header
}

/// Whether the frame is yet to be cut into packets. False for what is no buffer at all.
pub fn is_super_packet(buffer: &[u8]) -> bool {
    buffer.get(KIND).is_some_and(|kind| *kind != KIND_NONE)
}

/// Computes the checksum that the sender left to its card, over the bytes that it names and what it has summed up of the others. A
/// checksum that was not left to a card stays as it is.
pub fn complete_checksum(buffer: &mut [u8]) {
    if buffer.len() < HEADER_BYTES || buffer[0] & NEEDS_CHECKSUM == 0 {
        return;
    }
    let (start, offset) = (number(buffer, CHECKSUM_START), number(buffer, CHECKSUM_OFFSET));
    let (header, frame) = buffer.split_at_mut(HEADER_BYTES);
    header.fill(0);
    let Some(summed) = frame.get_mut(start..).filter(|summed| summed.len() >= offset + 2) else { return };
    let checksum = match !folded(sum(summed)) {
        // Of UDP a checksum of 0 says that there is none (RFC 768).
        0 if offset == UDP_CHECKSUM => u16::MAX,
        checksum => checksum,
    };
    summed[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_of_udp_is_never_0() {
        // The sum of the pseudo-header makes all others 0xffff.
        let mut buffer = with_partial_checksum(ETHERNET_BYTES as u16, UDP_CHECKSUM as u16).to_vec();
        buffer.extend([0; ETHERNET_BYTES]);
        buffer.extend([0, 1, 0, 2, 0, 8, 0xff, 0xf4]);
        complete_checksum(&mut buffer);
        assert_eq!(buffer[HEADER_BYTES + ETHERNET_BYTES + UDP_CHECKSUM..], [0xff, 0xff]);
        assert_eq!(buffer[..HEADER_BYTES], [0; HEADER_BYTES]);
    }

    #[test]
    fn places_outside_of_the_frame_change_nothing() {
        for (start, offset) in [(60_000, 6), (14, 60_000), (14, 7)] {
            let mut buffer = with_partial_checksum(start, offset).to_vec();
            buffer.extend([1; ETHERNET_BYTES + 8]);
            complete_checksum(&mut buffer);
            assert_eq!(buffer[HEADER_BYTES..], [1; ETHERNET_BYTES + 8]);
        }
    }
}
