use quiclab_wire::offload::{
    checksum::{folded, sum},
    header::{NEEDS_CHECKSUM, of_super_packet, with_partial_checksum},
};

use super::*;

pub(super) const PAYLOAD: &[u8] = b"a datagram of odd length";

/// A UDP datagram whose checksum is left to the card: the field holds the sum of the pseudo-header.
pub(crate) fn datagram(is_ipv6: bool, ecn: u8, source_port: u16) -> Frame {
    let length = (8 + PAYLOAD.len()) as u16;
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    let (addresses, above) = if is_ipv6 {
        bytes.extend(IPV6);
        bytes.extend([0x60, ecn << 4, 0, 0]);
        bytes.extend(length.to_be_bytes());
        bytes.extend([UDP, 64]);
        let addresses: Vec<u8> = (0..32).collect();
        bytes.extend(&addresses);
        (addresses, 54)
    } else {
        bytes.extend(IPV4);
        let mut header = vec![0x45, ecn];
        header.extend((20 + length).to_be_bytes());
        header.extend([0, 1, 0x40, 0, 64, UDP, 0, 0, 193, 167, 100, 100, 193, 167, 0, 100]);
        let checksum = !folded(sum(&header));
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend(&header);
        (header[12..].to_vec(), 34)
    };
    bytes.extend(source_port.to_be_bytes());
    bytes.extend(4433_u16.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    let pseudo = folded(sum(&addresses) + u64::from(length) + u64::from(UDP));
    bytes.extend(pseudo.to_be_bytes());
    bytes.extend(PAYLOAD);
    let mut buffer = with_partial_checksum(above, 6).to_vec();
    buffer.extend(bytes);
    Frame::new(buffer).unwrap()
}

/// Whether a host takes the frame for whole: the checksums of IPv4 and of UDP, by the rule of RFC 768 and RFC 8200.
pub(super) fn is_accepted(frame: &Frame) -> bool {
    assert_eq!(frame.buffer()[0], 0, "the checksum is still left to the card");
    let bytes = frame.bytes();
    let (addresses, above) = match &bytes[12..14] {
        [8, 0] => {
            if bytes[14] != 0x45 || folded(sum(&bytes[14..34])) != u16::MAX {
                return false;
            }
            (&bytes[26..34], 34)
        }
        [0x86, 0xdd] => (&bytes[22..54], 54),
        _ => return false,
    };
    let length = u16::from_be_bytes([bytes[above + 4], bytes[above + 5]]);
    if bytes[above + 6..above + 8] == [0, 0] {
        return true;
    }
    let Some(datagram) = bytes.get(above..above + usize::from(length)) else { return false };
    folded(sum(addresses) + u64::from(length) + u64::from(UDP) + sum(datagram)) == u16::MAX
}

#[test]
fn every_flipped_bit_is_found_by_a_checksum() {
    for is_ipv6 in [false, true] {
        let mut whole = datagram(is_ipv6, 2, 443);
        complete_checksum(&mut whole.buffer);
        assert!(is_accepted(&whole));
        for bit in 0..u64::from(whole.length()) * 8 {
            let mut flipped = datagram(is_ipv6, 2, 443);
            flipped.flip(bit);
            let different: u32 =
                flipped.bytes().iter().zip(whole.bytes()).map(|(one, other)| (one ^ other).count_ones()).sum();
            assert_eq!(different, 1, "bit {bit}");
            assert!(!is_accepted(&flipped), "bit {bit}");
        }
    }
}

#[test]
fn a_checksum_that_would_become_none_is_left_alone() {
    // A source port for which the checksum has a single bit.
    let (mut frame, field) = (0..=u16::MAX)
        .find_map(|port| {
            let mut whole = datagram(false, 0, port);
            complete_checksum(&mut whole.buffer);
            let field = udp_checksum(whole.bytes()).unwrap();
            (whole.bytes()[field..field + 2] == [0, 1]).then(|| (datagram(false, 0, port), field))
        })
        .unwrap();
    frame.flip(field as u64 * 8 + 15);
    assert_eq!(frame.bytes()[field..field + 2], [0, 3]);
    assert!(!is_accepted(&frame));
}

#[test]
fn a_mark_changes_the_header_and_nothing_else() {
    for is_ipv6 in [false, true] {
        let mut frame = datagram(is_ipv6, 2, 443);
        assert_eq!(frame.ecn(), Ecn::Capable);
        frame.mark();
        assert_eq!(frame.ecn(), Ecn::CongestionExperienced);
        assert_eq!(frame.buffer()[0], NEEDS_CHECKSUM);
        complete_checksum(&mut frame.buffer);
        assert!(is_accepted(&frame));
        assert_eq!(datagram(is_ipv6, 0, 443).ecn(), Ecn::NotCapable);
        assert_eq!(datagram(is_ipv6, 3, 443), frame_without_card(frame, is_ipv6));
    }
}

/// The frame as the sender would have made it with that mark.
fn frame_without_card(frame: Frame, is_ipv6: bool) -> Frame {
    let mut made = datagram(is_ipv6, 3, 443);
    let header = if is_ipv6 { 14..54 } else { 14..34 };
    made.buffer[VNET_HEADER..][header.clone()].copy_from_slice(&frame.bytes()[header]);
    made
}

#[test]
fn flows_differ_by_addresses_and_ports_and_not_by_marks() {
    let key = |is_ipv6, ecn, port| datagram(is_ipv6, ecn, port).flow();
    assert_eq!(key(false, 0, 1), key(false, 3, 1));
    assert_ne!(key(false, 0, 1), key(false, 0, 2));
    assert_ne!(key(false, 0, 1), key(true, 0, 1));
    assert_eq!(key(true, 0, 7), key(true, 1, 7));
}

/// A super-packet of UDP with datagrams of `segment_bytes`.
pub(crate) fn super_packet(payload: &[u8], segment_bytes: u16) -> Frame {
    let mut frame = datagram(false, 2, 443);
    let bytes = &mut frame.buffer;
    bytes.truncate(VNET_HEADER + 42);
    bytes.extend(payload);
    let length = (8 + payload.len()) as u16;
    bytes[..VNET_HEADER].copy_from_slice(&of_super_packet(5, segment_bytes, 34, 6));
    let frame = &mut bytes[VNET_HEADER..];
    frame[16..18].copy_from_slice(&(20 + length).to_be_bytes());
    frame[38..40].copy_from_slice(&length.to_be_bytes());
    let pseudo = folded(sum(&frame[26..34]) + u64::from(length) + u64::from(UDP));
    frame[40..42].copy_from_slice(&pseudo.to_be_bytes());
    complete_ipv4(&mut frame[14..34]);
    Frame::new(bytes.clone()).unwrap()
}

#[test]
fn a_super_packet_becomes_packets_that_a_host_accepts_and_a_packet_stays() {
    let payload: Vec<u8> = (0..=255).cycle().take(2500).collect();
    let whole = super_packet(&payload, 1000);
    assert!(whole.is_super_packet());
    let mut packets = whole.cut().unwrap();
    assert_eq!(packets.iter().map(|packet| packet.length() - 42).collect::<Vec<_>>(), [1000, 1000, 500]);
    let payloads: Vec<u8> = packets.iter().flat_map(|packet| packet.bytes()[42..].to_vec()).collect();
    assert_eq!(payloads, payload);
    for packet in &mut packets {
        assert!(!packet.is_super_packet() && packet.ecn() == Ecn::Capable);
        complete_checksum(&mut packet.buffer);
        assert!(is_accepted(packet));
    }
    let packet = datagram(true, 0, 1);
    assert_eq!(packet.clone().cut().unwrap(), [packet]);
}

#[test]
fn short_frames_are_read_without_fault() {
    assert!(Frame::new(vec![0; VNET_HEADER + ETHERNET - 1]).is_err());
    let whole = datagram(false, 2, 1).buffer().to_vec();
    for length in VNET_HEADER + ETHERNET..whole.len() {
        let mut frame = Frame::new(whole[..length].to_vec()).unwrap();
        let _ = (frame.ecn(), frame.flow());
        frame.mark();
        frame.flip(u64::from(frame.length()) * 8 - 1);
    }
}

#[test]
fn a_message_of_icmp_is_told_from_a_datagram() {
    for (is_ipv6, place, icmp) in [(false, 23, 1), (true, 20, 58)] {
        let frame = datagram(is_ipv6, 0, 443);
        assert!(!frame.is_control_message());
        let mut bytes = frame.bytes().to_vec();
        bytes[place] = icmp;
        let message = Frame::new([with_partial_checksum(34, 6).to_vec(), bytes].concat()).unwrap();
        assert!(message.is_control_message());
    }
}
