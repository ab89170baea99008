//! From a captured frame to the fields of a [`Segment`] and a [`Packet`].

mod plain;

use std::net::{IpAddr, SocketAddr};

use etherparse::err::packet::SliceError;
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice};
use quiclab_units::Time;

use crate::packet::{Packet, Protocol, TcpFlags, TcpSegment};
use crate::skip_reason::SkipReason;
use crate::tls::TlsRecords;

// Numbers of the registry of link-layer header types of pcap and pcapng.
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const LOOP: u16 = 108;
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;
/// `LINKTYPE_RAW` with the two numbers that some systems write for it, `LINKTYPE_IPV4`, `LINKTYPE_IPV6`.
const RAW_IP: [u16; 5] = [101, 12, 14, 228, 229];
/// `AF_INET`, the same everywhere.
const FAMILY_IPV4: u32 = 2;
/// `AF_INET6` of NetBSD and OpenBSD, FreeBSD, macOS, Linux and Windows.
const FAMILIES_IPV6: [u32; 5] = [24, 28, 30, 10, 23];
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const UDP_HEADER_BYTES: u16 = 8;
/// Bytes of a TCP header without options, RFC 9293 section 3.1.
const TCP_HEADER_BYTES: usize = 20;

/// A frame as its container holds it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When the tap saw it.
    pub time: Time,
    /// Index into [`Capture::interfaces`](crate::Capture::interfaces).
    pub interface: u32,
    /// `LINKTYPE_` number of that interface.
    pub link_type: u16,
    /// Bytes on the wire.
    pub length: u32,
    /// Where its record or block begins in the uncompressed file.
    pub byte_offset: u64,
    /// The bytes kept.
    pub captured: &'a [u8],
}

/// A UDP datagram or TCP segment: its headers read, its payload at hand.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// When the tap saw it.
    pub time: Time,
    /// Index into [`Capture::interfaces`](crate::Capture::interfaces).
    pub interface: u32,
    /// Length of the frame on the wire in bytes.
    pub frame_length: u32,
    /// Bytes of the frame that were kept.
    pub captured_length: u32,
    /// Sender's address and port.
    pub source: SocketAddr,
    /// Receiver's address and port.
    pub destination: SocketAddr,
    /// Bytes behind the UDP or TCP header on the wire, from the length fields of the headers.
    pub payload_length: u32,
    /// The payload bytes, as many of them as were kept.
    pub payload: &'a [u8],
    /// The two bits of Explicit Congestion Notification in the IP header, RFC 3168 section 5: 0 for none, 1 for ECT(1), 2 for ECT(0), 3
    /// for "congestion experienced".
    pub ecn: u8,
    /// UDP or TCP.
    pub transport: Transport<'a>,
}

/// What the transport header shows.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// Ports alone, which the [`Segment`] has.
    Udp,
    /// The fields that matter for measuring.
    Tcp {
        /// Sequence number of the first payload byte (or of SYN), RFC 9293 section 3.1.
        sequence_number: u32,
        /// Meaningful only with [`TcpFlags::ack`].
        acknowledgment_number: u32,
        /// The control bits.
        flags: TcpFlags,
        /// The options, as they are on the wire.
        options: &'a [u8],
    },
}

impl Segment<'_> {
    /// The row without the payload: what the headers, and the TLS bytes behind them, show without keys.
    pub fn to_packet(&self) -> Packet {
        let protocol = match self.transport {
            Transport::Udp => Protocol::Udp,
            Transport::Tcp { sequence_number, acknowledgment_number, flags, .. } => Protocol::Tcp(TcpSegment {
                sequence_number,
                acknowledgment_number,
                flags,
                tls: TlsRecords::parse(self.payload),
            }),
        };
        Packet {
            time: self.time,
            interface: self.interface,
            frame_length: self.frame_length,
            captured_length: self.captured_length,
            source: self.source,
            destination: self.destination,
            payload_length: self.payload_length,
            protocol,
        }
    }

    /// The TLS records that begin in a TCP segment; `None` where it does not begin with one.
    pub fn tls(&self) -> Option<TlsRecords> {
        if self.is_tcp() { TlsRecords::parse(self.payload) } else { None }
    }

    /// Whether this is a TCP segment.
    pub fn is_tcp(&self) -> bool {
        matches!(self.transport, Transport::Tcp { .. })
    }
}

