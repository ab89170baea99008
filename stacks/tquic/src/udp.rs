//! One UDP socket: datagrams in, batches out.

use std::{
    cell::Cell,
    io::{self, ErrorKind, IoSlice},
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        signal::SigSet,
        socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg},
        time::TimeSpec,
    },
};
use quiclab_contract::{IpVersion, TestCase};
use tquic::{PacketInfo, PacketSendHandler};

use crate::{
    gro::{self, Received},
    settings::Settings,
};

/// Most segments that the kernel cuts one send into: UDP_MAX_SEGMENTS, include/linux/udp.h (Linux 4.18 to 6.8).
const MAX_SEGMENTS: usize = 64;

/// Largest UDP payload over IPv4: 65535 less 20 bytes of IP and 8 of UDP header. Over IPv6 it is larger.
const MAX_UDP_PAYLOAD: usize = 65_507;

/// A UDP socket that tquic sends through.
pub struct Socket {
    inner: UdpSocket,
    local: SocketAddr,
    gso: bool,
    /// Whether several datagrams can come with one system call.
    receives_together: bool,
    /// True where packets wait in tquic for room in the socket.
    blocked: Cell<bool>,
}

impl Socket {
    /// Binds to the address of the role.
    ///
    /// # Errors
    /// Where the port is taken.
    pub fn bind(settings: &Settings) -> Result<Self> {
        let local = settings.local();
        let inner = UdpSocket::bind(local).with_context(|| format!("binding to UDP {local}"))?;
        inner.set_nonblocking(true)?;
        // Packets that probe the path's MTU must not be fragmented (RFC 9000, section 14).
        never_fragment(&inner, settings.ip).context("setsockopt IP_MTU_DISCOVER")?;
        let gso = settings.gso.is_on();
        // Elsewhere than in tests of speed each packet keeps its own time of arrival.
        let receives_together = gso && settings.test_case == TestCase::Perf;
        if receives_together {
            gro::turn_on(&inner).context("setsockopt UDP_GRO")?;
        }
        let local = inner.local_addr()?;
        Ok(Self { inner, local, gso, receives_together, blocked: Cell::new(false) })
    }

    /// The address the socket is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sleeps until a datagram can be read, waiting packets can leave, `timeout` is over or SIGTERM comes.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        let mut events = PollFlags::POLLIN;
        if self.blocked.get() {
            events |= PollFlags::POLLOUT;
        }
        let mut sockets = [PollFd::new(self.inner.as_fd(), events)];
        match ppoll(&mut sockets, timeout.map(TimeSpec::from_duration), Some(SigSet::empty())) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("ppoll"),
        }
    }

    /// Reads one datagram into `buffer`, or several of one peer. `None`: there is none now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<(Received, PacketInfo)>> {
        loop {
            let received = if self.receives_together {
                gro::receive(&self.inner, buffer).map_err(io::Error::from)
            } else {
                let one = self.inner.recv_from(buffer);
                one.map(|(length, from)| Received { length, segment: length.max(1), from })
            };
            match received {
                Ok(received) => {
                    let info = PacketInfo { src: received.from, dst: self.local, time: Instant::now() };
                    return Ok(Some((received, info)));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // An ICMP message about an earlier packet: QUIC retransmits or times out (RFC 9000, 14.2.1).
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error).context("receiving from UDP"),
            }
        }
    }

    /// Sends the first packets of `packets` in one system call, and says how many; 0: the socket is full.
    fn send_first(&self, packets: &[(Vec<u8>, PacketInfo)]) -> io::Result<usize> {
        let count = if self.gso { batch_length(packets) } else { 1 };
        let (first, info) = &packets[0];
        let segment = u16::try_from(first.len()).map_err(io::Error::other)?;
        let payload: Vec<IoSlice<'_>> = packets[..count].iter().map(|(packet, _)| IoSlice::new(packet)).collect();
        let offload = [ControlMessage::UdpGsoSegments(&segment)];
        let messages = if count > 1 { &offload[..] } else { &[] };
        let peer = SockaddrStorage::from(info.dst);
        match sendmsg(self.inner.as_raw_fd(), &payload, messages, MsgFlags::empty(), Some(&peer)) {
            Ok(_) => Ok(count),
            Err(Errno::EAGAIN) => Ok(0),
            // A packet that probes the path's MTU and is larger than that of the interface: lost, which is its answer.
            Err(Errno::EMSGSIZE) => Ok(count),
            Err(error) if is_transient(&error.into()) => Ok(count),
            Err(error) => Err(error.into()),
        }
    }
}

/// How many packets from the first one on can leave together: to one peer, of one size but for the last, which may be
/// shorter.
fn batch_length(packets: &[(Vec<u8>, PacketInfo)]) -> usize {
    let (first, info) = &packets[0];
    let most = (MAX_UDP_PAYLOAD / first.len().max(1)).clamp(1, MAX_SEGMENTS);
    let mut count = 1;
    for (packet, other) in packets.iter().take(most).skip(1) {
        if other.dst != info.dst || packet.len() > first.len() {
            break;
        }
        count += 1;
        if packet.len() < first.len() {
            break;
        }
    }
    count
}

impl PacketSendHandler for Socket {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        let mut sent = 0;
        self.blocked.set(false);
        while sent < packets.len() {
            match self.send_first(&packets[sent..]) {
                Ok(0) => {
                    self.blocked.set(true);
                    break;
                }
                Ok(count) => sent += count,
                Err(error) => return Err(tquic::Error::IoError(format!("sending to UDP: {error}"))),
            }
        }
        Ok(sent)
    }
}

/// Sends no fragments, and leaves it to tquic how large packets may be.
fn never_fragment(socket: &UdpSocket, ip: IpVersion) -> io::Result<()> {
    let (level, option, value) = match ip {
        IpVersion::V4 => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        IpVersion::V6 => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
    };
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `value` outlives the call and is `size` bytes long.
    let outcome = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), size) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True for what an ICMP message leaves on a socket, and for an interrupted call.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_ends_at_a_longer_packet_after_a_shorter_one_and_at_another_peer() {
        let packet = |length: usize, port: u16| {
            let address = SocketAddr::from(([127, 0, 0, 1], port));
            (vec![0; length], PacketInfo { src: address, dst: address, time: Instant::now() })
        };
        assert_eq!(batch_length(&[packet(1200, 1), packet(1200, 1), packet(1201, 1)]), 2);
        assert_eq!(batch_length(&[packet(1200, 1), packet(50, 1), packet(1200, 1)]), 2);
        assert_eq!(batch_length(&[packet(1200, 1), packet(1200, 2)]), 1);
        assert_eq!(batch_length(&vec![packet(1200, 1); 80]), 54, "65507 bytes");
        assert_eq!(batch_length(&vec![packet(100, 1); 80]), 64, "UDP_MAX_SEGMENTS");
    }
}
