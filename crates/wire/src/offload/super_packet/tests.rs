use proptest::prelude::*;

use super::*;
use crate::offload::{
    checksum::sum,
    header::{complete_checksum, of_super_packet},
};

/// What a sender puts into a packet; the checksums and lengths follow.
#[derive(Clone, Debug)]
struct Facts {
    is_ipv4: bool,
    is_tcp: bool,
    /// Options of IPv4 or a hop-by-hop header of IPv6, and options of TCP: words of 4 and 8 bytes.
    ip_options: usize,
    tcp_options: usize,
    identification: u16,
    sequence: u32,
    flags: u8,
    ports: [u16; 2],
    ecn: u8,
    addresses: Vec<u8>,
}

impl Facts {
    fn transport(&self) -> usize {
        ETHERNET_BYTES + if self.is_ipv4 { 20 + self.ip_options * 4 } else { 40 + self.ip_options * 8 }
    }

    fn header_of_transport(&self) -> usize {
        if self.is_tcp { 20 + self.tcp_options * 4 } else { 8 }
    }

    fn protocol(&self) -> u8 {
        if self.is_tcp { 6 } else { 17 }
    }

    fn addresses(&self) -> &[u8] {
        &self.addresses[..if self.is_ipv4 { 8 } else { 32 }]
    }

