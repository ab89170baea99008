//! The sockets of a test: a thread sends, or receives.

use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::sys::socket::{setsockopt, sockopt::RcvBuf};

use super::super::usage;
use crate::udp::{Arrivals, Datagram, UdpReading, UdpTest};

/// How long a receiver waits before it looks whether to stop.
const WAIT: Duration = Duration::from_millis(20);
/// Buffer of a receiver's socket, in bytes, as far as the machine allows it.
const BUFFER: usize = 4 << 20;
/// Largest datagram.
const LARGEST: usize = 65_536;

/// What a thread has done so far.
#[derive(Default)]
pub struct Counters {
    sent: AtomicU64,
    unsent: AtomicU64,
    is_over: AtomicBool,
    stopped: AtomicBool,
    arrivals: Mutex<Arrivals>,
}

impl Counters {
    /// All of it; drops are those at the socket at `port`.
    pub fn reading(&self, port: u16) -> UdpReading {
        UdpReading {
            // First: what is sent after it does not count as lost.
            is_over: self.is_over.load(Ordering::Acquire),
            sent: self.sent.load(Ordering::Relaxed),
            unsent: self.unsent.load(Ordering::Relaxed),
            arrivals: *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner),
            socket_drops: usage::socket_drops(port).map(|(at_port, _)| at_port),
        }
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Starts the thread of an end: one that sends to `other`, or one that receives from it.
pub fn start(
    socket: &Arc<UdpSocket>,
    other: SocketAddr,
    test: UdpTest,
    sends: bool,
    counters: &Arc<Counters>,
) -> JoinHandle<Result<()>> {
    let (socket, counters) = (socket.clone(), counters.clone());
    thread::spawn(
        move || if sends { send(&socket, other, test, &counters) } else { receive(&socket, other, test, &counters) },
    )
}

/// Sends each datagram when its time has come; those that are late at once.
pub fn send(socket: &UdpSocket, to: SocketAddr, test: UdpTest, counters: &Counters) -> Result<()> {
    // The kernel wakes a thread up to 50 µs late, unless it asks for less.
    // SAFETY: a system call with numbers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
    let mut bytes = vec![0; usize::from(test.length)];
    let start = Instant::now();
    let whole = Duration::from_nanos(test.nanoseconds);
    // When the datagram of this number is due.
    let due = |sequence: u64| match test.bits_per_second {
        0 => Duration::ZERO,
        rate => {
            let nanoseconds = u128::from(sequence) * u128::from(test.length) * 8 * 1_000_000_000 / u128::from(rate);
            Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
        }
    };
    let is_connected = socket.peer_addr().is_ok();
    let mut sequence = 0;
    while !counters.is_stopped() {
        let due = due(sequence);
        let mut now = start.elapsed();
        if now >= whole || due >= whole {
            break;
        }
        if due > now {
            thread::sleep((due - now).min(WAIT));
            now = start.elapsed();
            if due > now {
                continue;
            }
        }
        let head = Datagram { test: test.number, sequence, sent_ns: now.as_nanos() as u64 }.to_bytes();
        bytes[..head.len()].copy_from_slice(&head);
        let outcome = if is_connected { socket.send(&bytes) } else { socket.send_to(&bytes, to) };
        match outcome {
            Ok(_) => counters.sent.store(sequence + 1, Ordering::Relaxed),
            Err(error) if is_full(&error) => {
                counters.unsent.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            // Nobody listens yet, or any more: an answer to an earlier datagram.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                counters.is_over.store(true, Ordering::Release);
                return Err(error).with_context(|| format!("sending {} bytes of UDP to {to}", test.length));
            }
        }
        sequence += 1;
    }
    counters.is_over.store(true, Ordering::Release);
    Ok(())
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Counts what comes from `from` of the test.
fn receive(socket: &UdpSocket, from: SocketAddr, test: UdpTest, counters: &Counters) -> Result<()> {
    // Where the machine's limit is lower, the kernel takes that.
    let _ = setsockopt(socket, RcvBuf, &BUFFER);
    socket.set_read_timeout(Some(WAIT)).context("a UDP socket")?;
    let (mut buffer, start) = (vec![0; LARGEST], Instant::now());
    while !counters.is_stopped() {
        let Some((length, datagram)) = next(socket, from, test.number, &mut buffer)? else { continue };
        let mut arrivals = counters.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.take(datagram, length as u64, start.elapsed().as_nanos() as u64);
    }
    Ok(())
}

/// The next datagram of the test; `None`: something else, or nothing for a while.
pub fn next(socket: &UdpSocket, from: SocketAddr, test: u64, buffer: &mut [u8]) -> Result<Option<(usize, Datagram)>> {
    let is_quiet = |kind| {
        matches!(
            kind,
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused | ErrorKind::Interrupted
        )
    };
    match socket.recv_from(buffer) {
        Ok((length, sender)) if sender.ip().to_canonical() == from.ip().to_canonical() => {
            let datagram = Datagram::of_bytes(&buffer[..length]).filter(|datagram| datagram.test == test);
            Ok(datagram.map(|datagram| (length, datagram)))
        }
        Ok(_) => Ok(None),
        Err(error) if is_quiet(error.kind()) => Ok(None),
        Err(error) => Err(error).context("receiving from a UDP socket"),
    }
}
