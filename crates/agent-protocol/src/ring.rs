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
    /// What is before the frame: its `struct virtio_net_hdr`, where the tap asked for it.
    pub header: &'a [u8],
}

/// Why a ring could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("capture ring, block {block}, packet {packet}: {problem}")]
pub struct RingError {
    /// Which block, from 0.
    pub block: usize,
    /// Which packet in it, from 0.
    pub packet: u32,
    /// What is wrong there.
    pub problem: RingProblem,
}

/// What is wrong at one place of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingProblem {
    /// Something lies outside the block.
    #[error("{what} is outside the block of {block_bytes} bytes")]
    Outside {
        /// What was looked for.
        what: &'static str,
        /// Length of the block.
        block_bytes: usize,
    },
    /// The first packet lies in the header of its block.
    #[error(
        "found the first packet at offset {found}, expected {BLOCK_HEADER} or more, behind the header of the block"
    )]
    InBlockHeader {
        /// Where the block says that it starts.
        found: usize,
    },
    /// The bytes of a packet lie in its own header.
    #[error("found its bytes at offset {found} of the packet, expected {PACKET_HEADER} or more, behind its header")]
    InPacketHeader {
        /// Where the packet says that they start.
        found: usize,
    },
    /// The next packet begins inside this one, or is this one.
    #[error("found the next packet {found} bytes further, expected {expected} or more, behind this one")]
    Overlap {
        /// What the packet says.
        found: usize,
        /// Its length.
        expected: usize,
    },
    /// The ring has more bytes of a packet than the packet has.
    #[error("found {captured} captured bytes of a packet of {length}")]
    TooManyCaptured {
        /// Bytes in the ring.
        captured: usize,
        /// Length on the wire.
        length: u32,
    },
    /// A second has fewer nanoseconds.
    #[error("found {0} ns after the full second, expected less than 1000000000")]
    Nanoseconds(u32),
}

/// `sizeof(struct tpacket_block_desc)`.
const BLOCK_HEADER: usize = 48;
const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST_PACKET: usize = 16;
const BLOCK_LENGTH: usize = 20;
const PACKET_NEXT: usize = 0;
const PACKET_SECONDS: usize = 4;
const PACKET_NANOSECONDS: usize = 8;
const PACKET_CAPTURED: usize = 12;
const PACKET_LENGTH: usize = 16;
const PACKET_STATUS: usize = 20;
/// `TP_STATUS_TS_RAW_HARDWARE`.
const STAMPED_BY_HARDWARE: u32 = 1 << 31;
const PACKET_MAC: usize = 24;
/// `TPACKET_ALIGN(sizeof(struct tpacket3_hdr))`: behind it stands the `sockaddr_ll`.
const PACKET_ADDRESS: usize = 48;
const ADDRESS_PACKET_TYPE: usize = 10;
const PACKET_OUTGOING: u8 = 4;
/// `TPACKET3_HDRLEN`: the header and the `sockaddr_ll`.
const PACKET_HEADER: usize = PACKET_ADDRESS + 20;
/// `sizeof(struct virtio_net_hdr)`.
const FRAME_HEADER: usize = 10;
/// No packet takes less of a block, so a ring has fewer packets than its length divided by this.
pub const LEAST_PACKET: usize = PACKET_HEADER;

/// True where a block has been written to.
pub fn holds_packets(block: &[u8]) -> bool {
    read_u32(block, BLOCK_PACKETS).is_some_and(|count| count > 0)
}

/// Bytes of a block that have been written to, from its start; all of them where it says that there are more.
pub fn used_bytes(block: &[u8]) -> usize {
    read_u32(block, BLOCK_LENGTH).map_or(block.len(), |bytes| block.len().min(bytes as usize))
}

/// Hands every packet of a ring to `visit`, in the order of arrival. Packets follow each other in a block and do not overlap, so there are
/// never more than the ring has room for, whatever the bytes say.
///
/// # Errors
/// Where the bytes are not those of a ring with blocks of `block_bytes`.
pub fn for_each_packet<'a>(
    ring: &'a [u8],
    block_bytes: usize,
    mut visit: impl FnMut(RingPacket<'a>),
) -> Result<(), RingError> {
    for_each_place(ring, block_bytes, |_, packet| visit(packet))
}

