//! From link layer to transport: what becomes a packet, what is skipped, and why.

use crate::common::{Order, Record, pcap};
use etherparse::PacketBuilder;
use quiclab_testing::frames::{CLIENT, SERVER, tcp, udp, udp_from_server};
use quiclab_wire::{Capture, Packet, SkipReason, TlsContentType};

const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;

fn read(link_type: u32, frame_length: usize, captured: &[u8]) -> Capture {
    let record = Record { frame_length: frame_length as u32, ..Record::whole(1, captured) };
    let file = pcap(Order::Little, 1_000_000_000, link_type, &[record]);
    Capture::read(file.as_slice()).unwrap()
}

fn packet(link_type: u32, frame: &[u8]) -> Packet {
    let capture = read(link_type, frame.len(), frame);
    assert_eq!(capture.skipped, Default::default());
    capture.packets[0]
}

fn skipped(link_type: u32, frame_length: usize, captured: &[u8]) -> SkipReason {
    let capture = read(link_type, frame_length, captured);
    assert_eq!(capture.packets, []);
    assert_eq!(capture.skipped.values().sum::<u64>(), 1);
    *capture.skipped.keys().next().unwrap()
}

#[test]
fn a_udp_datagram_over_ipv4_is_read() {
    let packet = packet(ETHERNET, &udp_from_server(&[0x41; 1350]));
    assert_eq!((packet.source, packet.destination), (SERVER, CLIENT));
    assert_eq!((packet.frame_length, packet.captured_length), (1392, 1392));
    assert_eq!(packet.payload_length, 1350);
    assert_eq!(packet.tcp(), None);
}

#[test]
fn a_udp_datagram_over_ipv6_behind_a_vlan_tag_is_read() {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .single_vlan(5.try_into().unwrap())
        .ipv6([1; 16], [2; 16], 64)
        .udp(4433, 50000);
    let packet = packet(ETHERNET, &udp(builder, &[0x41; 1232]));
    assert_eq!(packet.source, "[101:101:101:101:101:101:101:101]:4433".parse().unwrap());
    assert_eq!(packet.payload_length, 1232);
    assert_eq!(packet.frame_length, 14 + 4 + 40 + 8 + 1232);
}

#[test]
fn raw_ip_needs_no_ethernet() {
    let frame = udp_from_server(&[0x41; 100]);
    assert_eq!(packet(RAW_IP, &frame[14..]).payload_length, 100);
}

#[test]
fn the_payload_length_is_right_wherever_the_capture_cuts_the_payload() {
    let frame = udp_from_server(&[0x41; 1350]);
    for captured in 42..frame.len() {
        let capture = read(ETHERNET, frame.len(), &frame[..captured]);
        let packet = capture.packets[0];
        assert_eq!(packet.payload_length, 1350, "{captured} bytes captured");
        assert_eq!(packet.captured_length, captured as u32);
    }
}

#[test]
fn headers_that_the_capture_cut_are_counted_as_such() {
    let frame = udp_from_server(&[0x41; 1350]);
    for captured in 0..42 {
        let reason = skipped(ETHERNET, frame.len(), &frame[..captured]);
        assert_eq!(reason, SkipReason::HeadersCut, "{captured} bytes captured");
    }
}

#[test]
fn a_frame_that_ends_in_its_own_headers_is_malformed() {
    let frame = udp_from_server(&[0x41; 1350]);
    for length in [0, 13, 20, 38] {
        assert_eq!(skipped(ETHERNET, length, &frame[..length]), SkipReason::Malformed, "{length} bytes");
    }
}

#[test]
fn padding_of_a_short_frame_is_no_payload() {
    let mut frame = udp_from_server(&[0x41; 3]);
    frame.resize(60, 0);
    assert_eq!(packet(ETHERNET, &frame).payload_length, 3);
}

#[test]
fn a_tcp_segment_shows_its_header_and_its_records() {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(4433, 50000, 0xfedc_ba98, 1000)
        .ack(0x1234_5678)
        .psh()
        .options_raw(&[1; 12])
        .unwrap();
    let packet = packet(ETHERNET, &tcp(builder, &[23, 3, 3, 0x40, 0x11, 9, 9]));
    let segment = packet.tcp().unwrap();
    assert_eq!(packet.payload_length, 7);
    assert_eq!((segment.sequence_number, segment.acknowledgment_number), (0xfedc_ba98, 0x1234_5678));
    assert!(segment.flags.ack && segment.flags.psh);
    assert!(!segment.flags.syn && !segment.flags.fin && !segment.flags.rst);
    assert_eq!(segment.tls.unwrap().first, TlsContentType::ApplicationData);
}

#[test]
fn a_tcp_segment_over_ipv6_is_as_long_as_its_headers_say() {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([1; 16], [2; 16], 64).tcp(4433, 50000, 1, 1000);
    let frame = tcp(builder, &[0; 300]);
    let cut = read(ETHERNET, frame.len(), &frame[..80]);
    assert_eq!(cut.packets[0].payload_length, 300);
}

#[test]
fn a_pure_acknowledgment_in_a_padded_frame_has_no_payload() {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(4433, 50000, 1, 1000)
        .ack(1);
    let mut frame = tcp(builder, &[]);
    frame.resize(60, 0);
    assert_eq!(packet(ETHERNET, &frame).payload_length, 0);
}

#[test]
fn a_segment_whose_ip_length_is_not_filled_in_is_as_long_as_its_frame() {
    let builder =
        PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(4433, 50000, 1, 1000);
    let mut frame = tcp(builder, &[0; 1000]);
    frame[16..18].copy_from_slice(&[0, 0]);
    let capture = read(ETHERNET, 64_054, &frame);
    assert_eq!(capture.packets[0].payload_length, 64_000);
}

#[test]
fn other_traffic_is_counted_by_reason() {
    let mut arp = vec![0xff; 12];
    arp.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    arp.resize(60, 0);
    assert_eq!(skipped(ETHERNET, 60, &arp), SkipReason::NotIp);

    let mut lldp = vec![0xff; 12];
    lldp.extend([0x88, 0xcc, 0, 0]);
    assert_eq!(skipped(ETHERNET, lldp.len(), &lldp), SkipReason::NotIp);

    let mut icmp = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .icmpv4_echo_request(1, 1)
        .write(&mut icmp, &[])
        .unwrap();
    assert_eq!(skipped(ETHERNET, icmp.len(), &icmp), SkipReason::NotUdpOrTcp);

    let mut other_protocol = udp_from_server(&[0; 10]);
    other_protocol[23] = 47;
    assert_eq!(skipped(ETHERNET, other_protocol.len(), &other_protocol), SkipReason::NotUdpOrTcp);

    let mut fragment = udp_from_server(&[0; 100]);
    fragment[20] = 0x20;
    assert_eq!(skipped(ETHERNET, fragment.len(), &fragment), SkipReason::IpFragment);

    let mut bad_udp_length = udp_from_server(&[0; 100]);
    bad_udp_length[38..40].copy_from_slice(&[0, 7]);
    assert_eq!(skipped(ETHERNET, bad_udp_length.len(), &bad_udp_length), SkipReason::Malformed);

    assert_eq!(skipped(147, 60, &arp), SkipReason::LinkTypeUnknown);
}
