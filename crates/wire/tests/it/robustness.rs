//! Foreign bytes: an error or a shorter capture, never a panic.

use crate::common::{Order, Record, enhanced_packet, interface, pcap, secrets, section_header};
use proptest::prelude::*;
use quiclab_testing::frames::udp_from_server;
use quiclab_wire::Capture;

/// A small capture of each kind that has every part the reader understands.
fn valid_captures() -> Vec<Vec<u8>> {
    let mut initial = vec![0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x40, 0x40];
    initial.resize(150, 0x5a);
    let records = [Record::whole(5, &udp_from_server(&initial)), Record::whole(9, &udp_from_server(&[0x40; 30]))];
    let mut captures = Vec::new();
    for order in [Order::Little, Order::Big] {
        captures.push(pcap(order, 1_000_000_000, 1, &records));
        let mut pcapng = section_header(order);
        pcapng.extend(secrets(order, 0x544c_534b, b"CLIENT_RANDOM 00 11"));
        pcapng.extend(interface(order, 1, &[(2, b"tap".to_vec()), (9, vec![9]), (14, vec![0; 8])]));
        pcapng.extend(records.iter().flat_map(|record| enhanced_packet(order, record)));
        captures.push(pcapng);
    }
    captures
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_behind_any_magic_are_survived(
        magic in prop::sample::select(vec![
            vec![], vec![0xd4, 0xc3, 0xb2, 0xa1], vec![0xa1, 0xb2, 0x3c, 0x4d], vec![0x0a, 0x0d, 0x0d, 0x0a], vec![0x1f, 0x8b, 8, 0],
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = Capture::read([magic, bytes].concat().as_slice());
    }

    #[test]
    fn a_valid_capture_with_any_bytes_changed_is_survived(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut capture = valid_captures().swap_remove(which);
        for (index, value) in changes {
            let position = index.index(capture.len());
            capture[position] = value;
        }
        let _ = Capture::read(capture.as_slice());
    }

    #[test]
    fn any_frame_is_a_packet_or_is_counted(
        frame in prop::collection::vec(any::<u8>(), 0..200),
        link_type in prop::sample::select(vec![1_u32, 101]),
        ethertype in prop::sample::select(vec![[8_u8, 0], [0x86, 0xdd], [0x81, 0]]),
        cut in 0..100_u32,
    ) {
        let mut frame = frame;
        if frame.len() > 24 {
            frame[12..14].copy_from_slice(&ethertype);
            frame[14] = 0x45;
            frame[23] = if cut % 2 == 0 { 17 } else { 6 };
        }
        let record = Record { frame_length: frame.len() as u32 + cut, ..Record::whole(1, &frame) };
        let file = pcap(Order::Little, 1_000_000, link_type, &[record]);
        let capture = Capture::read(file.as_slice()).unwrap();
        prop_assert_eq!(capture.packets.len() as u64 + capture.skipped.values().sum::<u64>(), 1);
    }
}
