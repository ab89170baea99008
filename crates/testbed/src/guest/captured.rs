//! The packets of a tap: as its ring has them, where super-packets are cut as a network card would cut them.

use std::borrow::Cow;

use anyhow::{Context, Result};
use quiclab_agent_protocol::{
    report::TapReport,
    ring::{self, RingPacket},
};
use quiclab_wire::offload::{
    SuperPacket,
    header::{HEADER_BYTES, is_super_packet},
};

/// A packet.
pub(super) struct Captured<'a> {
    /// When it, or the super-packet that it was part of, passed the tap, in ns since the Unix epoch.
    pub time_ns: u64,
    /// Length on the wire, Ethernet header included.
    pub original_length: u32,
    /// True where the packet left through the tapped interface, false where it came in.
    pub outgoing: bool,
    /// The first bytes of it.
    pub bytes: Cow<'a, [u8]>,
}

impl<'a> Captured<'a> {
    fn whole(packet: &RingPacket<'a>) -> Self {
        let RingPacket { time_ns, original_length, outgoing, bytes, .. } = *packet;
        Self { time_ns, original_length, outgoing, bytes: bytes.into() }
    }
}

/// Hands every packet of `ring` to `visit`, in the order of arrival. Answers how many super-packets there were.
///
/// # Errors
/// A ring that makes no sense, or a super-packet that cannot be cut.
pub(super) fn for_each_packet<'a>(ring: &'a [u8], tap: &TapReport, mut visit: impl FnMut(Captured<'a>)) -> Result<u64> {
    let block_bytes = usize::try_from(tap.block_bytes).unwrap_or(usize::MAX);
    let mut super_packets = 0;
    let mut wrong = None;
    ring::for_each_packet(ring, block_bytes, |packet| {
        if !tap.has_headers {
            return visit(Captured::whole(&packet));
        }
        let mut add = |bytes: Cow<'a, [u8]>| {
            let original_length = bytes.len() as u32;
            visit(Captured { original_length, bytes: kept(bytes, tap.snaplen), ..Captured::whole(&packet) });
        };
        // Frames that are to be cut are kept whole.
        if !is_super_packet(packet.header) || packet.bytes.len() != packet.original_length as usize {
            return add(packet.bytes.into());
        }
        let buffer = [packet.header, packet.bytes].concat();
        match SuperPacket::read(&buffer) {
            Ok(Some(whole)) => {
                super_packets += 1;
                whole.packets().for_each(|packet| add(packet[HEADER_BYTES..].to_vec().into()));
            }
            Ok(None) => add(packet.bytes.into()),
            Err(error) => wrong = Some(error),
        }
    })?;
    match wrong {
        Some(error) => Err(error).with_context(|| format!("the tap {:?}", tap.name)),
        None => Ok(super_packets),
    }
}

/// The bytes of a packet, as many as the tap keeps of each.
fn kept(bytes: Cow<'_, [u8]>, snaplen: Option<u32>) -> Cow<'_, [u8]> {
    let length = snaplen.map_or(bytes.len(), |most| bytes.len().min(most as usize));
    match bytes {
        Cow::Borrowed(bytes) => bytes[..length].into(),
        Cow::Owned(mut bytes) => {
            bytes.truncate(length);
            bytes.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use quiclab_wire::offload::header::{of_super_packet, with_partial_checksum};

    use super::*;

    /// A block with frames and the kernel's header before each.
    fn block(frames: &[([u8; HEADER_BYTES], Vec<u8>)]) -> Vec<u8> {
        const START: usize = 96;
        let mut block = vec![0; 48];
        block[12..16].copy_from_slice(&(frames.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48_u32.to_ne_bytes());
        for (header, frame) in frames {
            let mut packet = vec![0; START];
            let length = (START + frame.len()).next_multiple_of(16);
            packet[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            for place in [12, 16] {
                packet[place..place + 4].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
            }
            packet[24..26].copy_from_slice(&(START as u16).to_ne_bytes());
            packet[START - HEADER_BYTES..START].copy_from_slice(header);
            packet.extend(frame);
            packet.resize(length, 0);
            block.extend(packet);
        }
        block
    }

    fn datagram(payload: usize) -> Vec<u8> {
        let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6])
            .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .udp(443, 50_000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    #[test]
    fn a_super_packet_counts_as_the_packets_that_it_becomes_and_each_is_cut_to_the_tap_s_length() {
        let frames = [
            (with_partial_checksum(34, 6), datagram(100)),
            (of_super_packet(5, 1200, 34, 6), datagram(3000)),
            ([0; HEADER_BYTES], datagram(1200)),
        ];
        let bytes = block(&frames);
        let tap = |has_headers, snaplen| TapReport {
            name: "sender".to_owned(),
            snaplen,
            packets_seen: 3,
            packets_lost: 0,
            block_bytes: bytes.len() as u64,
            blocks_used: 1,
            last_block_bytes: None,
            no_hardware_stamps: None,
            has_headers,
        };
        let lengths = |tap: &TapReport| {
            let mut found = Vec::new();
            let count = for_each_packet(&bytes, tap, |one| found.push((one.original_length, one.bytes.len()))).unwrap();
            (count, found)
        };
        let whole = [142, 1242, 1242, 642, 1242];
        assert_eq!(lengths(&tap(true, None)), (1, whole.map(|length| (length, length as usize)).into()));
        assert_eq!(lengths(&tap(true, Some(128))), (1, whole.map(|length| (length, 128)).into()));
        assert_eq!(lengths(&tap(false, None)), (0, [142, 3042, 1242].map(|length| (length, length as usize)).into()));
    }
}
