//! One UDP socket: datagrams in, batches out, each batch one system call and one planned send time.

use std::{
    io::{self, ErrorKind, IoSlice},
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt, sockopt},
        time::TimeSpec,
    },
    time::{ClockId, clock_gettime},
};

use crate::settings::{Pacing, Settings};

/// Most segments that the kernel cuts one send into: UDP_MAX_SEGMENTS, include/linux/udp.h (Linux 4.18 to 6.8).
const MAX_SEGMENTS: usize = 64;

/// Largest UDP payload over IPv4: 65535 less 20 bytes of IP and 8 of UDP header.
const MAX_UDP_PAYLOAD: usize = 65_507;

/// RFC 9000, section 20.1.
const INTERNAL_ERROR: u64 = 0x1;

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
}

/// Consecutive packets to one peer: all of `segment` bytes, but for the last, which may be shorter.
struct Batch {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that wait to be sent; 0: no batch.
    length: usize,
    segment: usize,
    /// Of the first packet: where to and when.
    info: Option<quiche::SendInfo>,
}

/// Turns the opaque [`Instant`] into nanoseconds of CLOCK_MONOTONIC, which is the same clock on Linux.
struct MonotonicClock {
    instant: Instant,
    nanoseconds: u64,
}

impl Socket {
    /// Binds to `local`, with batches and send times as the settings ask.
    ///
    /// # Errors
    /// Where the address is taken, or the kernel has no SO_TXTIME.
    pub fn bind(local: SocketAddr, settings: &Settings) -> Result<Self> {
        let inner = UdpSocket::bind(local).with_context(|| format!("binding to UDP {local}"))?;
        inner.set_nonblocking(true)?;
        let clock = match settings.pacing {
            Pacing::Off => None,
            Pacing::TxTime => {
                let option = nix::libc::sock_txtime { clockid: nix::libc::CLOCK_MONOTONIC, flags: 0 };
                setsockopt(&inner, sockopt::TxTime, &option).context("setsockopt SO_TXTIME, CLOCK_MONOTONIC")?;
                Some(MonotonicClock::new()?)
            }
        };
        let local = inner.local_addr()?;
        let batch = Batch { buffer: vec![0; MAX_UDP_PAYLOAD], length: 0, segment: 0, info: None };
        Ok(Self { inner, local, gso: settings.gso, clock, batch })
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
        match ppoll(&mut [PollFd::new(self.inner.as_fd(), events)], timeout.map(TimeSpec::from_duration), None) {
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
        self.batch.fill(quic, self.gso);
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

impl Batch {
    /// Takes packets from `quic` until the quantum is full, a packet is shorter than the others, or there is none.
    fn fill(&mut self, quic: &mut quiche::Connection, gso: bool) {
        self.segment = quic.max_send_udp_payload_size();
        let segments = match gso {
            true => (quic.send_quantum().min(MAX_UDP_PAYLOAD) / self.segment).clamp(1, MAX_SEGMENTS),
            false => 1,
        };
        let quantum = segments * self.segment;
        while self.length < quantum {
            match quic.send(&mut self.buffer[self.length..quantum]) {
                Ok((length, info)) => {
                    self.length += length;
                    self.info.get_or_insert(info);
                    if length < self.segment {
                        break;
                    }
                }
                Err(quiche::Error::Done) => break,
                Err(error) => {
                    eprintln!("connection {}: writing a packet: {error}", quic.trace_id());
                    // Only where it is closed already, and then it stays so.
                    let _ = quic.close(false, INTERNAL_ERROR, b"");
                    break;
                }
            }
        }
    }
}

impl MonotonicClock {
    fn new() -> Result<Self> {
        let instant = Instant::now();
        let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).context("CLOCK_MONOTONIC")?);
        Ok(Self { instant, nanoseconds: u64::try_from(now.as_nanos())? })
    }

    /// `at` in nanoseconds of CLOCK_MONOTONIC. A time before this clock was made counts as the time it was made.
    fn nanoseconds_at(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.instant).as_nanos();
        self.nanoseconds.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
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
    fn send_times_are_in_nanoseconds_of_the_monotonic_clock() {
        let clock = MonotonicClock::new().unwrap();
        let before = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64;
        let later = clock.nanoseconds_at(Instant::now() + Duration::from_millis(5));
        let after = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64;
        // Reading two clocks in turn costs far less than the tolerance.
        let tolerance = 1_000_000;
        assert!((before + 5_000_000 - tolerance..after + 5_000_000 + tolerance).contains(&later));
    }
}
