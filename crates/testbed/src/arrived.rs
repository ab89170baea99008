//! Whether what arrived was on the wire.
//!
//! A client that has a file without packets that could have carried it got it some other way, and nothing that the taps saw says anything
//! about its transfer. Bodies are bytes that nothing compresses, so the server's packets carry at least as many.

use quiclab_experiment::run::Run;

use crate::{collect::RunFailure, contract::SERVER_PORT};
use quiclab_orders::cross_traffic::PORT as CROSS_PORT;

const ETHERNET_HEADER: usize = 14;
const IPV6_HEADER: usize = 40;
const UDP_HEADER: usize = 8;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Offset and "more fragments" in the word of the IPv4 header that holds both.
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// What the server's packets carried past a tap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Whether packets of other ports count as well, apart from those of cross traffic.
    pub any_port: bool,
    /// Packets from the server's port.
    pub packets: u64,
    /// Bytes of UDP or TCP payload in them.
    pub payload_bytes: u64,
}

impl Carried {
    /// Takes in a frame of `length` bytes on its way to the client, of which the first bytes are enough: up to the header of TCP.
    pub fn add(&mut self, frame: &[u8], length: usize) {
        let counts = |port| port == SERVER_PORT || self.any_port && port != CROSS_PORT;
        if let Some(bytes) = payload_from(frame, length, counts) {
            self.packets += 1;
            self.payload_bytes += bytes;
        }
    }

    /// What is wrong with a run whose client has all its files, where this is what passed `tap`; `None` where this can have carried them.
    pub fn too_little(self, run: &Run, tap: &str) -> Option<RunFailure> {
        let arrived = run.settings.workload.all_bytes().as_bytes();
        (self.payload_bytes < arrived || self.packets == 0).then(|| RunFailure::ArrivedOtherwise {
            tap: tap.to_owned(),
            packets: self.packets,
            payload_bytes: self.payload_bytes,
            arrived,
        })
    }
}

/// Length of the UDP or TCP payload of a packet from a port that counts, and at most what is left of the frame's `length` bytes behind its
/// headers: whoever writes packets by hand can claim more. `None` for other packets.
fn payload_from(frame: &[u8], length: usize, counts: impl Fn(u16) -> bool) -> Option<u64> {
    let in_frame = length.checked_sub(ETHERNET_HEADER)?;
    let ip = frame.get(ETHERNET_HEADER..)?;
    let (protocol, header, claimed) = match word(frame, ETHERNET_HEADER - 2)? {
        ETHERTYPE_IPV4 => {
            let header = usize::from(*ip.first()? & 0xf) * 4;
            if word(ip, 6)? & FRAGMENT_OFFSET != 0 {
                return None;
            }
            (*ip.get(9)?, header, usize::from(word(ip, 2)?))
        }
        ETHERTYPE_IPV6 => (*ip.get(6)?, IPV6_HEADER, IPV6_HEADER + usize::from(word(ip, 4)?)),
        _ => return None,
    };
    let transport = ip.get(header..)?;
    let own = match protocol {
        UDP => UDP_HEADER,
        TCP => usize::from(transport.get(12)? >> 4) * 4,
        _ => return None,
    };
    if !counts(word(transport, 0)?) {
        return None;
    }
    claimed.min(in_frame).checked_sub(header + own).map(|bytes| bytes as u64)
}

fn word(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    fn carried(frames: &[Vec<u8>]) -> (u64, u64) {
        let mut carried = Carried::default();
        frames.iter().for_each(|frame| carried.add(frame, frame.len()));
        (carried.packets, carried.payload_bytes)
    }

    fn udp(from: u16, payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(from, 50_000);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    fn tcp(payload: usize) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([1; 16], [2; 16], 64).tcp(443, 50_000, 1, 1000);
        let builder = builder.options_raw(&[1; 12]).unwrap();
        let mut bytes = Vec::new();
        builder.write(&mut bytes, &vec![7; payload]).unwrap();
        bytes
    }

    #[test]
    fn payload_of_udp_and_tcp_from_the_servers_port_counts() {
        assert_eq!(carried(&[udp(443, 1200), udp(443, 1), udp(444, 500)]), (2, 1201));
        assert_eq!(carried(&[tcp(1000), tcp(0)]), (2, 1000));
    }

    #[test]
    fn where_a_server_can_move_other_ports_count_but_not_that_of_cross_traffic() {
        let mut carried = Carried { any_port: true, ..Carried::default() };
        [udp(443, 1), udp(444, 10), udp(9, 100)].iter().for_each(|frame| carried.add(frame, frame.len()));
        assert_eq!((carried.packets, carried.payload_bytes), (2, 11));
    }

    #[test]
    fn what_is_cut_behind_the_headers_counts_whole_and_what_is_cut_before_does_not() {
        let whole = udp(443, 1200);
        let kept = |bytes: usize| {
            let mut carried = Carried::default();
            carried.add(&whole[..bytes], whole.len());
            (carried.packets, carried.payload_bytes)
        };
        assert_eq!(kept(96), (1, 1200));
        for bytes in 0..34 {
            assert_eq!(kept(bytes), (0, 0), "{bytes}");
        }
    }

    #[test]
    fn a_packet_that_claims_more_than_its_frame_has_counts_with_what_the_frame_has() {
        for mut frame in [udp(443, 18), tcp(6)] {
            let payload = if word(&frame, 12) == Some(ETHERTYPE_IPV4) { 18 } else { 6 };
            // The total length of IPv4, or the payload length of IPv6.
            let place = if payload == 18 { 16 } else { 18 };
            frame[place..place + 2].copy_from_slice(&65_520_u16.to_be_bytes());
            assert_eq!(carried(&[frame]), (1, payload));
        }
    }

    #[test]
    fn any_bytes_are_no_packet_and_no_panic() {
        for value in [0, 0x08, 0x45, 0x86, 0xff] {
            for length in 0..100 {
                assert_eq!(carried(&[vec![value; length]]), (0, 0));
            }
        }
    }
}
