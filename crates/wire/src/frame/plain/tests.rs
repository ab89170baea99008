use etherparse::PacketBuilder;
use proptest::prelude::*;
use quiclab_units::Time;

use super::*;

fn frame(captured: &[u8], length: usize) -> Frame<'_> {
    let (time, interface, byte_offset) = (Time::from_nanos(1), 0, 0);
    Frame { time, interface, link_type: ETHERNET, length: length as u32, byte_offset, captured }
}

/// Frames of each kind that is read here: IPv4 or IPv6, UDP or TCP.
fn usual(is_ipv6: bool, is_tcp: bool, payload: &[u8]) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([1; 6], [2; 6]);
    let ip = match is_ipv6 {
        true => ethernet.ipv6([3; 16], [4; 16], 64),
        false => ethernet.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
    };
    let mut bytes = Vec::new();
    match is_tcp {
        true => ip.tcp(443, 50_000, 7, 1_000).ack(9).options_raw(&[1; 8]).unwrap().write(&mut bytes, payload).unwrap(),
        false => ip.udp(443, 50_000).write(&mut bytes, payload).unwrap(),
    }
    bytes
}

proptest! {
    #[test]
    fn usual_frames_are_read_here_and_as_the_library_reads_them(
        is_ipv6: bool,
        is_tcp: bool,
        payload in prop::collection::vec(any::<u8>(), 0..40),
        padding in 0_usize..8,
        cut in 0_usize..48,
    ) {
        let mut bytes = usual(is_ipv6, is_tcp, &payload);
        let headers = bytes.len() - payload.len();
        bytes.extend(vec![0; padding]);
        let captured = &bytes[..headers.max(bytes.len() - cut.min(bytes.len()))];
        let frame = frame(captured, bytes.len());
        let ours = segment(&frame).unwrap();
        prop_assert_eq!(ours.payload_length as usize, payload.len());
        prop_assert_eq!(format!("{ours:?}"), format!("{:?}", frame.segment_of_any().unwrap()));
    }

    #[test]
    fn a_damaged_frame_that_is_read_here_is_read_as_the_library_reads_it(
        is_ipv6: bool,
        is_tcp: bool,
        payload in prop::collection::vec(any::<u8>(), 0..40),
        damage in prop::collection::vec((12_usize..90, any::<u8>()), 1..4),
        cut in 0_usize..100,
    ) {
        let mut bytes = usual(is_ipv6, is_tcp, &payload);
        for (place, value) in damage {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
        }
        let captured = &bytes[..bytes.len().saturating_sub(cut)];
        let frame = frame(captured, bytes.len());
        if let Some(ours) = segment(&frame) {
            prop_assert_eq!(format!("{:?}", Ok::<_, crate::SkipReason>(ours)), format!("{:?}", frame.segment_of_any()));
        }
    }
}
