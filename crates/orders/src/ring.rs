//! Reads what a tap's ring holds: `TPACKET_V3` blocks as the kernel wrote them (`linux/if_packet.h`).
//!
//! The ring leaves the guest as it is, because taking it apart there would cost virtual time. These are foreign bytes:
//! nothing here panics on them.

/// A packet in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPacket<'a> {
    /// When it passed the tap, ns since the Unix epoch.
    pub time_ns: u64,
    /// Length on the wire, Ethernet header included.
    pub original_length: u32,
    /// True where the packet left through the tapped interface, false where it came in.
    pub outgoing: bool,
    /// The first bytes of it.
    pub bytes: &'a [u8],
}

/// Why a ring could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("capture ring, block {block}, packet {packet}: {what} is outside the block of {block_bytes} bytes")]
pub struct RingError {
    /// Which block, from 0.
    pub block: usize,
    /// Which packet in it, from 0.
    pub packet: u32,
    /// What was looked for.
    pub what: &'static str,
    /// Length of a block.
    pub block_bytes: usize,
}

const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST_PACKET: usize = 16;
const PACKET_NEXT: usize = 0;
const PACKET_SECONDS: usize = 4;
const PACKET_NANOSECONDS: usize = 8;
const PACKET_CAPTURED: usize = 12;
const PACKET_LENGTH: usize = 16;
const PACKET_MAC: usize = 24;
/// `TPACKET_ALIGN(sizeof(struct tpacket3_hdr))`: behind it stands the `sockaddr_ll`.
const PACKET_ADDRESS: usize = 48;
const ADDRESS_PACKET_TYPE: usize = 10;
const PACKET_OUTGOING: u8 = 4;

/// True where a block has been written to.
pub fn holds_packets(block: &[u8]) -> bool {
    read_u32(block, BLOCK_PACKETS).is_some_and(|count| count > 0)
}

/// Hands every packet of a ring to `visit`, in the order of arrival.
///
/// # Errors
/// Where the bytes are not those of a ring with blocks of `block_bytes`.
pub fn for_each_packet<'a>(
    ring: &'a [u8],
    block_bytes: usize,
    mut visit: impl FnMut(RingPacket<'a>),
) -> Result<(), RingError> {
    for (number, block) in ring.chunks(block_bytes.max(1)).enumerate() {
        let error = |packet, what| RingError { block: number, packet, what, block_bytes };
        let count = read_u32(block, BLOCK_PACKETS).ok_or(error(0, "the block header"))?;
        let mut offset = read_u32(block, BLOCK_FIRST_PACKET).ok_or(error(0, "the block header"))? as usize;
        for packet in 0..count {
            let header = block.get(offset..).ok_or(error(packet, "the packet header"))?;
            let (next, parsed) = parse(header).ok_or(error(packet, "the packet"))?;
            visit(parsed);
            offset = offset.saturating_add(next);
        }
    }
    Ok(())
}

fn parse(header: &[u8]) -> Option<(usize, RingPacket<'_>)> {
    let seconds = u64::from(read_u32(header, PACKET_SECONDS)?);
    let nanoseconds = u64::from(read_u32(header, PACKET_NANOSECONDS)?);
    let captured = read_u32(header, PACKET_CAPTURED)? as usize;
    let start = usize::from(u16::from_ne_bytes(header.get(PACKET_MAC..PACKET_MAC + 2)?.try_into().ok()?));
    let packet = RingPacket {
        time_ns: seconds * 1_000_000_000 + nanoseconds,
        original_length: read_u32(header, PACKET_LENGTH)?,
        outgoing: *header.get(PACKET_ADDRESS + ADDRESS_PACKET_TYPE)? == PACKET_OUTGOING,
        bytes: header.get(start..start.checked_add(captured)?)?,
    };
    Some((read_u32(header, PACKET_NEXT)? as usize, packet))
}

fn read_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(packets: &[(u64, &[u8], bool)]) -> Vec<u8> {
        let mut block = vec![0_u8; 48];
        block[BLOCK_PACKETS..BLOCK_PACKETS + 4].copy_from_slice(&(packets.len() as u32).to_ne_bytes());
        block[BLOCK_FIRST_PACKET..BLOCK_FIRST_PACKET + 4].copy_from_slice(&48_u32.to_ne_bytes());
        for (time, bytes, outgoing) in packets {
            let mut packet = vec![0_u8; 82];
            let length = (82 + bytes.len()).next_multiple_of(16);
            packet[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            packet[4..8].copy_from_slice(&((time / 1_000_000_000) as u32).to_ne_bytes());
            packet[8..12].copy_from_slice(&((time % 1_000_000_000) as u32).to_ne_bytes());
            packet[12..16].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
            packet[16..20].copy_from_slice(&1514_u32.to_ne_bytes());
            packet[24..26].copy_from_slice(&82_u16.to_ne_bytes());
            packet[58] = if *outgoing { 4 } else { 0 };
            packet.extend(*bytes);
            packet.resize(length, 0);
            block.extend(packet);
        }
        block
    }

    #[test]
    fn packets_come_in_order_with_their_times_and_directions() {
        let bytes =
            block(&[(1_700_000_000_000_000_001, b"first", true), (1_700_000_000_000_000_002, b"second", false)]);
        let mut found = Vec::new();
        for_each_packet(&bytes, bytes.len(), |packet| {
            found.push((packet.time_ns, packet.bytes.to_vec(), packet.outgoing))
        })
        .unwrap();
        assert_eq!(
            found,
            [
                (1_700_000_000_000_000_001, b"first".to_vec(), true),
                (1_700_000_000_000_000_002, b"second".to_vec(), false)
            ]
        );
    }

    #[test]
    fn a_ring_cut_off_anywhere_is_an_error_and_no_panic() {
        let bytes = block(&[(1, b"first", true), (2, b"second", false)]);
        for length in 1..bytes.len() - 16 {
            assert!(for_each_packet(&bytes[..length], bytes.len(), |_| ()).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn a_ring_of_any_bytes_never_panics() {
        for value in [0x01_u8, 0x7f, 0xff] {
            let _ = for_each_packet(&vec![value; 4096], 1024, |_| ());
        }
    }
}