    /// A frame, written from the first byte to the last, with the checksums of a host without a card that helps. With `is_partial` the
    /// field of TCP or UDP has the sum of the pseudo-header.
    fn frame(&self, payload: &[u8], is_partial: bool) -> Vec<u8> {
        let length = self.header_of_transport() + payload.len();
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        if self.is_ipv4 {
            frame.extend(IPV4);
            let mut header = vec![0x40 | (5 + self.ip_options) as u8, self.ecn];
            header.extend(((20 + self.ip_options * 4 + length) as u16).to_be_bytes());
            header.extend(self.identification.to_be_bytes());
            header.extend([0x40, 0, 64, self.protocol(), 0, 0]);
            header.extend(self.addresses());
            header.extend(vec![1; self.ip_options * 4]);
            let checksum = !folded(sum(&header));
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            frame.extend(header);
        } else {
            frame.extend(IPV6);
            frame.extend([0x60, self.ecn << 4, 0, 0]);
            frame.extend(((self.ip_options * 8 + length) as u16).to_be_bytes());
            frame.extend([if self.ip_options > 0 { 0 } else { self.protocol() }, 64]);
            frame.extend(self.addresses());
            if self.ip_options > 0 {
                // Next header, length beyond 8 bytes, and options of padding.
                frame.extend([self.protocol(), (self.ip_options - 1) as u8, 1, (self.ip_options * 8 - 4) as u8]);
                frame.extend(vec![0; self.ip_options * 8 - 4]);
            }
        }
        let mut above = Vec::new();
        above.extend(self.ports[0].to_be_bytes());
        above.extend(self.ports[1].to_be_bytes());
        if self.is_tcp {
            above.extend(self.sequence.to_be_bytes());
            above.extend([9, 8, 7, 6, (5 + self.tcp_options as u8) << 4, self.flags, 1, 2, 0, 0, 0, 0]);
            above.extend(vec![1; self.tcp_options * 4]);
        } else {
            above.extend((length as u16).to_be_bytes());
            above.extend([0, 0]);
        }
        above.extend(payload);
        let pseudo = sum(self.addresses()) + u64::from(self.protocol()) + length as u64;
        let checksum = match (is_partial, !folded(pseudo + sum(&above))) {
            (true, _) => folded(pseudo),
            (false, 0) if !self.is_tcp => u16::MAX,
            (false, checksum) => checksum,
        };
        let field = if self.is_tcp { 16 } else { 6 };
        above[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(above);
        frame
    }

    fn buffer(&self, payload: &[u8], segment_bytes: u16) -> Vec<u8> {
        let kind = match (self.is_tcp, self.is_ipv4) {
            (true, true) => KIND_TCP_IPV4 | if self.flags & CWR != 0 { KIND_ECN } else { 0 },
            (true, false) => KIND_TCP_IPV6,
            (false, _) => KIND_UDP,
        };
        let field = if self.is_tcp { 16 } else { 6 };
        let mut buffer = of_super_packet(kind, segment_bytes, self.transport() as u16, field).to_vec();
        buffer.extend(self.frame(payload, true));
        buffer
    }
}

fn facts() -> impl Strategy<Value = Facts> {
    (
        (any::<bool>(), any::<bool>(), 0..3_usize, 0..6_usize),
        (any::<u16>(), any::<u32>(), any::<u8>(), any::<[u16; 2]>(), 0..4_u8),
        prop::collection::vec(any::<u8>(), 32),
    )
        .prop_map(|((is_ipv4, is_tcp, ip_options, tcp_options), numbers, addresses)| {
            let (identification, sequence, flags, ports, ecn) = numbers;
            let (flags, ecn) = (flags & !0x02, ecn & 3);
            let parts = (is_ipv4, is_tcp, ip_options, tcp_options);
            Facts {
                is_ipv4: parts.0,
                is_tcp: parts.1,
                ip_options: parts.2,
                tcp_options: parts.3,
                identification,
                sequence,
                flags,
                ports,
                ecn,
                addresses,
            }
        })
}

/// A payload that is different at every place.
fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (place.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

proptest! {
    /// The second method makes each packet as a host does that has no card to help it.
    #[test]
    fn packets_are_those_of_a_host_that_cuts_its_payload_itself(
        facts in facts(), bytes in 0..65_000_usize, segment_bytes in 20..9_000_u16,
    ) {
        let payload = payload(bytes);
        let buffer = facts.buffer(&payload, segment_bytes);
        let whole = SuperPacket::read(&buffer).unwrap().unwrap();
        let mut parts: Vec<_> = payload.chunks(segment_bytes.into()).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        prop_assert_eq!(whole.count(), parts.len());
        for (index, (mut found, part)) in whole.packets().zip(&parts).enumerate() {
            let mut one = facts.clone();
            one.identification = facts.identification.wrapping_add(index as u16);
            one.sequence = facts.sequence.wrapping_add((index * usize::from(segment_bytes)) as u32);
            if index > 0 {
                one.flags &= !CWR;
            }
            if index + 1 < parts.len() {
                one.flags &= !(FIN | PSH);
            }
            complete_checksum(&mut found);
            prop_assert_eq!(&found[..HEADER_BYTES], &[0; HEADER_BYTES]);
            prop_assert_eq!(&found[HEADER_BYTES..], &one.frame(part, false));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(mut buffer in prop::collection::vec(any::<u8>(), 0..200), kind in 0..7_u8, start in 0..80_u16) {
        if buffer.len() > HEADER_BYTES + 14 {
            buffer[0] = 1;
            buffer[1] = kind;
            buffer[6..8].copy_from_slice(&start.to_ne_bytes());
            buffer[8..10].copy_from_slice(&(if kind == 5 { 6_u16 } else { 16 }).to_ne_bytes());
            let family = if start % 2 == 0 { IPV4 } else { IPV6 };
            buffer[HEADER_BYTES + 12..HEADER_BYTES + 14].copy_from_slice(&family);
        }
        if let Ok(Some(whole)) = SuperPacket::read(&buffer) {
            let payload: usize = whole.packets().map(|packet| packet.len() - HEADER_BYTES - whole.payload).sum();
            prop_assert_eq!(payload, buffer.len() - HEADER_BYTES - whole.payload);
        }
    }
}

fn plain(is_ipv4: bool, is_tcp: bool) -> Facts {
    Facts {
        is_ipv4,
        is_tcp,
        ip_options: 0,
        tcp_options: 0,
        identification: 1,
        sequence: 1,
        flags: 0x10,
        ports: [1, 2],
        ecn: 0,
        addresses: vec![1; 32],
    }
}

#[test]
fn a_frame_that_is_a_packet_already_is_none() {
    let mut buffer = vec![0; HEADER_BYTES];
    buffer.extend(plain(true, false).frame(b"x", false));
    assert!(SuperPacket::read(&buffer).unwrap().is_none());
    assert!(SuperPacket::read(&[]).unwrap().is_none());
}

#[test]
fn what_cannot_be_cut_says_why() {
    let whole = plain(true, false).buffer(&payload(3000), 1000);
    let refused = |place: usize, bytes: &[u8], words: &str| {
        let mut buffer = whole.clone();
        buffer[place..place + bytes.len()].copy_from_slice(bytes);
        let error = SuperPacket::read(&buffer).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(1, &[3], "kind 0x3");
    refused(1, &[0x25], "kind 0x25");
    refused(1, &[4], "EtherType [08, 00]");
    refused(0, &[0], "a complete checksum");
    refused(4, &[0, 0], "without payload");
    refused(6, &13_u16.to_ne_bytes(), "at 13 + 6");
    refused(6, &60_000_u16.to_ne_bytes(), "from byte 60000");
    refused(8, &16_u16.to_ne_bytes(), "at 34 + 16");
    refused(HEADER_BYTES + 12, &[0x81, 0x00], "EtherType [81, 00]");
}
