//! How packets reach the real servers: by sockets on the loopback, from an address of its own for each flow.
//!
//! A server tells clients apart by address and port. All of 127.0.0.0/8 belongs to the loopback, so a socket that is bound to
//! no address can send from, and receive at, 4 million addresses: no flow needs a socket, and one call receives datagrams of
//! many flows. Several sockets share the flows, because each has a receive buffer.

use std::{
    collections::BTreeSet,
    io::{self, IoSlice, IoSliceMut},
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use nix::{
    cmsg_space,
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        socket::{
            AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockFlag, SockType, SockaddrIn,
            bind, getsockname, recvmmsg, sendmsg, setsockopt, socket, sockopt,
        },
        time::TimeSpec,
    },
};

use crate::{clock::Moment, packet::ECN};

/// Sockets. Each has room for some thousand datagrams even where the kernel allows no more than its default.
const SOCKETS: usize = 16;
/// Bytes asked for as each socket's receive buffer. The kernel gives what `net.core.rmem_max` allows.
const BUFFER_BYTES: usize = 8 << 20;
/// Datagrams that one call receives at most.
const TOGETHER: usize = 32;
/// Longest datagram, larger than any that the interface of the hosts can carry.
const MOST_BYTES: usize = 9216;

/// A datagram of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromServer<'a> {
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// Who sent it.
    pub(crate) server: SocketAddrV4,
    /// When it reached the socket, on the monotonic clock.
    pub(crate) time: u64,
    /// Its mark, RFC 3168 section 5.
    pub(crate) ecn: u8,
    /// Its payload; `None`: it was longer than any path carries.
    pub(crate) payload: Option<&'a [u8]>,
}

/// The sockets.
#[derive(Debug)]
pub(crate) struct Nat {
    sockets: Vec<OwnedFd>,
    /// Readiness of all sockets, so that waiting for them costs no more than for one.
    readiness: Epoll,
    buffer: Vec<u8>,
}

impl Nat {
    /// Opens the sockets, on free ports of the calling thread's network namespace.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) fn open() -> io::Result<Self> {
        let sockets = (0..SOCKETS).map(|_| open_one()).collect::<io::Result<Vec<_>>>()?;
        let readiness = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (number, socket) in (0..).zip(&sockets) {
            readiness.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        }
        Ok(Self { sockets, readiness, buffer: vec![0; TOGETHER * MOST_BYTES] })
    }

    /// Handle for poll(2): readable where a datagram has arrived.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.readiness.0.as_fd()
    }

    /// Numbers of the sockets at which a datagram has arrived.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) fn ready(&self) -> io::Result<Vec<usize>> {
        let mut events = [EpollEvent::empty(); SOCKETS];
        let count = match self.readiness.wait(&mut events, EpollTimeout::ZERO) {
            Err(Errno::EINTR) => 0,
            result => result?,
        };
        Ok(events[..count].iter().map(|event| event.data() as usize).collect())
    }

    /// Sends a datagram of a flow to a server, with its mark.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) fn send(&self, flow: u32, server: SocketAddrV4, payload: &[u8], ecn: u8) -> io::Result<()> {
        let socket = &self.sockets[flow as usize % self.sockets.len()];
        let source = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(loopback_of(flow).octets()) },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        sendmsg(
            socket.as_raw_fd(),
            &[IoSlice::new(payload)],
            &[ControlMessage::Ipv4PacketInfo(&source), ControlMessage::Ipv4Tos(&ecn)],
            MsgFlags::MSG_DONTWAIT,
            Some(&SockaddrIn::from(server)),
        )?;
        Ok(())
    }

    /// Hands over what has arrived at one socket, some tens of datagrams at most.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) fn receive(&mut self, socket: usize, mut on: impl FnMut(FromServer)) -> io::Result<()> {
        let mut headers =
            MultiHeaders::<SockaddrIn>::preallocate(TOGETHER, Some(cmsg_space!(TimeSpec, libc::in_pktinfo, u8)));
        let mut slices: Vec<_> = self.buffer.chunks_exact_mut(MOST_BYTES).map(|one| [IoSliceMut::new(one)]).collect();
        let socket = self.sockets[socket].as_raw_fd();
        let received = match recvmmsg(socket, &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None) {
            Ok(received) => received,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let moment = Moment::now();
        for message in received {
            let (mut time, mut flow, mut ecn) = (None, None, 0);
            for control in message.cmsgs()? {
                match control {
                    ControlMessageOwned::ScmTimestampns(stamp) => {
                        time = Some(moment.of_stamp(stamp.tv_sec() as u64 * 1_000_000_000 + stamp.tv_nsec() as u64));
                    }
                    ControlMessageOwned::Ipv4PacketInfo(packet) => {
                        flow = flow_of(Ipv4Addr::from(packet.ipi_addr.s_addr.to_ne_bytes()));
                    }
                    ControlMessageOwned::Ipv4Tos(class) => ecn = class & ECN,
                    _ => {}
                }
            }
            let (Some(time), Some(flow), Some(from)) = (time, flow, message.address) else { continue };
            let payload = (!message.flags.contains(MsgFlags::MSG_TRUNC)).then(|| message.iovs().next()).flatten();
            on(FromServer { flow, server: SocketAddrV4::from(from), time, ecn, payload });
        }
        Ok(())
    }

    /// Ports of the sockets.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) fn ports(&self) -> io::Result<BTreeSet<u16>> {
        let port = |socket: &OwnedFd| Ok(getsockname::<SockaddrIn>(socket.as_raw_fd())?.port());
        self.sockets.iter().map(port).collect()
    }
}

fn open_one() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let one = socket(AddressFamily::Inet, SockType::Datagram, flags, None)?;
    setsockopt(&one, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&one, sockopt::Ipv4PacketInfo, &true)?;
    setsockopt(&one, sockopt::IpRecvTos, &true)?;
    // Only root of the machine may force it.
    if setsockopt(&one, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
        setsockopt(&one, sockopt::RcvBuf, &BUFFER_BYTES)?;
    }
    bind(one.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)))?;
    Ok(one)
}

/// The address in 127.64.0.0/10 by which a server knows the flow with this number.
fn loopback_of(flow: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(127, 64, 0, 0).to_bits() | (flow & 0x003f_ffff))
}

/// The flow behind such an address.
fn flow_of(address: Ipv4Addr) -> Option<u32> {
    let [first, second, ..] = address.octets();
    (first == 127 && second & 0xc0 == 64).then(|| address.to_bits() & 0x003f_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_has_an_address_of_its_own() {
        for flow in [0, 1, 255, 256, 0xffff, 0x0012_3456, 0x003f_ffff] {
            assert!(loopback_of(flow).is_loopback());
            assert_eq!(flow_of(loopback_of(flow)), Some(flow));
        }
        assert_eq!(loopback_of(0x003f_ffff), Ipv4Addr::new(127, 127, 255, 255));
        assert_eq!(flow_of(Ipv4Addr::LOCALHOST), None);
    }
}
