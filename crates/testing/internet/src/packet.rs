//! IP packets of the hosts: read, and made.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    Icmpv4Type, Icmpv6Type, IpEcn, IpHeaders, Ipv4Header, Ipv6Header, NetSlice, PacketBuilder, PacketBuilderStep,
    SlicedPacket, TransportSlice, icmpv4::DestUnreachableHeader, icmpv6::DestUnreachableCode,
};

use crate::description::Unreachable;

/// Hops that packets of hosts still have: as if they came from some way off.
const HOP_LIMIT: u8 = 52;
/// Bytes of the packet that an ICMP message quotes, so that it fits into the smallest packets that every path carries: RFC 1812
/// section 4.3.2.3.
const QUOTED_BYTES: usize = 576 - 20 - 8;
/// The same, RFC 4443 section 3.1.
const QUOTED_BYTES_V6: usize = 1280 - 40 - 8;
/// RFC 768.
const UDP_HEADER_BYTES: usize = 8;
/// The bits of ECN in the octet that IPv4 and IPv6 have for traffic classes.
pub(crate) const ECN: u8 = 0b11;
/// Ethernet addresses of captures, from clients and from hosts, and behind them the EtherType.
const TO_HOST: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const TO_CLIENT: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// A UDP datagram that a client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram<'a> {
    pub(crate) client: SocketAddr,
    pub(crate) host: SocketAddr,
    /// The two bits of RFC 3168 section 5.
    pub(crate) ecn: u8,
    pub(crate) payload: &'a [u8],
}

/// Reads an IP packet. `None` for anything but a whole UDP datagram: fragments, ICMP, TCP, what is malformed.
pub(crate) fn parse(packet: &[u8]) -> Option<Datagram<'_>> {
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let (from, to, ecn): (IpAddr, IpAddr, u8) = match sliced.net? {
        NetSlice::Ipv4(ip) if !ip.is_payload_fragmented() => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.ecn().value())
        }
        NetSlice::Ipv6(ip) if !ip.is_payload_fragmented() => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.traffic_class() & ECN)
        }
        _ => return None,
    };
    let TransportSlice::Udp(udp) = sliced.transport? else { return None };
    Some(Datagram {
        client: SocketAddr::new(from, udp.source_port()),
        host: SocketAddr::new(to, udp.destination_port()),
        ecn,
        payload: udp.payload(),
    })
}

/// An IP packet with a UDP datagram. `None` where the addresses are of different families, or the payload is too long for it.
pub(crate) fn udp(from: SocketAddr, to: SocketAddr, payload: &[u8], ecn: u8) -> Option<Vec<u8>> {
    let step = ip(from.ip(), to.ip(), ecn)?.udp(from.port(), to.port());
    let mut packet = Vec::with_capacity(step.size(payload.len()));
    step.write(&mut packet, payload).ok()?;
    Some(packet)
}

/// Bytes of headers before the payload.
pub(crate) fn header_bytes(address: IpAddr) -> usize {
    if address.is_ipv4() { 20 + 8 } else { 40 + 8 }
}

/// An ICMP message from `from` which tells the sender of `packet` that it did not arrive.
pub(crate) fn unreachable(from: IpAddr, to: IpAddr, why: Unreachable, packet: &[u8]) -> Option<Vec<u8>> {
    let step = ip(from, to, 0)?;
    let (step, most) = if from.is_ipv4() {
        let header = match why {
            Unreachable::Network => DestUnreachableHeader::Network,
            Unreachable::Host => DestUnreachableHeader::Host,
            Unreachable::Port => DestUnreachableHeader::Port,
            Unreachable::Prohibited => DestUnreachableHeader::FilterProhibited,
        };
        (Message::V4(step.icmpv4(Icmpv4Type::DestinationUnreachable(header))), QUOTED_BYTES)
    } else {
        let code = match why {
            Unreachable::Network => DestUnreachableCode::NoRoute,
            Unreachable::Host => DestUnreachableCode::Address,
            Unreachable::Port => DestUnreachableCode::Port,
            Unreachable::Prohibited => DestUnreachableCode::Prohibited,
        };
        (Message::V6(step.icmpv6(Icmpv6Type::DestinationUnreachable(code))), QUOTED_BYTES_V6)
    };
    let quoted = &packet[..packet.len().min(most)];
    let mut message = Vec::with_capacity(quoted.len() + 48);
    match step {
        Message::V4(step) => step.write(&mut message, quoted).ok()?,
        Message::V6(step) => step.write(&mut message, quoted).ok()?,
    }
    Some(message)
}

/// Makes a message as [`unreachable`] does, which quotes a datagram to `about`, with so many bytes behind its IP header: UDP's header and
/// the payload of `datagram`, whose sender gets it.
pub(crate) fn unreachable_about(
    datagram: &Datagram<'_>,
    about: IpAddr,
    why: Unreachable,
    quoted: usize,
) -> Option<Vec<u8>> {
    let about = SocketAddr::new(about, datagram.host.port());
    let packet = udp(datagram.client, about, datagram.payload, datagram.ecn)?;
    let quoted = (header_bytes(about.ip()) - UDP_HEADER_BYTES + quoted).min(packet.len());
    unreachable(datagram.host.ip(), datagram.client.ip(), why, &packet[..quoted])
}

