//! The first packets of a flow, kept until there are enough of them that its meters are worth their memory: those of both
//! senders take 7 kB, and a scan has a flow for each of its packets.

use quiclab_units::Time;
use quiclab_wire::{Observed, QuicFrame, QuicPacket, Role, Segment, TcpFlags, Transport};

use crate::goodput::Protection;

/// Packets of a flow that are kept: as many as a port scan has of a port (SYN, its answer, RST).
pub(crate) const MOST_KEPT: usize = 3;
/// A packet with more QUIC packets and frames than this is not kept: it would take as much memory as meters do.
const MOST_PARTS: usize = 12;
/// Bytes at the front of a payload that tell it from others: behind the header they are encrypted.
pub(crate) const TELLING_BYTES: usize = 64;

/// What the meters of a sender look at of a packet.
pub(crate) struct PacketView<'a> {
    pub(crate) time: Time,
    pub(crate) frame_length: u32,
    pub(crate) payload_length: u32,
    /// The payload as captured; of packets that were kept, [`TELLING_BYTES`] at most.
    pub(crate) payload: &'a [u8],
    pub(crate) transport: Transport<'a>,
    pub(crate) packets: &'a [QuicPacket],
    pub(crate) frames: &'a [QuicFrame],
    pub(crate) has_foreign_bytes: bool,
    pub(crate) has_zero_padding: bool,
    /// ACK delay exponent of the packet's sender.
    pub(crate) ack_delay_exponent: u8,
}

impl<'a> PacketView<'a> {
    pub(crate) fn of(segment: &Segment<'a>, observed: &Observed<'a>) -> Self {
        PacketView {
            time: segment.time,
            frame_length: segment.frame_length,
            payload_length: segment.payload_length,
            payload: segment.payload,
            transport: segment.transport,
            packets: observed.packets,
            frames: observed.frames,
            has_foreign_bytes: observed.has_foreign_bytes,
            has_zero_padding: observed.has_zero_padding,
            ack_delay_exponent: observed.connection.ack_delay_exponent(observed.sender),
        }
    }

    /// Whether it takes little memory to keep.
    pub(crate) fn is_small(&self) -> bool {
        self.packets.len() + self.frames.len() <= MOST_PARTS
    }
}

/// A packet that was seen and not measured yet.
pub(crate) struct KeptPacket {
    pub(crate) sender: Role,
    pub(crate) protection: Protection,
    time: Time,
    frame_length: u32,
    payload_length: u32,
    /// `None` for UDP.
    tcp: Option<(u32, u32, TcpFlags)>,
    datagram: Option<Box<Datagram>>,
}

/// What is kept of a UDP datagram.
struct Datagram {
    payload: Box<[u8]>,
    packets: Box<[QuicPacket]>,
    frames: Box<[QuicFrame]>,
    has_foreign_bytes: bool,
    has_zero_padding: bool,
    ack_delay_exponent: u8,
}

impl KeptPacket {
    pub(crate) fn of(view: &PacketView, sender: Role, protection: Protection) -> Self {
        let (tcp, datagram) = match view.transport {
            // Meters look at the payload of datagrams alone.
            Transport::Tcp { sequence_number, acknowledgment_number, flags, .. } => {
                (Some((sequence_number, acknowledgment_number, flags)), None)
            }
            Transport::Udp => {
                let datagram = Datagram {
                    payload: view.payload[..view.payload.len().min(TELLING_BYTES)].into(),
                    packets: view.packets.into(),
                    frames: view.frames.into(),
                    has_foreign_bytes: view.has_foreign_bytes,
                    has_zero_padding: view.has_zero_padding,
                    ack_delay_exponent: view.ack_delay_exponent,
                };
                (None, Some(Box::new(datagram)))
            }
        };
        KeptPacket {
            sender,
            protection,
            time: view.time,
            frame_length: view.frame_length,
            payload_length: view.payload_length,
            tcp,
            datagram,
        }
    }

    /// The packet as the meters would have seen it when it came.
    pub(crate) fn view(&self) -> PacketView<'_> {
        let transport = match self.tcp {
            Some((sequence_number, acknowledgment_number, flags)) => {
                Transport::Tcp { sequence_number, acknowledgment_number, flags, options: &[] }
            }
            None => Transport::Udp,
        };
        let datagram = self.datagram.as_deref();
        PacketView {
            time: self.time,
            frame_length: self.frame_length,
            payload_length: self.payload_length,
            payload: datagram.map_or(&[], |it| &it.payload),
            transport,
            packets: datagram.map_or(&[], |it| &it.packets),
            frames: datagram.map_or(&[], |it| &it.frames),
            has_foreign_bytes: datagram.is_some_and(|it| it.has_foreign_bytes),
            has_zero_padding: datagram.is_some_and(|it| it.has_zero_padding),
            ack_delay_exponent: datagram.map_or(0, |it| it.ack_delay_exponent),
        }
    }
}
