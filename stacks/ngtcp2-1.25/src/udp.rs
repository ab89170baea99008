//! One UDP socket: datagrams in, batches out, with their ECN codepoints.

use std::{
    io::{self, IoSlice, IoSliceMut},
    net::UdpSocket,
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

use anyhow::{Context, Result};
use nix::{
    cmsg_space,
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        signal::SigSet,
        socket::{ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg},
        time::TimeSpec,
    },
};
use quiclab_contract::{IpVersion, TestCase};

use crate::settings::Settings;

/// Largest UDP payload over IPv4: 65535 less 20 bytes of IP and 8 of UDP header. Over IPv6 it is larger.
pub const MAX_UDP_PAYLOAD: usize = 65_507;

/// The two bits of ECN in the type-of-service byte (RFC 3168, section 5).
const ECN_MASK: u8 = 3;

/// A bound UDP socket.
pub struct Socket {
    inner: UdpSocket,
    local: SockaddrStorage,
    ip: IpVersion,
    gso: bool,
    /// What the socket had no room for. Nothing else is sent before it.
    waiting: Option<Batch>,
    buffer: Vec<u8>,
    control: Vec<u8>,
    /// What was read with the newest datagram, and is not taken yet.
    rest: Option<Rest>,
}

/// Datagrams of one peer in the buffer.
struct Rest {
    /// Where the next one begins, and where all of them end.
    next: usize,
    end: usize,
    /// Bytes of each but the last, which may be shorter.
    segment: usize,
    peer: SockaddrStorage,
    ecn: u8,
}

/// Packets of one connection, of one size but for the last, which may be shorter.
pub struct Batch {
    pub bytes: Vec<u8>,
    /// Bytes of each packet but the last.
    pub segment: usize,
    pub peer: SockaddrStorage,
    /// ECN codepoint.
    pub ecn: u8,
}