impl<'a> Frame<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// Why it is not one whole UDP datagram or TCP segment.
    pub fn segment(&self) -> Result<Segment<'a>, SkipReason> {
        if let Some(segment) = plain::segment(self) {
            return Ok(segment);
        }
        self.segment_of_any()
    }

    /// Whatever the headers are.
    fn segment_of_any(&self) -> Result<Segment<'a>, SkipReason> {
        let slices = self.slices()?;
        let Some(ip) = slices.net.as_ref().and_then(|net| self.ip_header(net)) else {
            return Err(match &slices.stop_err {
                None => SkipReason::NotIp,
                Some((error, _)) => self.skip_reason(error),
            });
        };
        let (source_port, destination_port, payload_length, payload, transport) = match &slices.transport {
            Some(TransportSlice::Udp(udp)) => {
                let payload_length = match udp.length() {
                    // A jumbogram, or a segmentation offload that has not filled it in: what IP says holds.
                    0 => ip.length_behind(self.offset_of(udp.slice()) + usize::from(UDP_HEADER_BYTES)),
                    length => u32::from(length.checked_sub(UDP_HEADER_BYTES).ok_or(SkipReason::Malformed)?),
                };
                (udp.source_port(), udp.destination_port(), payload_length, udp.payload(), Transport::Udp)
            }
            Some(TransportSlice::Tcp(tcp)) => {
                let header_bytes = tcp.header_slice().len();
                let payload_length = ip.length_behind(self.offset_of(tcp.slice()) + header_bytes);
                let transport = Transport::Tcp {
                    sequence_number: tcp.sequence_number(),
                    acknowledgment_number: tcp.acknowledgment_number(),
                    flags: tcp_flags(tcp),
                    options: &tcp.header_slice()[TCP_HEADER_BYTES..],
                };
                (tcp.source_port(), tcp.destination_port(), payload_length, tcp.payload(), transport)
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
        // Ethernet pads short frames: what is behind the length of the headers is no payload.
        let payload = &payload[..payload.len().min(payload_length as usize)];
        Ok(Segment {
            time: self.time,
            interface: self.interface,
            frame_length: self.length,
            captured_length: self.captured.len() as u32,
            source: SocketAddr::new(ip.source, source_port),
            destination: SocketAddr::new(ip.destination, destination_port),
            payload_length,
            payload,
            ecn: ip.ecn,
            transport,
        })
    }

    /// Slices the frame into its layers, from the link layer on.
    fn slices(&self) -> Result<LaxSlicedPacket<'a>, SkipReason> {
        let cut = || self.cut_or(SkipReason::Malformed);
        let behind = |offset: usize| self.captured.get(offset..).ok_or_else(cut);
        match self.link_type {
            ETHERNET => LaxSlicedPacket::from_ethernet(self.captured).map_err(|_| cut()),
            LINUX_COOKED => self.behind_ethertype(14, 16),
            LINUX_COOKED_2 => self.behind_ethertype(0, 20),
            NULL | LOOP => {
                let family: [u8; 4] = self.captured.get(..4).and_then(|it| it.try_into().ok()).ok_or_else(cut)?;
                let is_ip = |family: u32| family == FAMILY_IPV4 || FAMILIES_IPV6.contains(&family);
                // In the byte order of the host that wrote it, which need not be the file's; LOOP is big-endian.
                if is_ip(u32::from_le_bytes(family)) || is_ip(u32::from_be_bytes(family)) {
                    LaxSlicedPacket::from_ip(behind(4)?).map_err(|_| cut())
                } else {
                    Err(SkipReason::NotIp)
                }
            }
            link_type if RAW_IP.contains(&link_type) => LaxSlicedPacket::from_ip(self.captured).map_err(|_| cut()),
            _ => Err(SkipReason::LinkTypeUnknown),
        }
    }

    /// Linux cooked captures: an EtherType at one offset, what it describes at another.
    fn behind_ethertype(&self, type_offset: usize, offset: usize) -> Result<LaxSlicedPacket<'a>, SkipReason> {
        let cut = || self.cut_or(SkipReason::Malformed);
        let ethertype: [u8; 2] =
            self.captured.get(type_offset..type_offset + 2).and_then(|it| it.try_into().ok()).ok_or_else(cut)?;
        let payload = self.captured.get(offset..).ok_or_else(cut)?;
        match u16::from_be_bytes(ethertype) {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => LaxSlicedPacket::from_ip(payload).map_err(|_| cut()),
            other => Ok(LaxSlicedPacket::from_ether_type(EtherType(other), payload)),
        }
    }

    /// `None` for ARP.
    fn ip_header(&self, net: &LaxNetSlice) -> Option<IpHeader> {
        let (start, length, source, destination, ecn, is_fragment) = match net {
            LaxNetSlice::Ipv4(ip) => {
                let header = ip.header();
                (
                    self.offset_of(header.slice()),
                    usize::from(header.total_len()),
                    IpAddr::V4(header.source_addr()),
                    IpAddr::V4(header.destination_addr()),
                    header.ecn().value(),
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
                    header.ecn().value(),
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
        Some(IpHeader { end, source, destination, ecn, is_fragment })
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
    ecn: u8,
    is_fragment: bool,
}

impl IpHeader {
    /// Bytes of the IP packet behind this offset of the frame. 0 where the headers claim to be longer than the packet.
    fn length_behind(&self, offset: usize) -> u32 {
        u32::try_from(self.end.saturating_sub(offset)).unwrap_or(u32::MAX)
    }
}

fn tcp_flags(tcp: &TcpSlice) -> TcpFlags {
    TcpFlags { syn: tcp.syn(), ack: tcp.ack(), fin: tcp.fin(), rst: tcp.rst(), psh: tcp.psh() }
}
