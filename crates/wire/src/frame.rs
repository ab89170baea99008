//! From a captured frame to the fields of a [`Packet`].

use std::net::{IpAddr, SocketAddr};

use etherparse::err::packet::SliceError;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice};
use quiclab_units::Time;

use crate::capture::SkipReason;
use crate::packet::{Packet, Protocol, TcpFlags, TcpSegment};
use crate::quic::QuicDatagram;
use crate::tls::TlsRecords;

/// `LINKTYPE_ETHERNET`, `LINKTYPE_RAW` with the two numbers that some systems write for it, `LINKTYPE_IPV4`,
/// `LINKTYPE_IPV6`: the registry of link-layer header types of pcap and pcapng.
const ETHERNET: u16 = 1;
const RAW_IP: [u16; 5] = [101, 12, 14, 228, 229];
const UDP_HEADER_BYTES: u16 = 8;

/// A frame as a container holds it.
pub(crate) struct Frame<'a> {
    pub(crate) time: Time,
    pub(crate) interface: u32,
    pub(crate) link_type: u16,
    /// Bytes on the wire.
    pub(crate) length: u32,
    pub(crate) captured: &'a [u8],
}

impl Frame<'_> {
    /// Reads the headers.
    pub(crate) fn to_packet(&self) -> Result<Packet, SkipReason> {
        let slices = match self.link_type {
            ETHERNET => {
                LaxSlicedPacket::from_ethernet(self.captured).map_err(|_| self.cut_or(SkipReason::Malformed))?
            }
            link_type if RAW_IP.contains(&link_type) => {
                LaxSlicedPacket::from_ip(self.captured).map_err(|_| self.cut_or(SkipReason::Malformed))?
            }
            _ => return Err(SkipReason::LinkTypeUnknown),
        };
        let Some(ip) = slices.net.as_ref().and_then(|net| self.ip_header(net)) else {
            return Err(match &slices.stop_err {
                None => SkipReason::NotIp,
                Some((error, _)) => self.skip_reason(error),
            });
        };
        let (source_port, destination_port, payload_length, protocol) = match &slices.transport {
            Some(TransportSlice::Udp(udp)) => {
                let payload_length = match udp.length() {
                    // A jumbogram, or a segmentation offload that has not filled it in: what IP says holds.
                    0 => ip.length_behind(self.offset_of(udp.slice()) + usize::from(UDP_HEADER_BYTES)),
                    length => u32::from(length.checked_sub(UDP_HEADER_BYTES).ok_or(SkipReason::Malformed)?),
                };
                let quic = QuicDatagram::parse(udp.payload(), payload_length as usize);
                (udp.source_port(), udp.destination_port(), payload_length, Protocol::Udp { quic })
            }
            Some(TransportSlice::Tcp(tcp)) => {
                let header_bytes = tcp.header_slice().len();
                let payload_length = ip.length_behind(self.offset_of(tcp.slice()) + header_bytes);
                (tcp.source_port(), tcp.destination_port(), payload_length, Protocol::Tcp(tcp_segment(tcp)))
            }
            Some(_) => return Err(SkipReason::NotUdpOrTcp),
            None if ip.is_fragment => return Err(SkipReason::IpFragment),
            None => {
                return Err(match &slices.stop_err {
                    None => SkipReason::NotUdpOrTcp,
                    Some((error, _)) => self.skip_reason(error),
                });
            }
        };
        Ok(Packet {
            time: self.time,
            interface: self.interface,
            frame_length: self.length,
            captured_length: self.captured.len() as u32,
            source: SocketAddr::new(ip.source, source_port),
            destination: SocketAddr::new(ip.destination, destination_port),
            payload_length,
            protocol,
        })
    }

    /// `None` for ARP.
    fn ip_header(&self, net: &LaxNetSlice) -> Option<IpHeader> {
        let (start, length, source, destination, is_fragment) = match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (
                    self.offset_of(header.slice()),
                    usize::from(header.total_len()),
                    IpAddr::V4(header.source_addr()),
                    IpAddr::V4(header.destination_addr()),
                    ip.is_payload_fragmented(),
                )
            }
            LaxNetSlice::Ipv6(ip) => {
                let header = ip.header();
                let length = match header.payload_length() {
                    0 => 0,
                    length => header.slice().len() + usize::from(length),
                };
                (
                    self.offset_of(header.slice()),
                    length,
                    IpAddr::V6(header.source_addr()),
                    IpAddr::V6(header.destination_addr()),
                    ip.is_payload_fragmented(),
                )
            }
            LaxNetSlice::Arp(_) => return None,
        };
        // A length of 0: not filled in yet (segmentation offload), so the frame's own length holds.
        let end = match length {
            0 => self.length as usize,
            length => start + length,
        };
        Some(IpHeader { end, source, destination, is_fragment })
    }

    /// Offset in the frame of a slice of it.
    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr() as usize - self.captured.as_ptr() as usize
    }

    fn skip_reason(&self, error: &SliceError) -> SkipReason {
        match error {
            SliceError::Len(_) => self.cut_or(SkipReason::Malformed),
            _ => SkipReason::Malformed,
        }
    }

    /// Headers that end early are the capture's doing where it cut the frame.
    fn cut_or(&self, otherwise: SkipReason) -> SkipReason {
        if (self.captured.len() as u64) < u64::from(self.length) { SkipReason::HeadersCut } else { otherwise }
    }
}

struct IpHeader {
    /// Offset in the frame, as it was on the wire, at which the IP packet ends.
    end: usize,
    source: IpAddr,
    destination: IpAddr,
    is_fragment: bool,
}

impl IpHeader {
    /// Bytes of the IP packet behind this offset of the frame. 0 where the headers claim to be longer than the packet.
    fn length_behind(&self, offset: usize) -> u32 {
        u32::try_from(self.end.saturating_sub(offset)).unwrap_or(u32::MAX)
    }
}

fn tcp_segment(tcp: &TcpSlice) -> TcpSegment {
    TcpSegment {
        sequence_number: tcp.sequence_number(),
        acknowledgment_number: tcp.acknowledgment_number(),
        flags: TcpFlags { syn: tcp.syn(), ack: tcp.ack(), fin: tcp.fin(), rst: tcp.rst(), psh: tcp.psh() },
        tls: TlsRecords::parse(tcp.payload()),
    }
}
