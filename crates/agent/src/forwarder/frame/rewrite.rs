//! Changes of UDP datagrams that no receiver can notice by a checksum.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use quiclab_path::edits::ByteChange;
use quiclab_wire::offload::checksum::{folded, sum};

use super::{ETHERNET, Frame, ip_version, renew_header_checksum, udp_checksum};

const UDP_HEADER: usize = 8;
/// Fields of the IPv4 header.
const FRAGMENT: usize = ETHERNET + 6;
const PROTOCOL: usize = ETHERNET + 9;
const ADDRESSES_V4: usize = ETHERNET + 12;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// Fields of the IPv6 header.
const NEXT_HEADER: usize = ETHERNET + 6;
const ADDRESSES_V6: usize = ETHERNET + 8;

/// An end of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The sender.
    Source,
    /// The receiver.
    Destination,
}

impl Frame {
    /// Bytes of the UDP payload, where one of them may be changed: it is no Version Negotiation packet, because one that offers the version
    /// in use makes no sense (RFC 9000, section 6.2), and a damaged one answers another damage.
    pub fn bytes_to_corrupt(&self) -> Option<u32> {
        let payload = self.bytes().get(self.udp()? + UDP_HEADER..)?;
        // RFC 8999, section 6: a long header of version 0.
        let is_negotiation = payload.len() > 5 && payload[0] & 0x80 != 0 && payload[1..5] == [0; 4];
        (!is_negotiation).then_some(payload.len() as u32)
    }

    /// Whether it is a message of ICMP or ICMPv6.
    pub fn is_control_message(&self) -> bool {
        let bytes = self.bytes();
        match ip_version(bytes) {
            Some(4) => bytes[PROTOCOL] == ICMP,
            Some(_) => bytes[NEXT_HEADER] == ICMPV6,
            None => false,
        }
    }

    /// Address and port of one side of a UDP datagram; `None` where it is something else.
    pub fn end(&self, side: Side) -> Option<SocketAddr> {
        let udp = self.udp()?;
        let bytes = self.bytes();
        let (place, length) = self.address_field(side)?;
        let address = &bytes[place..place + length];
        let address = match <[u8; 4]>::try_from(address) {
            Ok(octets) => IpAddr::V4(Ipv4Addr::from(octets)),
            Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
        };
        let port = udp + 2 * side as usize;
        Some(SocketAddr::new(address, u16::from_be_bytes([bytes[port], bytes[port + 1]])))
    }

    /// Gives one side of a UDP datagram another address and port, of the same family.
    pub fn set_end(&mut self, side: Side, end: SocketAddr) {
        let (Some(udp), Some((place, length))) = (self.udp(), self.address_field(side)) else { return };
        let address = match end.ip() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        if address.len() != length {
            return;
        }
        self.replace(place, &address);
        self.replace(udp + 2 * side as usize, &end.port().to_be_bytes());
        renew_header_checksum(self.bytes_mut());
    }

    /// Gives a byte of the UDP payload another value.
    pub fn change_byte(&mut self, change: ByteChange) {
        let Some(udp) = self.udp() else { return };
        // Two bytes, as the checksum adds them up. The UDP header has an even length.
        let offset = change.offset as usize;
        let place = udp + UDP_HEADER + (offset & !1);
        let Some(word) = self.bytes().get(place..) else { return };
        let mut word = word[..word.len().min(2)].to_vec();
        let Some(byte) = word.get_mut(offset & 1) else { return };
        *byte ^= change.mask;
        self.replace(place, &word);
    }

    /// Where the UDP header begins; `None` where there is none, or the datagram is in fragments.
    fn udp(&self) -> Option<usize> {
        let bytes = self.bytes();
        let udp = udp_checksum(bytes)? - 6;
        let is_fragment = ip_version(bytes) == Some(4) && (bytes[FRAGMENT] & 0x3f != 0 || bytes[FRAGMENT + 1] != 0);
        (!is_fragment).then_some(udp)
    }

    fn address_field(&self, side: Side) -> Option<(usize, usize)> {
        let (first, length) = match ip_version(self.bytes())? {
            4 => (ADDRESSES_V4, 4),
            _ => (ADDRESSES_V6, 16),
        };
        Some((first + length * side as usize, length))
    }

    /// Puts whole words in the place of others that the UDP checksum covers, which is adjusted: RFC 1624, equation 3.
    fn replace(&mut self, place: usize, new: &[u8]) {
        self.complete_checksum();
        let bytes = self.bytes_mut();
        let old = bytes[place..place + new.len()].to_vec();
        bytes[place..place + new.len()].copy_from_slice(new);
        let Some(field) = udp_checksum(bytes) else { return };
        let before = u16::from_be_bytes([bytes[field], bytes[field + 1]]);
        // 0 says that there is none.
        if before == 0 {
            return;
        }
        let without_old = u64::from(!before) + u64::from(!folded(sum(&old)));
        let after = match !folded(without_old + sum(new)) {
            0 => u16::MAX,
            after => after,
        };
        bytes[field..field + 2].copy_from_slice(&after.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            VNET_HEADER,
            tests::{PAYLOAD, datagram, is_accepted},
        },
        *,
    };

