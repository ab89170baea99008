//! One UDP socket: datagrams in, batches out, each batch one system call and one planned send time.

use std::{
    io::{self, ErrorKind, IoSlice},
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        signal::SigSet,
        socket::{
            AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, SockaddrStorage, bind, sendmsg, setsockopt,
            socket, sockopt,
        },
        time::TimeSpec,
    },
};
use quiclab_contract::Pacing;

use crate::{
    batch::Batch,
    clock::MonotonicClock,
    planned::PlannedTimes,
    settings::{Settings, planned},
};

/// What a call of [`Socket::send_from`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The connection has nothing to send now.
    Nothing,
    /// One batch left; there may be more.
    Batch,
    /// The socket is full; the batch waits until the socket is writable.
    Blocked,
}

/// A UDP socket with the batch that waits to leave through it.
pub struct Socket {
    inner: UdpSocket,
    local: SocketAddr,
    gso: bool,
    /// `None` where no send times are handed over.
    clock: Option<MonotonicClock>,
    batch: Batch,
    /// `None` where the planned send times are not written down.
    planned: Option<PlannedTimes>,
}

impl Socket {
    /// Binds to the address of the role, with batches and send times as the settings ask.
    ///
    /// # Errors
    /// Where the address is taken, or the kernel has no SO_TXTIME.
    pub fn bind(settings: &Settings) -> Result<Self> {
        let local = settings.local();
        let inner = bound(local).with_context(|| format!("binding to UDP {local}"))?;
        inner.set_nonblocking(true)?;
        let clock = match settings.pacing {
            Pacing::Off | Pacing::User => None,
            Pacing::TxTime => {
                let option = nix::libc::sock_txtime { clockid: nix::libc::CLOCK_MONOTONIC, flags: 0 };
                setsockopt(&inner, sockopt::TxTime, &option).context("setsockopt SO_TXTIME, CLOCK_MONOTONIC")?;
                Some(MonotonicClock::new()?)
            }
        };
        let local = inner.local_addr()?;
        let planned = planned(settings).as_deref().map(PlannedTimes::create).transpose()?;
        Ok(Self { inner, local, gso: settings.gso, clock, batch: Batch::new(), planned })
    }

    /// Sets the only peer: datagrams of others are not seen, and the local address is known.
    ///
    /// # Errors
    /// Where there is no route.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<()> {
        self.inner.connect(peer).with_context(|| format!("connecting to UDP {peer}"))?;
        self.local = self.inner.local_addr()?;
        Ok(())
    }

    /// The address packets are sent from; unspecified for a socket that is bound to every address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sleeps until a datagram can be read, a waiting batch can leave, or `timeout` is over. `None`: no time limit.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        let mut events = PollFlags::POLLIN;
        if self.batch.length > 0 {
            events |= PollFlags::POLLOUT;
        }
        match ppoll(
            &mut [PollFd::new(self.inner.as_fd(), events)],
            timeout.map(TimeSpec::from_duration),
            Some(SigSet::empty()),
        ) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("ppoll"),
        }
    }

    /// Reads one datagram into `buffer`. `None`: there is none now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>> {
        loop {
            match self.inner.recv_from(buffer) {
                Ok(datagram) => return Ok(Some(datagram)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // An ICMP message about an earlier packet: QUIC retransmits or times out (RFC 9000, 14.2.1).
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error).context("receiving from UDP"),
            }
        }
    }

    /// Sends one batch of `quic`: with segmentation offload up to its send quantum in one call, otherwise one packet. Do
    /// not hand in another connection after [`Sent::Blocked`] and before [`Socket::flush`] has said true.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn send_from(&mut self, quic: &mut quiche::Connection) -> Result<Sent> {
        if !self.flush()? {
            return Ok(Sent::Blocked);
        }
        let (clock, planned) = (&self.clock, &mut self.planned);
        self.batch.fill(quic, self.gso, |payload, at| {
            if let (Some(clock), Some(planned)) = (clock, planned.as_mut()) {
                planned.push(payload, clock.nanoseconds_at(at));
            }
        });
        match (self.batch.length, self.flush()?) {
            (0, _) => Ok(Sent::Nothing),
            (_, true) => Ok(Sent::Batch),
            (_, false) => Ok(Sent::Blocked),
        }
    }

    /// Sends `datagram` to `peer` at once; where the socket is full it is lost, as on the wire.
    pub fn send_stateless(&self, datagram: &[u8], peer: SocketAddr) {
        let _ = self.inner.send_to(datagram, peer);
    }

    /// Writes down the planned send times so far, where that was asked for.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn write_planned_times(&mut self) -> Result<()> {
        self.planned.as_mut().map_or(Ok(()), PlannedTimes::write)
    }

    /// Sends the waiting batch. True: none waits any more.
    ///
    /// # Errors
    /// Where the kernel refuses for another reason than a full socket.
    pub fn flush(&mut self) -> Result<bool> {
        let Batch { buffer, length, segment, info } = &self.batch;
        let Some(info) = info else {
            return Ok(true);
        };
        let segment_bytes = u16::try_from(*segment).context("segment size")?;
        let txtime = self.clock.as_ref().map(|clock| clock.nanoseconds_at(info.at));
        let mut messages = Vec::with_capacity(2);
        if length > segment {
            messages.push(ControlMessage::UdpGsoSegments(&segment_bytes));
        }
        if let Some(txtime) = &txtime {
            messages.push(ControlMessage::TxTime(txtime));
        }
        let peer = SockaddrStorage::from(info.to);
        let payload = [IoSlice::new(&buffer[..*length])];
        match sendmsg(self.inner.as_raw_fd(), &payload, &messages, MsgFlags::empty(), Some(&peer)) {
            Ok(_) => {}
            Err(Errno::EAGAIN) => return Ok(false),
            Err(error) if is_transient(&error.into()) => {}
            Err(Errno::EIO) if length > segment => {
                return Err(Errno::EIO)
                    .context("sending with UDP_SEGMENT; hint: the interface must have its checksum offload turned on");
            }
            Err(error) => return Err(error).with_context(|| format!("sending {length} bytes to {}", info.to)),
        }
        self.batch.length = 0;
        self.batch.info = None;
        Ok(true)
    }
}

/// A socket at `local`; one of IPv6 takes no IPv4.
fn bound(local: SocketAddr) -> io::Result<UdpSocket> {
    if local.is_ipv4() {
        return UdpSocket::bind(local);
    }
    let inner = socket(AddressFamily::Inet6, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&inner, sockopt::Ipv6V6Only, &true)?;
    bind(inner.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(inner.into())
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