/// Makes a capture of the other end of a link one of this end: what came in there is what left here, and each time is later by what `shift_ns`
/// answers for it. Times outside of what a ring can hold become the nearest ones that it can.
///
/// # Errors
/// As [`for_each_packet`]; then nothing is changed.
pub fn move_to_other_end(ring: &mut [u8], block_bytes: usize, shift_ns: impl Fn(u64) -> i64) -> Result<(), RingError> {
    change(ring, block_bytes, shift_ns, true)
}

/// The same at this end of the link: only the times change.
///
/// # Errors
/// As [`for_each_packet`]; then nothing is changed.
pub fn move_in_time(ring: &mut [u8], block_bytes: usize, shift_ns: impl Fn(u64) -> i64) -> Result<(), RingError> {
    change(ring, block_bytes, shift_ns, false)
}

/// Says of each packet anew, by its bytes, whether the host at the tap sent it.
///
/// # Errors
/// As [`for_each_packet`]; then nothing is changed.
pub fn set_directions(
    ring: &mut [u8],
    block_bytes: usize,
    is_outgoing: impl Fn(&[u8]) -> bool,
) -> Result<(), RingError> {
    let mut places = Vec::new();
    for_each_place(ring, block_bytes, |place, packet| places.push((place, is_outgoing(packet.bytes))))?;
    for (place, outgoing) in places {
        ring[place + PACKET_ADDRESS + ADDRESS_PACKET_TYPE] = if outgoing { PACKET_OUTGOING } else { 0 };
    }
    Ok(())
}

/// Packets whose time is not that of the network card.
///
/// # Errors
/// As [`for_each_packet`].
pub fn without_hardware_stamps(ring: &[u8], block_bytes: usize) -> Result<u64, RingError> {
    let mut without = 0;
    for_each_place(ring, block_bytes, |place, _| {
        let status = read_u32(ring, place + PACKET_STATUS).unwrap_or(0);
        without += u64::from(status & STAMPED_BY_HARDWARE == 0);
    })?;
    Ok(without)
}

fn change(
    ring: &mut [u8],
    block_bytes: usize,
    shift_ns: impl Fn(u64) -> i64,
    is_other_end: bool,
) -> Result<(), RingError> {
    let mut places = Vec::new();
    for_each_place(ring, block_bytes, |place, packet| places.push((place, packet.time_ns, packet.outgoing)))?;
    for (place, time_ns, outgoing) in places {
        let time_ns = time_ns.saturating_add_signed(shift_ns(time_ns));
        let seconds = u32::try_from(time_ns / 1_000_000_000).unwrap_or(u32::MAX);
        let mut write = |offset: usize, value: u32| {
            ring[place + offset..place + offset + 4].copy_from_slice(&value.to_ne_bytes());
        };
        write(PACKET_SECONDS, seconds);
        write(PACKET_NANOSECONDS, (time_ns % 1_000_000_000) as u32);
        if is_other_end {
            ring[place + PACKET_ADDRESS + ADDRESS_PACKET_TYPE] = if outgoing { 0 } else { PACKET_OUTGOING };
        }
    }
    Ok(())
}

/// [`for_each_packet`] with where each packet begins in the ring.
fn for_each_place<'a>(
    ring: &'a [u8],
    block_bytes: usize,
    mut visit: impl FnMut(usize, RingPacket<'a>),
) -> Result<(), RingError> {
    for (number, block) in ring.chunks(block_bytes.max(1)).enumerate() {
        let at = |packet| move |problem| RingError { block: number, packet, problem };
        let outside = |what| RingProblem::Outside { what, block_bytes };
        let header = |offset| read_u32(block, offset).ok_or_else(|| at(0)(outside("the block header")));
        let count = header(BLOCK_PACKETS)?;
        let mut offset = header(BLOCK_FIRST_PACKET)? as usize;
        if count > 0 && offset < BLOCK_HEADER {
            return Err(at(0)(RingProblem::InBlockHeader { found: offset }));
        }
        for packet in 0..count {
            let rest = block.get(offset..).ok_or_else(|| at(packet)(outside("the packet header")))?;
            let (next, parsed) = parse(rest).map_err(|problem| at(packet)(problem.unwrap_or(outside("the packet"))))?;
            let is_last = packet + 1 == count;
            // The kernel writes 0 for the last one of a block that it has closed.
            if !is_last && next < parsed.end {
                return Err(at(packet)(RingProblem::Overlap { found: next, expected: parsed.end }));
            }
            visit(number * block_bytes.max(1) + offset, parsed.packet);
            offset = offset.saturating_add(next);
        }
    }
    Ok(())
}

