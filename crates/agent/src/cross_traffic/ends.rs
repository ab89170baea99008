//! What the threads of cross traffic do: send, and count what arrives.

use std::{
    net::SocketAddr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        socket::{MsgFlags, Shutdown, SockFlag, accept4, getsockopt, recv, send as send_bytes, shutdown, sockopt},
        time::{TimeSpec, TimeValLike},
    },
};
use quiclab_agent_protocol::cross_traffic::{CrossFlow, CrossTraffic};

use super::socket::{begin_to_connect, tcp_counts};

/// How long a TCP connection may take to hand over what it has left, and to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// Bytes that TCP is given, or asked for, at once.
const CHUNK_BYTES: usize = 64 << 10;
const SECOND_NS: u128 = 1_000_000_000;

/// What the source did.
#[derive(Debug, Default)]
pub struct Sent {
    pub packets: u64,
    pub bytes: u64,
    pub retransmissions: Option<u64>,
    pub lifetime_ns: u64,
    pub is_complete: bool,
}

/// What the other end saw.
#[derive(Debug, Default)]
pub struct Received {
    pub packets: u64,
    pub bytes: u64,
}

/// Sends until `stop` is readable.
///
/// # Errors
/// What the kernel answers.
pub fn send(socket: &OwnedFd, order: &CrossTraffic, to: SocketAddr, stop: BorrowedFd) -> Result<Sent> {
    // A timer may be late by 50 us otherwise.
    // SAFETY: plain system call about this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let begin = Instant::now() + Duration::from_nanos(order.start_ns);
    let end = order.duration_ns.map(|length| begin + Duration::from_nanos(length));
    if wait(None, stop, Some(begin))? == Woken::Stopped {
        return Ok(Sent { is_complete: true, ..Sent::default() });
    }
    begin_to_connect(socket, to)?;
    match &order.flow {
        CrossFlow::Udp { rate_bits_per_second, datagram_bytes } => {
            send_datagrams(socket, *rate_bits_per_second, *datagram_bytes, begin, end, stop)
        }
        CrossFlow::Tcp { .. } => send_stream(socket, begin, end, stop),
    }
}

fn send_datagrams(
    socket: &OwnedFd,
    rate: u64,
    bytes: u32,
    begin: Instant,
    end: Option<Instant>,
    stop: BorrowedFd,
) -> Result<Sent> {
    let payload = vec![0; bytes as usize];
    let mut sent = Sent { is_complete: true, ..Sent::default() };
    for number in 0_u64.. {
        let due = begin + due_after(number, rate, bytes);
        if end.is_some_and(|end| due >= end) || wait(None, stop, Some(due))? == Woken::Stopped {
            break;
        }
        match send_bytes(socket.as_raw_fd(), &payload, MsgFlags::empty()) {
            Ok(_) => {
                sent.packets += 1;
                sent.bytes += u64::from(bytes);
                sent.lifetime_ns = begin.elapsed().as_nanos() as u64;
            }
            // A full queue of the host drops it, or an earlier one was refused.
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ECONNREFUSED) => {}
            Err(error) => return Err(error).context("sending a datagram"),
        }
    }
    Ok(sent)
}