    const SOURCE_PORT: u16 = 50_000;

    /// The same with its checksum computed.
    fn complete(is_ipv6: bool) -> Frame {
        let mut frame = datagram(is_ipv6, 2, SOURCE_PORT);
        frame.complete_checksum();
        frame
    }

    #[test]
    fn another_address_and_port_have_a_right_checksum() {
        for (is_ipv6, other) in [(false, "10.0.0.77:7"), (true, "[fd00::77]:7")] {
            for mut frame in [datagram(is_ipv6, 2, SOURCE_PORT), complete(is_ipv6)] {
                let [source, destination] = [Side::Source, Side::Destination].map(|side| frame.end(side).unwrap());
                assert_eq!((source.port(), destination.port(), source.is_ipv6()), (SOURCE_PORT, 4433, is_ipv6));
                let other: SocketAddr = other.parse().unwrap();
                frame.set_end(Side::Source, other);
                assert_eq!(
                    [Side::Source, Side::Destination].map(|side| frame.end(side)),
                    [Some(other), Some(destination)]
                );
                assert!(is_accepted(&frame), "{other}");
                frame.set_end(Side::Destination, source);
                assert!(is_accepted(&frame), "{source}");
                frame.set_end(Side::Source, source);
                frame.set_end(Side::Destination, destination);
                assert_eq!(frame, complete(is_ipv6));
            }
        }
    }

    #[test]
    fn an_address_of_the_other_family_changes_nothing() {
        let mut frame = complete(false);
        frame.set_end(Side::Source, "[fd00::77]:7".parse().unwrap());
        assert_eq!(frame, complete(false));
    }

    #[test]
    fn every_changed_byte_has_a_right_checksum() {
        for is_ipv6 in [false, true] {
            let whole = complete(is_ipv6);
            let first = whole.bytes().len() - PAYLOAD.len();
            assert_eq!(whole.bytes_to_corrupt(), Some(PAYLOAD.len() as u32));
            for offset in 0..PAYLOAD.len() {
                let mut frame = datagram(is_ipv6, 2, SOURCE_PORT);
                let change = ByteChange { offset: offset as u32, mask: 0x41 };
                frame.change_byte(change);
                assert!(is_accepted(&frame), "byte {offset}");
                let changed: Vec<_> =
                    (0..whole.bytes().len()).filter(|at| frame.bytes()[*at] != whole.bytes()[*at]).collect();
                assert!(
                    changed.contains(&(first + offset)) && changed.len() <= 3,
                    "a byte and the checksum: {changed:?}"
                );
                frame.change_byte(change);
                assert_eq!(frame, whole);
            }
            let mut frame = complete(is_ipv6);
            frame.change_byte(ByteChange { offset: PAYLOAD.len() as u32, mask: 1 });
            assert_eq!(frame, whole, "behind its end");
        }
    }

    #[test]
    fn a_datagram_without_checksum_keeps_none() {
        let mut buffer = complete(false).buffer().to_vec();
        let field = VNET_HEADER + 34 + 6;
        buffer[field..field + 2].fill(0);
        let mut frame = Frame::new(buffer).unwrap();
        frame.change_byte(ByteChange { offset: 3, mask: 8 });
        frame.set_end(Side::Source, "10.0.0.77:7".parse().unwrap());
        assert_eq!(frame.buffer()[field..field + 2], [0, 0]);
        assert!(is_accepted(&frame), "the IPv4 header's checksum");
    }

    #[test]
    fn version_negotiation_fragments_and_other_protocols_are_left_alone() {
        let changed = |place: usize, bytes: &[u8]| {
            let mut buffer = complete(false).buffer().to_vec();
            buffer[VNET_HEADER + place..VNET_HEADER + place + bytes.len()].copy_from_slice(bytes);
            Frame::new(buffer).unwrap()
        };
        let payload = 34 + UDP_HEADER;
        assert!(changed(payload, b"\xc0\x00\x00\x00\x01").bytes_to_corrupt().is_some());
        assert_eq!(changed(payload, b"\xc0\x00\x00\x00\x00").bytes_to_corrupt(), None, "version 0");
        assert!(changed(payload, b"\x40\x00\x00\x00\x00").bytes_to_corrupt().is_some(), "a short header");
        for frame in [changed(FRAGMENT + 1, &[9]), changed(ETHERNET + 9, &[6])] {
            assert_eq!((frame.bytes_to_corrupt(), frame.end(Side::Source)), (None, None));
        }
    }
}