/// What has arrived.
pub struct Received {
    pub bytes: Vec<u8>,
    pub peer: SockaddrStorage,
    /// ECN codepoint.
    pub ecn: u8,
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
        let ((level, mtu, probe), (tos, on)) = match settings.ip {
            // Packets that probe the path's MTU must not be fragmented (RFC 9000, section 14).
            IpVersion::V4 => {
                ((libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE), (libc::IP_RECVTOS, 1))
            }
            IpVersion::V6 => {
                ((libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE), (libc::IPV6_RECVTCLASS, 1))
            }
        };
        set_option(&inner, level, mtu, probe).context("setsockopt IP_MTU_DISCOVER")?;
        set_option(&inner, level, tos, on).context("setsockopt IP_RECVTOS")?;
        // Several datagrams with one system call. Elsewhere than in tests of speed each keeps its own time of arrival.
        if settings.test_case == TestCase::Perf {
            set_option(&inner, libc::SOL_UDP, libc::UDP_GRO, 1).context("setsockopt UDP_GRO")?;
        }
        let local = SockaddrStorage::from(inner.local_addr()?);
        let control = cmsg_space!(libc::c_int, libc::c_int);
        Ok(Self {
            inner,
            local,
            ip: settings.ip,
            gso: settings.gso.is_on(),
            waiting: None,
            buffer: vec![0; MAX_UDP_PAYLOAD],
            control,
            rest: None,
        })
    }

    /// The address the socket is bound to.
    pub fn local(&self) -> SockaddrStorage {
        self.local
    }

    /// Sleeps until a datagram can be read, waiting packets can leave, `timeout` is over or SIGTERM comes.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        let timeout = if self.rest.is_some() { Some(Duration::ZERO) } else { timeout };
        let mut events = PollFlags::POLLIN;
        if self.waiting.is_some() {
            events |= PollFlags::POLLOUT;
        }
        let mut sockets = [PollFd::new(self.inner.as_fd(), events)];
        match ppoll(&mut sockets, timeout.map(TimeSpec::from_duration), Some(SigSet::empty())) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("ppoll"),
        }
    }

    /// Reads one datagram. `None`: there is none now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn receive(&mut self) -> Result<Option<Received>> {
        loop {
            if let Some(received) = self.next_of_rest() {
                return Ok(Some(received));
            }
            let mut room = [IoSliceMut::new(&mut self.buffer)];
            let flags = MsgFlags::empty();
            let message = recvmsg::<SockaddrStorage>(self.inner.as_raw_fd(), &mut room, Some(&mut self.control), flags);
            let (end, peer, ecn, segment) = match message {
                Ok(message) => {
                    let (mut ecn, mut segment) = (0, message.bytes);
                    for one in message.cmsgs().into_iter().flatten() {
                        match one {
                            ControlMessageOwned::Ipv4Tos(tos) => ecn = tos & ECN_MASK,
                            ControlMessageOwned::Ipv6TClass(class) => ecn = class as u8 & ECN_MASK,
                            ControlMessageOwned::UdpGroSegments(bytes) => segment = bytes.unsigned_abs() as usize,
                            _ => {}
                        }
                    }
                    (message.bytes, message.address, ecn, segment.max(1))
                }
                Err(Errno::EAGAIN) => return Ok(None),
                // An ICMP message about an earlier packet: QUIC retransmits or times out (RFC 9000, 14.2.1).
                Err(error) if is_transient(error) => continue,
                Err(error) => return Err(error).context("receiving from UDP"),
            };
            let Some(peer) = peer else { continue };
            if end == 0 {
                return Ok(Some(Received { bytes: vec![], peer, ecn }));
            }
            self.rest = Some(Rest { next: 0, end, segment, peer, ecn });
        }
    }

    /// The next of several datagrams that were read at the same time.
    fn next_of_rest(&mut self) -> Option<Received> {
        let rest = self.rest.as_mut()?;
        let end = rest.end.min(rest.next + rest.segment);
        let received = Received { bytes: self.buffer[rest.next..end].to_vec(), peer: rest.peer, ecn: rest.ecn };
        rest.next = end;
        if end == rest.end {
            self.rest = None;
        }
        Some(received)
    }

    /// True where nothing can be sent now.
    pub fn is_full(&self) -> bool {
        self.waiting.is_some()
    }

    /// Sends what the socket had no room for.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn flush(&mut self) -> Result<()> {
        match self.waiting.take() {
            Some(batch) => self.send(batch),
            None => Ok(()),
        }
    }

    /// Sends the packets, in one system call where segmentation offload is on. What finds no room is kept.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn send(&mut self, mut batch: Batch) -> Result<()> {
        let step = if self.gso { batch.bytes.len() } else { batch.segment };
        let mut sent = 0;
        while sent < batch.bytes.len() {
            let end = batch.bytes.len().min(sent + step.max(1));
            match self.send_once(&batch.bytes[sent..end], &batch) {
                Ok(_) => {}
                Err(Errno::EAGAIN) => {
                    batch.bytes.drain(..sent);
                    self.waiting = Some(batch);
                    return Ok(());
                }
                // A packet that probes the path's MTU and is larger than that of the interface: lost, which is its answer.
                Err(Errno::EMSGSIZE) => {}
                Err(error) if is_transient(error) => {}
                Err(error) => return Err(error).context("sending to UDP"),
            }
            sent = end;
        }
        Ok(())
    }

    fn send_once(&self, bytes: &[u8], batch: &Batch) -> nix::Result<usize> {
        // A batch is at most 65507 bytes.
        let segment = batch.segment as u16;
        let class = i32::from(batch.ecn);
        let mut control = vec![match self.ip {
            IpVersion::V4 => ControlMessage::Ipv4Tos(&batch.ecn),
            IpVersion::V6 => ControlMessage::Ipv6TClass(&class),
        }];
        if bytes.len() > batch.segment {
            control.push(ControlMessage::UdpGsoSegments(&segment));
        }
        let payload = [IoSlice::new(bytes)];
        sendmsg(self.inner.as_raw_fd(), &payload, &control, MsgFlags::empty(), Some(&batch.peer))
    }
}

/// Bytes of the C structure of an address: nix gives those of the largest kind.
pub fn address_length(address: &SockaddrStorage) -> libc::socklen_t {
    let length = match address.as_sockaddr_in6() {
        Some(_) => size_of::<libc::sockaddr_in6>(),
        None => size_of::<libc::sockaddr_in>(),
    };
    length as libc::socklen_t
}

fn set_option(socket: &UdpSocket, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `value` outlives the call and is `size` bytes long.
    let outcome = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), size) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True for what an ICMP message leaves on a socket, and for an interrupted call.
fn is_transient(error: Errno) -> bool {
    matches!(error, Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EINTR)
}
