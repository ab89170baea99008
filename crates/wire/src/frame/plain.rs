//! The headers that nearly every frame has: Ethernet, IP without options or extensions, UDP or TCP.
//!
//! The library's way through any stack of headers copies a description of all that there may be, which costs a third of the
//! time of a capture of headers. What is unusual in any way is left to it.

use std::net::{IpAddr, SocketAddr};

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice, UdpHeaderSlice, ip_number};

use super::{ETHERNET, ETHERTYPE_IPV4, ETHERTYPE_IPV6, Frame, Segment, TCP_HEADER_BYTES, Transport, UDP_HEADER_BYTES};
use crate::packet::TcpFlags;

const ETHERNET_HEADER_BYTES: usize = 14;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;

/// What is behind an IP header.
struct Ip<'a> {
    source: IpAddr,
    destination: IpAddr,
    ecn: u8,
    protocol: etherparse::IpNumber,
    /// Bytes behind the IP header on the wire, from the header's length field.
    length: usize,
    captured: &'a [u8],
}

/// `None` where the frame is anything else, or its lengths do not fit into each other.
pub(super) fn segment<'a>(frame: &Frame<'a>) -> Option<Segment<'a>> {
    if frame.link_type != ETHERNET {
        return None;
    }
    let ethertype = u16::from_be_bytes([*frame.captured.get(12)?, *frame.captured.get(13)?]);
    let packet = &frame.captured[ETHERNET_HEADER_BYTES..];
    let ip = match ethertype {
        ETHERTYPE_IPV4 => ipv4(packet)?,
        ETHERTYPE_IPV6 => ipv6(packet)?,
        _ => return None,
    };
    let (source_port, destination_port, header_bytes, length, transport) = match ip.protocol {
        ip_number::UDP => {
            let udp = UdpHeaderSlice::from_slice(ip.captured).ok()?;
            let header_bytes = usize::from(UDP_HEADER_BYTES);
            let length = usize::from(udp.length());
            if length < header_bytes || length > ip.length {
                return None;
            }
            (udp.source_port(), udp.destination_port(), header_bytes, length, Transport::Udp)
        }
        ip_number::TCP => {
            let tcp = TcpHeaderSlice::from_slice(ip.captured).ok()?;
            let header_bytes = tcp.slice().len();
            if header_bytes > ip.length {
                return None;
            }
            let flags = TcpFlags { syn: tcp.syn(), ack: tcp.ack(), fin: tcp.fin(), rst: tcp.rst(), psh: tcp.psh() };
            let transport = Transport::Tcp {
                sequence_number: tcp.sequence_number(),
                acknowledgment_number: tcp.acknowledgment_number(),
                flags,
                options: &ip.captured[TCP_HEADER_BYTES..header_bytes],
            };
            (tcp.source_port(), tcp.destination_port(), header_bytes, ip.length, transport)
        }
        _ => return None,
    };
    Some(Segment {
        time: frame.time,
        interface: frame.interface,
        frame_length: frame.length,
        captured_length: frame.captured.len() as u32,
        source: SocketAddr::new(ip.source, source_port),
        destination: SocketAddr::new(ip.destination, destination_port),
        payload_length: (length - header_bytes) as u32,
        payload: &ip.captured[header_bytes..ip.captured.len().min(length)],
        ecn: ip.ecn,
        transport,
    })
}

/// Reads what is behind a header of IPv4 without options, of a packet that is no fragment.
fn ipv4(packet: &[u8]) -> Option<Ip<'_>> {
    let header = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let length = usize::from(header.total_len()).checked_sub(IPV4_HEADER_BYTES)?;
    if header.slice().len() != IPV4_HEADER_BYTES || header.is_fragmenting_payload() {
        return None;
    }
    let captured = &packet[IPV4_HEADER_BYTES..];
    Some(Ip {
        source: IpAddr::V4(header.source_addr()),
        destination: IpAddr::V4(header.destination_addr()),
        ecn: header.ecn().value(),
        protocol: header.protocol(),
        length,
        captured: &captured[..captured.len().min(length)],
    })
}

/// Reads what is behind a header of IPv6. A jumbogram has no length there, and extensions another protocol.
fn ipv6(packet: &[u8]) -> Option<Ip<'_>> {
    let header = Ipv6HeaderSlice::from_slice(packet).ok()?;
    let length = usize::from(header.payload_length());
    if length == 0 {
        return None;
    }
    let captured = &packet[IPV6_HEADER_BYTES..];
    Some(Ip {
        source: IpAddr::V6(header.source_addr()),
        destination: IpAddr::V6(header.destination_addr()),
        ecn: header.ecn().value(),
        protocol: header.next_header(),
        length,
        captured: &captured[..captured.len().min(length)],
    })
}

#[cfg(test)]
mod tests;