/// When the datagram of this number, from 0, is due: without an error that grows.
pub(super) fn due_after(number: u64, rate: u64, bytes: u32) -> Duration {
    let bits = u128::from(number) * u128::from(bytes) * 8;
    let nanoseconds = bits * SECOND_NS / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

fn send_stream(socket: &OwnedFd, begin: Instant, end: Option<Instant>, stop: BorrowedFd) -> Result<Sent> {
    let payload = vec![0; CHUNK_BYTES];
    let (mut is_connected, mut is_broken) = (false, false);
    while wait(Some((socket.as_fd(), PollFlags::POLLOUT)), stop, end)? == Woken::Ready {
        if !is_connected {
            match getsockopt(socket, sockopt::SocketError)? {
                0 => is_connected = true,
                error => return Err(Errno::from_raw(error)).context("connecting"),
            }
        }
        match send_bytes(socket.as_raw_fd(), &payload, MsgFlags::MSG_NOSIGNAL) {
            Ok(_) | Err(Errno::EAGAIN) => {}
            // A path that is down for long ends a connection.
            Err(_) => {
                is_broken = true;
                break;
            }
        }
    }
    let lifetime_ns = begin.elapsed().as_nanos() as u64;
    let mut is_complete = false;
    if is_connected && !is_broken {
        shutdown(socket.as_raw_fd(), Shutdown::Write)?;
        // The other end closes when it has everything.
        let limit = Instant::now() + CLOSE_LIMIT;
        is_complete = readable_before(socket, limit)? && matches!(receive_some(socket, &mut [0]), Ok(0));
    }
    let counts = tcp_counts(socket)?;
    // SYN counts as a byte, and so does FIN.
    let without_data = 1 + u64::from(is_complete);
    Ok(Sent {
        packets: counts.data_segments_sent,
        bytes: counts.bytes_acknowledged.saturating_sub(without_data),
        retransmissions: Some(counts.retransmissions),
        lifetime_ns,
        is_complete,
    })
}

/// Counts what arrives until `stop` is readable, and a TCP connection until it is closed.
///
/// # Errors
/// What the kernel answers.
pub fn receive(socket: &OwnedFd, is_tcp: bool, stop: BorrowedFd) -> Result<Received> {
    if is_tcp { receive_stream(socket, stop) } else { receive_datagrams(socket, stop) }
}

fn receive_datagrams(socket: &OwnedFd, stop: BorrowedFd) -> Result<Received> {
    let mut received = Received::default();
    loop {
        let woken = wait(Some((socket.as_fd(), PollFlags::POLLIN)), stop, None)?;
        loop {
            match receive_some(socket, &mut [0]) {
                Ok(bytes) => {
                    received.packets += 1;
                    received.bytes += bytes as u64;
                }
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error).context("receiving a datagram"),
            }
        }
        if woken == Woken::Stopped {
            return Ok(received);
        }
    }
}

fn receive_stream(listener: &OwnedFd, stop: BorrowedFd) -> Result<Received> {
    if wait(Some((listener.as_fd(), PollFlags::POLLIN)), stop, None)? == Woken::Stopped {
        return Ok(Received::default());
    }
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let accepted = accept4(listener.as_raw_fd(), flags).context("accepting")?;
    // SAFETY: the descriptor is new and ours.
    let connection = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(accepted) };
    let (mut bytes, mut buffer) = (0, vec![0; CHUNK_BYTES]);
    while wait(Some((connection.as_fd(), PollFlags::POLLIN)), stop, None)? == Woken::Ready {
        match receive_some(&connection, &mut buffer) {
            Ok(0) => break,
            Ok(more) => bytes += more as u64,
            Err(Errno::EAGAIN) => {}
            // The source gave up.
            Err(_) => break,
        }
    }
    Ok(Received { packets: tcp_counts(&connection)?.data_segments_received, bytes })
}

/// Throws away what has arrived: a datagram, or some bytes of a stream. Answers how many bytes that were.
fn receive_some(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    // Of TCP the kernel copies nothing; of datagrams what fits.
    recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC)
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// The socket is ready, or the time has come where there is no socket.
    Ready,
    /// It is over: asked to stop, or too late.
    Stopped,
}

/// Waits until `socket` is ready or `stop` is readable, at most until `until`.
fn wait(socket: Option<(BorrowedFd, PollFlags)>, stop: BorrowedFd, until: Option<Instant>) -> Result<Woken> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| TimeSpec::nanoseconds(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)));
        let mut watched = vec![PollFd::new(stop, PollFlags::POLLIN)];
        watched.extend(socket.map(|(socket, flags)| PollFd::new(socket, flags)));
        match ppoll(&mut watched, timeout, None) {
            Err(Errno::EINTR) => continue,
            result => result?,
        };
        let is_ready = |place: usize| watched.get(place).is_some_and(|one| one.any().unwrap_or(false));
        if is_ready(0) {
            return Ok(Woken::Stopped);
        }
        if is_ready(1) {
            return Ok(Woken::Ready);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(if socket.is_some() { Woken::Stopped } else { Woken::Ready });
        }
    }
}

fn readable_before(socket: &OwnedFd, limit: Instant) -> Result<bool> {
    loop {
        let left = limit.saturating_duration_since(Instant::now());
        let timeout = TimeSpec::nanoseconds(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX));
        match ppoll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], Some(timeout), None) {
            Err(Errno::EINTR) => {}
            result => return Ok(result? > 0),
        }
    }
}