enum Message {
    V4(PacketBuilderStep<etherparse::Icmpv4Header>),
    V6(PacketBuilderStep<etherparse::Icmpv6Header>),
}

fn ip(from: IpAddr, to: IpAddr, ecn: u8) -> Option<PacketBuilderStep<IpHeaders>> {
    let header = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let (source, destination) = (from.octets(), to.octets());
            let ecn = IpEcn::try_new(ecn & ECN).ok()?;
            let header = Ipv4Header { source, destination, ecn, time_to_live: HOP_LIMIT, ..Default::default() };
            IpHeaders::Ipv4(header, Default::default())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let (source, destination) = (from.octets(), to.octets());
            let header = Ipv6Header {
                source,
                destination,
                traffic_class: ecn & ECN,
                hop_limit: HOP_LIMIT,
                ..Default::default()
            };
            IpHeaders::Ipv6(header, Default::default())
        }
        _ => return None,
    };
    Some(PacketBuilder::ip(header))
}

/// An Ethernet frame around an IP packet, for a capture.
pub(crate) fn frame(packet: &[u8], is_from_host: bool) -> Vec<u8> {
    let ether_type: u16 = if packet.first().is_some_and(|byte| byte >> 4 == 6) { 0x86dd } else { 0x0800 };
    let addresses = if is_from_host { TO_CLIENT } else { TO_HOST };
    [&addresses[..], &ether_type.to_be_bytes(), packet].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(v6: bool) -> [SocketAddr; 2] {
        let texts = if v6 { ["[2001:2::1]:5000", "[2001:db8::7]:443"] } else { ["198.18.0.1:5000", "100.64.1.2:443"] };
        texts.map(|text| text.parse().unwrap())
    }

    #[test]
    fn what_is_made_is_read_again() {
        for v6 in [false, true] {
            let [client, host] = pair(v6);
            let packet = udp(client, host, b"hello", 2).unwrap();
            assert_eq!(packet.len(), header_bytes(host.ip()) + 5);
            assert_eq!(parse(&packet), Some(Datagram { client, host, ecn: 2, payload: b"hello" }));
        }
        assert_eq!(udp(pair(false)[0], pair(true)[1], b"hello", 0), None);
    }

    /// RFC 1071: the sum over a packet with its checksum has all bits set.
    fn sum(parts: &[&[u8]]) -> u16 {
        let bytes = parts.concat();
        let mut sum: u32 =
            bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn checksums_are_right() {
        let [client, host] = pair(false);
        let packet = udp(host, client, b"hello", 2).unwrap();
        assert_eq!(sum(&[&packet[..20]]), 0xffff);
        assert_eq!(sum(&[&packet[12..20], &[0, 17, 0, 13], &packet[20..]]), 0xffff);
        let [client, host] = pair(true);
        let packet = udp(host, client, b"hello", 2).unwrap();
        assert_eq!(sum(&[&packet[8..40], &[0, 17, 0, 13], &packet[40..]]), 0xffff);
        let refused = unreachable(host.ip(), client.ip(), Unreachable::Port, &packet).unwrap();
        let length = (refused.len() - 40) as u16;
        assert_eq!(sum(&[&refused[8..40], &[0, 58], &length.to_be_bytes(), &refused[40..]]), 0xffff);
    }

    #[test]
    fn an_icmp_message_quotes_what_it_answers_and_stays_short() {
        for (v6, most, types) in [(false, 576, [3, 13]), (true, 1280, [1, 1])] {
            let [client, host] = pair(v6);
            let asked = udp(client, host, &[7; 1300], 0).unwrap();
            let answer = unreachable(host.ip(), client.ip(), Unreachable::Prohibited, &asked).unwrap();
            let headers = header_bytes(host.ip());
            assert_eq!(answer.len(), most);
            assert_eq!(answer[headers - 8..headers - 6], types);
            assert_eq!(answer[headers..], asked[..most - headers]);
            assert_eq!(parse(&answer), None);
        }
    }

    #[test]
    fn a_message_about_another_host_quotes_its_address_and_as_much_as_is_said() {
        for v6 in [false, true] {
            let [client, host] = pair(v6);
            let about: SocketAddr = if v6 { "[2001:db8::99]:443" } else { "100.64.9.9:443" }.parse().unwrap();
            let datagram = Datagram { client, host, ecn: 0, payload: &[7; 1200] };
            let headers = header_bytes(host.ip());
            let quotes = udp(client, about, datagram.payload, 0).unwrap();
            for quoted in [8, 50] {
                let message = unreachable_about(&datagram, about.ip(), Unreachable::Prohibited, quoted).unwrap();
                assert_eq!(message[headers..], quotes[..headers - 8 + quoted]);
            }
        }
    }

    #[test]
    fn what_is_no_whole_datagram_is_nothing() {
        let [client, host] = pair(false);
        let packet = udp(client, host, b"hello", 2).unwrap();
        for bytes in 0..packet.len() {
            assert_eq!(parse(&packet[..bytes]), None, "{bytes}");
        }
        let mut fragment = packet.clone();
        fragment[6] = 0x20;
        assert_eq!(parse(&fragment), None);
    }
}
