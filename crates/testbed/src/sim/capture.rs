//! What the simulator's taps see, as frames in a capture.

use std::{
    fs::File,
    io::{BufWriter, Write},
    net::{IpAddr, SocketAddr},
    path::Path,
};

use anyhow::{Context, Result};
use etherparse::{
    IpDscp, IpEcn, IpHeaders, Ipv4Extensions, Ipv4Header, Ipv6Extensions, Ipv6FlowLabel, Ipv6Header, PacketBuilder,
    ip_number::UDP,
};
use quiclab_experiment::run::Run;
use quiclab_record::{TapRole, TapSeen};
use quiclab_sim::transfer::{Side, Tap, TapEvent};
use quiclab_units::Time;
use quiclab_wire::{CaptureWriter, Direction, PacketToWrite, TapDescription};

use crate::{arrived::Carried, collect::RunFailure};

/// Hop limit (time to live) of packets, as of Linux.
const HOP_LIMIT: u8 = 64;

/// A host on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// Address of its network card.
    pub(super) link: [u8; 6],
    /// IP address and UDP port.
    pub(super) socket: SocketAddr,
}

/// Frames, until the secrets are known that stand before them.
pub(super) struct Frames {
    server: Address,
    client: Address,
    /// Time 0 of the simulator.
    begin: Time,
    taps: [Seen; 2],
    frames: Vec<Frame>,
}

struct Seen {
    role: TapRole,
    snap_length: Option<u32>,
    packets: u64,
    carried: Carried,
}

struct Frame {
    time: Time,
    tap: usize,
    length: u32,
    bytes: Vec<u8>,
    direction: Direction,
}

impl Frames {
    pub(super) fn new(server: Address, client: Address, begin: Time, snap_lengths: [Option<u32>; 2]) -> Self {
        let [sender, behind] = snap_lengths;
        let seen = |role, snap_length| Seen { role, snap_length, packets: 0, carried: Carried::default() };
        let taps = [seen(TapRole::Sender, sender), seen(TapRole::BehindBottleneck, behind)];
        Self { server, client, begin, taps, frames: Vec::new() }
    }

    /// Takes in what a tap sees.
    pub(super) fn add(&mut self, tap_event: &TapEvent) {
        let (from, to) = match tap_event.from {
            Side::Server => (self.server, self.client),
            Side::Client => (self.client, self.server),
        };
        let mut bytes = frame(from, to, tap_event.datagram.ecn, &tap_event.datagram.payload);
        if let Some(bit) = tap_event.flipped_bit
            && let Some(byte) = bytes.get_mut((bit / 8) as usize)
        {
            *byte ^= 1 << (bit % 8);
        }
        let tap = match tap_event.tap {
            Tap::Sender => 0,
            Tap::BehindBottleneck => 1,
        };
        let seen = &mut self.taps[tap];
        seen.packets += 1;
        if tap_event.from == Side::Server {
            let _ = seen.carried.add(&bytes, bytes.len());
        }
        let length = bytes.len();
        let kept = seen.snap_length.map_or(length, |most| length.min(most as usize));
        // Of the sender's packets: at its own card they go out, and behind the bottleneck they go on out of the wire's end.
        let direction = if tap_event.from == Side::Server { Direction::Outbound } else { Direction::Inbound };
        let time = self.begin + quiclab_units::Duration::from_nanos(tap_event.time.as_nanos());
        self.frames.push(Frame { time, tap, length: length as u32, bytes: bytes[..kept].to_vec(), direction });
    }

    /// Writes the capture.
    pub(super) fn write(&self, path: &Path, secrets: Option<&[u8]>) -> Result<()> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        self.write_to(BufWriter::with_capacity(1 << 20, file), secrets)
    }

    /// The same, to where the caller says.
    pub(super) fn write_to(&self, output: impl Write, secrets: Option<&[u8]>) -> Result<()> {
        let describe = |tap: &Seen| TapDescription { name: tap.role.interface_name(), snap_length: tap.snap_length };
        let taps: Vec<_> = self.taps.iter().map(describe).collect();
        let mut writer = CaptureWriter::new(output, &taps, secrets)?;
        for frame in &self.frames {
            writer.write_packet(&PacketToWrite {
                time: frame.time,
                interface: frame.tap as u32,
                frame_length: frame.length,
                captured: &frame.bytes,
                direction: Some(frame.direction),
            })?;
        }
        writer.finish()?;
        Ok(())
    }

    /// Whether what arrived did not pass one of the taps.
    pub(super) fn arrived_otherwise(&self, run: &Run) -> Option<RunFailure> {
        self.taps.iter().find_map(|tap| tap.carried.too_little(run, tap.role.interface_name()))
    }

    /// What the taps say of themselves.
    pub(super) fn reports(&self) -> Vec<TapSeen> {
        let report = |(interface, tap): (u32, &Seen)| TapSeen {
            role: tap.role,
            interface,
            snaplen: tap.snap_length,
            packets_seen: tap.packets,
            packets_lost: 0,
            super_packets: None,
            stamps: None,
        };
        (0..).zip(&self.taps).map(report).collect()
    }
}

/// An Ethernet frame around a UDP datagram.
fn frame(from: Address, to: Address, ecn: u8, payload: &[u8]) -> Vec<u8> {
    // Two bits are always a code point.
    let ecn = IpEcn::try_new(ecn & 3).unwrap_or_default();
    let ip = match (from.socket.ip(), to.socket.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = Ipv4Header {
                dscp: IpDscp::default(),
                ecn,
                dont_fragment: true,
                time_to_live: HOP_LIMIT,
                protocol: UDP,
                source: source.octets(),
                destination: destination.octets(),
                ..Ipv4Header::default()
            };
            IpHeaders::Ipv4(header, Ipv4Extensions::default())
        }
        (source, destination) => {
            let octets = |address| match address {
                IpAddr::V4(address) => std::net::Ipv4Addr::to_ipv6_mapped(&address).octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let header = Ipv6Header {
                traffic_class: ecn.value(),
                flow_label: Ipv6FlowLabel::ZERO,
                next_header: UDP,
                hop_limit: HOP_LIMIT,
                source: octets(source),
                destination: octets(destination),
                ..Ipv6Header::default()
            };
            IpHeaders::Ipv6(header, Ipv6Extensions::default())
        }
    };
    let builder = PacketBuilder::ethernet2(from.link, to.link).ip(ip).udp(from.socket.port(), to.socket.port());
    let mut bytes = Vec::with_capacity(builder.size(payload.len()));
    // Writing into memory fails for datagrams alone that are too long for UDP, which are refused where they come from.
    builder.write(&mut bytes, payload).expect("a datagram that fits UDP");
    bytes
}