/// A packet, and where it ends from where it starts.
struct Parsed<'a> {
    packet: RingPacket<'a>,
    end: usize,
}

/// The packet at the start of `rest`, and how far behind it the next one is. `Err(None)` where it does not fit.
fn parse(rest: &[u8]) -> Result<(usize, Parsed<'_>), Option<RingProblem>> {
    let header: &[u8; PACKET_HEADER] = rest.first_chunk().ok_or(None)?;
    let field = |offset| read_u32(header, offset).ok_or(None);
    let nanoseconds = field(PACKET_NANOSECONDS)?;
    if nanoseconds >= 1_000_000_000 {
        return Err(Some(RingProblem::Nanoseconds(nanoseconds)));
    }
    let original_length = field(PACKET_LENGTH)?;
    let captured = field(PACKET_CAPTURED)? as usize;
    if captured > original_length as usize {
        return Err(Some(RingProblem::TooManyCaptured { captured, length: original_length }));
    }
    let start = usize::from(u16::from_ne_bytes([header[PACKET_MAC], header[PACKET_MAC + 1]]));
    if start < PACKET_HEADER {
        return Err(Some(RingProblem::InPacketHeader { found: start }));
    }
    let end = start.checked_add(captured).ok_or(None)?;
    let packet = RingPacket {
        time_ns: u64::from(field(PACKET_SECONDS)?) * 1_000_000_000 + u64::from(nanoseconds),
        original_length,
        outgoing: header[PACKET_ADDRESS + ADDRESS_PACKET_TYPE] == PACKET_OUTGOING,
        bytes: rest.get(start..end).ok_or(None)?,
        header: rest.get(start - FRAME_HEADER..start).ok_or(None)?,
    };
    Ok((field(PACKET_NEXT)? as usize, Parsed { packet, end }))
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
    fn a_capture_of_the_other_end_has_other_times_and_directions_and_the_same_bytes() {
        let one = block(&[(1_700_000_000_999_999_999, b"first", true), (1_700_000_001_000_000_000, b"second", false)]);
        let mut bytes = [one.clone(), one].concat();
        let block_bytes = bytes.len() / 2;
        let packets = |bytes: &[u8]| {
            let mut found = Vec::new();
            let visit = |packet: RingPacket| found.push((packet.time_ns, packet.outgoing, packet.bytes.to_vec()));
            for_each_packet(bytes, block_bytes, visit).unwrap();
            found
        };
        move_to_other_end(&mut bytes, block_bytes, |_| 2).unwrap();
        let first = [
            (1_700_000_001_000_000_001, false, b"first".to_vec()),
            (1_700_000_001_000_000_002, true, b"second".to_vec()),
        ];
        assert_eq!(packets(&bytes), [first.clone(), first].concat());
        move_to_other_end(&mut bytes, block_bytes, |_| -3).unwrap();
        assert_eq!(packets(&bytes)[0].0, 1_700_000_000_999_999_998);
        let directions: Vec<bool> = packets(&bytes).iter().map(|packet| packet.1).collect();
        move_in_time(&mut bytes, block_bytes, |time| if time < 1_700_000_000_999_999_999 { 5 } else { 7 }).unwrap();
        let times: Vec<u64> = packets(&bytes)[..2].iter().map(|packet| packet.0).collect();
        assert_eq!(times, [1_700_000_001_000_000_003, 1_700_000_001_000_000_006]);
        assert_eq!(packets(&bytes).iter().map(|packet| packet.1).collect::<Vec<_>>(), directions);
    }

    #[test]
    fn directions_follow_from_the_bytes_and_stamps_from_the_status() {
        let mut bytes = block(&[(1, b"server", false), (2, b"client", true)]);
        set_directions(&mut bytes, 4096, |packet| packet.starts_with(b"server")).unwrap();
        let mut found = Vec::new();
        for_each_packet(&bytes, 4096, |packet| found.push(packet.outgoing)).unwrap();
        assert_eq!(found, [true, false]);
        assert_eq!(without_hardware_stamps(&bytes, 4096).unwrap(), 2);
        let stamped = with(&bytes, PACKET_STATUS, STAMPED_BY_HARDWARE | 1);
        assert_eq!(without_hardware_stamps(&stamped, 4096).unwrap(), 1);
    }

    #[test]
    fn a_ring_cut_off_anywhere_is_an_error_and_no_panic() {
        let bytes = block(&[(1, b"first", true), (2, b"second", false)]);
        for length in 1..bytes.len() - 16 {
            assert!(for_each_packet(&bytes[..length], bytes.len(), |_| ()).is_err(), "cut at {length}");
        }
    }

    /// Sets a field of the first packet.
    fn with(bytes: &[u8], offset: usize, value: u32) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[48 + offset..48 + offset + 4].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_count_that_the_block_has_no_room_for_is_an_error_and_visits_no_packet_twice() {
        let good = block(&[(1, b"first", true), (2, b"second", false)]);
        for next in [0_u32, 1, 67, 86] {
            let mut forged = with(&good, PACKET_NEXT, next);
            forged[BLOCK_PACKETS..BLOCK_PACKETS + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
            let error = for_each_packet(&forged, forged.len(), |_| panic!("a packet of a forged ring")).unwrap_err();
            let found = next as usize;
            assert_eq!(error.problem, RingProblem::Overlap { found, expected: 87 }, "{error}");
        }
        let mut many = good.clone();
        many[BLOCK_PACKETS..BLOCK_PACKETS + 4].copy_from_slice(&u32::MAX.to_ne_bytes());
        let mut visited = 0;
        assert!(for_each_packet(&many, many.len(), |_| visited += 1).is_err());
        assert_eq!(visited, 2, "packets that are there come before the error");
    }

    #[test]
    fn the_last_packet_of_a_closed_block_names_no_next_one() {
        let one = with(&block(&[(1, b"only", true)]), PACKET_NEXT, 0);
        assert!(for_each_packet(&one, one.len(), |_| ()).is_ok());
    }

    #[test]
    fn what_a_packet_says_of_itself_must_make_sense() {
        let good = block(&[(1, b"first", true)]);
        for (offset, value, problem) in [
            (PACKET_NANOSECONDS, 1_000_000_000, RingProblem::Nanoseconds(1_000_000_000)),
            (PACKET_LENGTH, 4, RingProblem::TooManyCaptured { captured: 5, length: 4 }),
            (PACKET_MAC, 67, RingProblem::InPacketHeader { found: 67 }),
            (PACKET_CAPTURED, 1514, RingProblem::Outside { what: "the packet", block_bytes: good.len() }),
        ] {
            let error = for_each_packet(&with(&good, offset, value), good.len(), |_| ()).unwrap_err();
            assert_eq!(error.problem, problem);
        }
        let mut in_header = good.clone();
        in_header[BLOCK_FIRST_PACKET..BLOCK_FIRST_PACKET + 4].copy_from_slice(&47_u32.to_ne_bytes());
        let error = for_each_packet(&in_header, good.len(), |_| ()).unwrap_err();
        assert_eq!(error.problem, RingProblem::InBlockHeader { found: 47 });
    }

    #[test]
    fn a_ring_of_any_bytes_never_panics() {
        for value in [0x01_u8, 0x7f, 0xff] {
            let _ = for_each_packet(&vec![value; 4096], 1024, |_| ());
        }
    }
}
