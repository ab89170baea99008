//! pcap and pcapng in all their byte orders and time resolutions, whole, cut off and damaged.

use std::io::Write;

use crate::common::{Order, Record, block, enhanced_packet, interface, pcap, secrets, section_header};
use quiclab_testing::frames::udp_from_server;
use quiclab_wire::{Capture, CaptureError, MAXIMUM_BLOCK_BYTES, SkipReason, Truncation};

const BOTH_ORDERS: [Order; 2] = [Order::Little, Order::Big];
/// 2025-12-09 06:13:20 UTC and 123456789 ns.
const TIME_NS: u64 = 1_765_260_800_123_456_789;
const ETHERNET: u16 = 1;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

fn times_ns(capture: &Capture) -> Vec<u64> {
    capture.packets.iter().map(|packet| packet.time.as_nanos()).collect()
}

fn pcapng(order: Order, options: &[(u16, Vec<u8>)], records: &[Record]) -> Vec<u8> {
    let mut file = section_header(order);
    file.extend(interface(order, ETHERNET, options));
    for record in records {
        file.extend(enhanced_packet(order, record));
    }
    file
}

#[test]
fn classic_pcap_reads_in_both_orders_and_both_resolutions() {
    for order in BOTH_ORDERS {
        for (ticks_per_second, ticks, expected) in
            [(1_000_000_000, TIME_NS, TIME_NS), (1_000_000, TIME_NS / 1000, TIME_NS / 1000 * 1000)]
        {
            let frame = udp_from_server(&[0x40; 1200]);
            let file = pcap(order, ticks_per_second, 1, &[Record::whole(ticks, &frame)]);
            let capture = Capture::read(file.as_slice()).unwrap();
            assert_eq!(times_ns(&capture), [expected], "{order:?} {ticks_per_second}");
            assert_eq!(capture.packets[0].frame_length, 1242);
            assert_eq!(capture.packets[0].payload_length, 1200);
            assert_eq!(capture.interfaces[0].link_type, ETHERNET);
            assert_eq!(capture.interfaces[0].snap_length, Some(262_144));
            assert_eq!(capture.truncation, None);
        }
    }
}

#[test]
fn pcapng_times_follow_resolution_and_offset() {
    let frame = udp_from_server(&[0x40; 20]);
    let cases = [
        ("default of 10^-6", vec![], TIME_NS / 1000, TIME_NS / 1000 * 1000),
        ("10^-9", vec![(IF_TSRESOL, vec![9])], TIME_NS, TIME_NS),
        ("10^-3", vec![(IF_TSRESOL, vec![3])], 5, 5_000_000),
        ("10^-12, rounded down", vec![(IF_TSRESOL, vec![12])], 1_999, 1),
        ("2^-10", vec![(IF_TSRESOL, vec![0x80 | 10])], 1536, 1_500_000_000),
        ("2^-63", vec![(IF_TSRESOL, vec![0x80 | 63])], 1 << 62, 500_000_000),
        ("10^-9 from 1 s", vec![(IF_TSRESOL, vec![9]), (IF_TSOFFSET, 1_i64.to_le_bytes().to_vec())], 7, 1_000_000_007),
    ];
    for (name, options, ticks, expected) in cases {
        let file = pcapng(Order::Little, &options, &[Record::whole(ticks, &frame)]);
        let capture = Capture::read(file.as_slice()).unwrap();
        assert_eq!(times_ns(&capture), [expected], "{name}");
    }
}

#[test]
fn big_endian_pcapng_reads_as_little_endian_does() {
    let frame = udp_from_server(&[0x40; 99]);
    let read = |order| {
        let file = pcapng(order, &[(IF_TSRESOL, vec![9])], &[Record::whole(TIME_NS, &frame)]);
        Capture::read(file.as_slice()).unwrap()
    };
    assert_eq!(times_ns(&read(Order::Big)), [TIME_NS]);
    assert_eq!(read(Order::Big), read(Order::Little));
}

#[test]
fn a_big_endian_time_offset_is_read_as_such() {
    let frame = udp_from_server(&[0x40; 20]);
    for (order, offset) in [(Order::Big, 2_i64.to_be_bytes()), (Order::Little, 2_i64.to_le_bytes())] {
        let options = [(IF_TSRESOL, vec![9]), (IF_TSOFFSET, offset.to_vec())];
        let file = pcapng(order, &options, &[Record::whole(7, &frame)]);
        let capture = Capture::read(file.as_slice()).unwrap();
        assert_eq!(times_ns(&capture), [2_000_000_007], "{order:?}");
    }
}

#[test]
fn interfaces_of_a_second_section_follow_those_of_the_first() {
    let frame = udp_from_server(&[0x40; 20]);
    let mut file = Vec::new();
    for (order, names) in [(Order::Little, ["a", "b"]), (Order::Big, ["c", "d"])] {
        file.extend(section_header(order));
        for name in names {
            file.extend(interface(order, ETHERNET, &[(2, name.as_bytes().to_vec()), (IF_TSRESOL, vec![9])]));
        }
        let record = Record { interface: 1, ..Record::whole(TIME_NS, &frame) };
        file.extend(enhanced_packet(order, &record));
    }
    let capture = Capture::read(file.as_slice()).unwrap();
    let names: Vec<_> = capture.interfaces.iter().map(|it| it.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let seen: Vec<_> = capture.packets.iter().map(|packet| packet.interface).collect();
    assert_eq!(seen, [1, 3]);
}

#[test]
fn interfaces_of_the_first_section_are_unknown_in_the_second() {
    let packet = enhanced_packet(Order::Little, &Record::whole(1, &udp_from_server(&[0x40; 20])));
    let mut file = section_header(Order::Little);
    file.extend(interface(Order::Little, ETHERNET, &[]));
    file.extend(section_header(Order::Little));
    let byte_offset_of_packet = file.len() as u64;
    file.extend(packet);
    match Capture::read(file.as_slice()).unwrap_err() {
        CaptureError::Malformed { byte_offset, what, .. } => {
            assert_eq!(byte_offset, byte_offset_of_packet);
            assert!(what.contains("interface"), "{what}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn secrets_are_kept_without_their_padding() {
    let lines = b"CLIENT_TRAFFIC_SECRET_0 00 11\n";
    assert_ne!(lines.len() % 4, 0);
    for order in BOTH_ORDERS {
        let mut file = section_header(order);
        file.extend(secrets(order, 0x544c_534b, lines));
        let capture = Capture::read(file.as_slice()).unwrap();
        assert_eq!(capture.secrets[0].kind, quiclab_wire::Secrets::TLS_KEY_LOG);
        assert_eq!(capture.secrets[0].data, lines);
        assert!(!format!("{capture:?}").contains("TRAFFIC"));
    }
}

#[test]
fn blocks_without_a_readable_packet_are_counted() {
    let mut file = pcapng(Order::Little, &[], &[]);
    file.extend(block(Order::Little, 3, &[0; 4]));
    file.extend(block(Order::Little, 2, &[0; 20]));
    file.extend(block(Order::Little, 9, &[0; 12]));
    file.extend(block(Order::Little, 0x0bad_beef, &[1, 2, 3, 4]));
    // Names of addresses and counters of an interface, which dumpcap writes, have no packet that could be missed.
    file.extend(block(Order::Little, 4, &[0; 4]));
    file.extend(block(Order::Little, 5, &[0; 12]));
    let capture = Capture::read(file.as_slice()).unwrap();
    let skipped: Vec<_> = capture.skipped.into_iter().collect();
    let expected = [(SkipReason::NoTime, 1), (SkipReason::ObsoletePacketBlock, 1), (SkipReason::OtherBlock, 2)];
    assert_eq!(skipped, expected);
}

#[test]
fn gzip_reads_as_its_content_does_and_its_cut_is_noted() {
    let records: Vec<_> =
        (0..200).map(|n| Record::whole(TIME_NS + n * n * 977, &udp_from_server(&[n as u8; 50]))).collect();
    let file = pcap(Order::Little, 1_000_000_000, 1, &records);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&file).unwrap();
    let zipped = encoder.finish().unwrap();
    let whole = Capture::read(zipped.as_slice()).unwrap();
    assert_eq!(whole, Capture::read(file.as_slice()).unwrap());

    let cut = Capture::read(&zipped[..zipped.len() * 2 / 3]).unwrap();
    assert!(cut.packets.len() > 10 && cut.packets.len() < 200, "{}", cut.packets.len());
    assert_eq!(cut.packets, whole.packets[..cut.packets.len()]);
    assert!(cut.truncation.is_some());
    // Only the checksum behind the data is missing: still not whole.
    let without_end = Capture::read(&zipped[..zipped.len() - 3]).unwrap();
    assert_eq!(without_end.packets.len(), 200);
    assert!(without_end.truncation.is_some());
}

#[test]
fn a_damaged_gzip_stream_is_an_error() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    encoder.write_all(&pcap(Order::Little, 1_000_000, 1, &[])).unwrap();
    let mut zipped = encoder.finish().unwrap();
    let last = zipped.len() - 5;
    zipped[last] ^= 0xff;
    let error = Capture::read(zipped.as_slice()).unwrap_err();
    assert!(matches!(error, CaptureError::Read { .. }), "{error}");
}

#[test]
fn a_file_cut_at_any_byte_gives_the_packets_before_the_cut_and_says_where() {
    let records: Vec<_> = (0..4).map(|n| Record::whole(TIME_NS + n, &udp_from_server(&[7; 33]))).collect();
    let files =
        [pcap(Order::Big, 1_000_000_000, 1, &records), pcapng(Order::Little, &[(IF_TSRESOL, vec![9])], &records)];
    for file in files {
        let whole = Capture::read(file.as_slice()).unwrap();
        assert_eq!(whole.packets.len(), 4);
        let mut cuts_between_records = 0;
        for length in 4..file.len() {
            let capture = Capture::read(&file[..length]).unwrap();
            assert_eq!(capture.packets, whole.packets[..capture.packets.len()]);
            match capture.truncation {
                None => cuts_between_records += 1,
                Some(Truncation { byte_offset, bytes_present }) => {
                    assert_eq!(byte_offset + bytes_present, length as u64);
                }
            }
        }
        assert!((4..=5).contains(&cuts_between_records), "{cuts_between_records}");
    }
}

#[test]
fn what_is_no_capture_is_refused_with_its_first_bytes() {
    assert!(matches!(Capture::read(&[][..]).unwrap_err(), CaptureError::Empty));
    let text = Capture::read(&b"{\"qlog\"}"[..]).unwrap_err().to_string();
    assert!(text.contains("byte 0") && text.contains("[7b, 22, 71, 6c]") && text.contains("hint:"), "{text}");
    let short = Capture::read(&[0x0a][..]).unwrap_err();
    assert!(matches!(short, CaptureError::UnknownFormat { found } if found == [0x0a]));
}

#[test]
fn the_longest_block_is_read_to_its_cut_and_a_longer_one_is_refused() {
    let with_length = |length: u32| {
        let mut file = section_header(Order::Little);
        file.extend(6_u32.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend([0; 100]);
        file
    };
    let cut = Capture::read(with_length(MAXIMUM_BLOCK_BYTES).as_slice()).unwrap();
    assert_eq!(cut.truncation, Some(Truncation { byte_offset: 28, bytes_present: 108 }));
    let error = Capture::read(with_length(MAXIMUM_BLOCK_BYTES + 4).as_slice()).unwrap_err();
    assert!(matches!(error, CaptureError::BlockTooLong { byte_offset: 28, .. }), "{error}");
    let mut record = pcap(Order::Little, 1_000_000, 1, &[]);
    record.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]);
    let error = Capture::read(record.as_slice()).unwrap_err();
    assert!(matches!(error, CaptureError::BlockTooLong { byte_offset: 24, .. }), "{error}");
}

#[test]
fn a_damaged_block_is_an_error_at_its_offset() {
    let frame = udp_from_server(&[7; 33]);
    let good = pcapng(Order::Little, &[(IF_TSRESOL, vec![9])], &[]);
    let offset = good.len() as u64;
    let with = |block: &[u8]| [good.as_slice(), block].concat();

    let unknown_interface = Record { interface: 1, ..Record::whole(1, &frame) };
    let mut longer_than_its_block = enhanced_packet(Order::Little, &Record::whole(1, &frame));
    longer_than_its_block[20..24].copy_from_slice(&4000_u32.to_le_bytes());
    let mut two_lengths = enhanced_packet(Order::Little, &Record::whole(1, &frame));
    let end = two_lengths.len() - 4;
    two_lengths[end] ^= 4;
    let mut odd_length = enhanced_packet(Order::Little, &Record::whole(1, &frame));
    odd_length[4] += 1;
    let damaged = [
        (with(&enhanced_packet(Order::Little, &unknown_interface)), "interface"),
        (with(&longer_than_its_block), "enhanced packet block"),
        (with(&two_lengths), "enhanced packet block"),
        (with(&odd_length), "block length"),
        (with(&interface(Order::Little, 1, &[(IF_TSRESOL, vec![20])])), "if_tsresol"),
        (with(&interface(Order::Little, 1, &[(IF_TSOFFSET, vec![0; 4])])), "if_tsoffset"),
        (with(&block(Order::Little, 0x0a0d_0d0a, &[0; 16])), "byte-order magic"),
    ];
    for (file, part) in damaged {
        match Capture::read(file.as_slice()).unwrap_err() {
            CaptureError::Malformed { byte_offset, what, .. } => {
                assert_eq!(byte_offset, offset, "{part}");
                assert!(what.contains(part), "{what}, not {part}");
            }
            other => panic!("{part}: {other}"),
        }
    }
}

#[test]
fn a_time_before_1970_is_an_error() {
    let options = [(IF_TSRESOL, vec![9]), (IF_TSOFFSET, (-1_i64).to_le_bytes().to_vec())];
    let frame = udp_from_server(&[7; 33]);
    let file = |ticks| pcapng(Order::Little, &options, &[Record::whole(ticks, &frame)]);
    assert_eq!(times_ns(&Capture::read(file(1_000_000_000).as_slice()).unwrap()), [0]);
    let error = Capture::read(file(999_999_999).as_slice()).unwrap_err().to_string();
    assert!(error.contains("time of an enhanced packet block"), "{error}");
}
