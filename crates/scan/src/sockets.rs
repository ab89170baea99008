//! A UDP socket of which many handshakes share one: several datagrams by one system call, with the kernel's times of sending and
//! reception, and the ICMP errors that datagrams caused.

mod address;
mod control;

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use address::{RawAddress, unspecified};
use control::{CONTROL_BYTES, Control, OfReport};

use crate::icmp::{IcmpError, QUOTE_BYTES, Quote};

/// Datagrams that one system call sends or receives at most. A batch that is sent has one time, so it must not be long.
pub const BATCH: usize = 32;
/// Room for one datagram: the largest that the client says it takes, and to see that one is larger.
const DATAGRAM_BYTES: usize = 2048;
/// Room for datagrams in the kernel, which counts some 2 kB for each.
const BUFFER_BYTES: libc::c_int = 16 << 20;

/// The kernel's time at which each datagram leaves, with its number and without its bytes.
const STAMPS: libc::c_uint = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// What the kernel has to say about datagrams that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// One of them caused an error.
    Icmp(IcmpError),
    /// One of them left at this time, in nanoseconds since the Unix epoch.
    Left {
        /// See [`Sent::first`].
        number: u32,
        /// Its time.
        unix_ns: u64,
    },
}

/// What a socket has, after waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Datagrams.
    pub has_datagrams: bool,
    /// Reports.
    pub has_reports: bool,
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Who sent it.
    pub source: SocketAddr,
    /// Address to which it was sent.
    pub local: Option<IpAddr>,
    /// The kernel's time of reception in nanoseconds since the Unix epoch.
    pub unix_ns: Option<u64>,
    /// See [`Segment::ecn`](quiclab_wire::Segment::ecn).
    pub ecn: u8,
    /// UDP payload. Cut off at 2048 bytes.
    pub payload: &'a [u8],
}

/// Where datagrams are received into.
pub struct Room {
    payloads: Box<[[u8; DATAGRAM_BYTES]; BATCH]>,
    controls: Box<[Control; BATCH]>,
}

impl Room {
    /// Makes room for one batch.
    pub fn new() -> Self {
        Room {
            payloads: vec![[0; DATAGRAM_BYTES]; BATCH].try_into().expect("as many as said"),
            controls: vec![Control::empty(); BATCH].try_into().ok().expect("as many as said"),
        }
    }
}

/// An open socket of one address family, which does not block.
pub struct Socket {
    socket: OwnedFd,
    local: SocketAddr,
    /// Number that the kernel gives to the next datagram that is sent.
    next_number: u32,
    /// Whether it may give another one: a datagram that was not sent has a number or not, by where the kernel stopped.
    is_uncertain: bool,
}

/// The kernel says that an address is in use where it has no port to give.
fn explain_bind(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            error.kind(),
            format!(
                "no UDP port is free ({error}): other programs use all of net.ipv4.ip_local_port_range; enlarge it with sysctl, or end them"
            ),
        ),
        _ => error,
    }
}

/// Datagrams that were sent with one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of the first one in [`Report::Left`]; the others follow.
    pub first: u32,
    /// How many.
    pub count: usize,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Socket {
    /// Opens one at a port that the kernel chooses.
    ///
    /// # Errors
    /// Where the kernel has no such sockets, or lacks an option.
    pub fn open(is_v6: bool) -> io::Result<Self> {
        let family = if is_v6 { libc::AF_INET6 } else { libc::AF_INET };
        let flags = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: plain system call.
        let descriptor = checked(unsafe { libc::socket(family, flags, 0) })?;
        // SAFETY: the descriptor is new and ours.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut socket = Socket { socket, local: unspecified(is_v6), next_number: 0, is_uncertain: false };
        socket.set_options(is_v6)?;
        let (raw, length) = RawAddress::new(socket.local);
        // SAFETY: the address is as long as said.
        checked(unsafe { libc::bind(descriptor, (&raw const raw).cast(), length) }).map_err(explain_bind)?;
        socket.local = socket.bound_address()?;
        Ok(socket)
    }

    fn set_options(&self, is_v6: bool) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, STAMPS as libc::c_int)?;
        if is_v6 {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            // Never fragmented, and a path that is said to be narrow is tried again for the next target.
            self.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
        } else {
            self.set(libc::IPPROTO_IP, libc::IP_RECVERR, 1)?;
            self.set(libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
            self.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
            self.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
        }
        for (forced, usual) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            // Who is not the machine's own root gets what the machine allows.
            self.set(libc::SOL_SOCKET, forced, BUFFER_BYTES)
                .or_else(|_| self.set(libc::SOL_SOCKET, usual, BUFFER_BYTES))?;
        }
        Ok(())
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is as long as said.
        let result =
            unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
        checked(result).map(drop)
    }

    fn bound_address(&self) -> io::Result<SocketAddr> {
        let mut raw = RawAddress::empty();
        let mut length = size_of::<RawAddress>() as libc::socklen_t;
        // SAFETY: the room is as long as said.
        let result = unsafe { libc::getsockname(self.socket.as_raw_fd(), (&raw mut raw).cast(), &mut length) };
        checked(result)?;
        raw.address().ok_or_else(|| io::Error::other("a socket of another family"))
    }

    /// Its port, at the unspecified address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Visits up to [`BATCH`] datagrams that wait, and answers how many there were.
    ///
    /// # Errors
    /// What the kernel answers, except for errors that belong to datagrams sent before.
    pub fn receive(&self, room: &mut Room, mut visit: impl FnMut(Received<'_>)) -> io::Result<usize> {
        let mut sources = [RawAddress::empty(); BATCH];
        // SAFETY: all zeros is a valid value of these plain structs.
        let (mut pieces, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { zeroed() };
        let places = room.payloads.iter_mut().zip(room.controls.iter_mut()).zip(&mut sources);
        for (((payload, control), source), (piece, message)) in places.zip(pieces.iter_mut().zip(&mut messages)) {
            *piece = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() };
            point(&mut message.msg_hdr, piece, source, size_of::<RawAddress>() as libc::socklen_t);
            message.msg_hdr.msg_control = control.as_mut_ptr();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        // SAFETY: every message points to buffers that live until after the call, as long as said.
        let result =
            unsafe { libc::recvmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), BATCH as _, 0, ptr::null_mut()) };
        let count = match checked(result) {
            Ok(count) => count as usize,
            Err(error) if is_transient(&error) || is_of_a_datagram(&error) => return Ok(0),
            Err(error) => return Err(error),
        };
        for ((message, source), payload) in messages[..count].iter().zip(&sources).zip(room.payloads.iter()) {
            // SAFETY: the kernel filled in the control data of this message, which still lives.
            let seen = unsafe { control::of_received(&message.msg_hdr) };
            let Some(source) = source.address() else { continue };
            let payload = &payload[..(message.msg_len as usize).min(DATAGRAM_BYTES)];
            visit(Received { source, local: seen.local, unix_ns: seen.unix_ns, ecn: seen.ecn, payload });
        }
        Ok(count)
    }

    /// Visits all reports that wait.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn receive_reports(&self, mut visit: impl FnMut(Report)) -> io::Result<()> {
        loop {
            let mut destinations = [RawAddress::empty(); BATCH];
            let mut controls = [const { Control::empty() }; BATCH];
            let mut quotes = [[0; QUOTE_BYTES]; BATCH];
            // SAFETY: all zeros is a valid value of these plain structs.
            let (mut pieces, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { zeroed() };
            let places = destinations.iter_mut().zip(&mut controls).zip(quotes.iter_mut().zip(&mut pieces));
            for (message, ((destination, control), (quote, piece))) in messages.iter_mut().zip(places) {
                *piece = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: quote.len() };
                point(&mut message.msg_hdr, piece, destination, size_of::<RawAddress>() as libc::socklen_t);
                message.msg_hdr.msg_control = control.as_mut_ptr();
                message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
            }
            let descriptor = self.socket.as_raw_fd();
            // SAFETY: every message points to buffers that live until after the call, as long as said.
            let result = unsafe {
                libc::recvmmsg(descriptor, messages.as_mut_ptr(), BATCH as _, libc::MSG_ERRQUEUE, ptr::null_mut())
            };
            let count = match checked(result) {
                Ok(count) => count as usize,
                Err(error) if is_transient(&error) || is_of_a_datagram(&error) => 0,
                Err(error) => return Err(error),
            };
            for (message, (destination, quote)) in messages[..count].iter().zip(destinations.iter().zip(&quotes)) {
                // SAFETY: the kernel filled in the control data of this message, which still lives.
                match unsafe { control::of_report(&message.msg_hdr) } {
                    Some(OfReport::Left { number, unix_ns }) => visit(Report::Left { number, unix_ns }),
                    Some(OfReport::Icmp { kind, code, information, sender }) => {
                        let Some(destination) = destination.address() else { continue };
                        let quote = Quote::new(&quote[..(message.msg_len as usize).min(QUOTE_BYTES)]);
                        visit(Report::Icmp(IcmpError { destination, kind, code, information, sender, quote }));
                    }
                    None => {}
                }
            }
            if count < BATCH {
                return Ok(());
            }
        }
    }

    /// Begins to number datagrams anew.
    fn renumber(&mut self) -> io::Result<()> {
        let without_numbers = STAMPS & !libc::SOF_TIMESTAMPING_OPT_ID & !libc::SOF_TIMESTAMPING_OPT_TSONLY;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, without_numbers as libc::c_int)?;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, STAMPS as libc::c_int)?;
        self.next_number = 0;
        self.is_uncertain = false;
        Ok(())
    }

    /// Takes the error that the next call would otherwise answer with, whichever datagram it belongs to.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn clear_error(&self) -> io::Result<()> {
        let mut value: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the room is as long as said.
        let result = unsafe {
            let value = (&raw mut value).cast();
            libc::getsockopt(self.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &mut length)
        };
        checked(result).map(drop)
    }

    /// Sends up to [`BATCH`] datagrams, the first one first. None of them where there is no room now.
    ///
    /// # Errors
    /// Why the first one was not sent; or an error of a datagram sent before, see [`is_of_a_datagram`]. After an error,
    /// [`clear_error`](Self::clear_error).
    pub fn send<'a>(&mut self, datagrams: impl Iterator<Item = (SocketAddr, &'a [u8])>) -> io::Result<Sent> {
        if self.is_uncertain {
            self.renumber()?;
        }
        let mut destinations = [RawAddress::empty(); BATCH];
        // SAFETY: all zeros is a valid value of these plain structs.
        let (mut pieces, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) = unsafe { zeroed() };
        let places = destinations.iter_mut().zip(pieces.iter_mut().zip(&mut messages));
        let mut count = 0;
        for ((address, bytes), (destination, (piece, message))) in datagrams.zip(places) {
            let (raw, length) = RawAddress::new(address);
            *destination = raw;
            // The kernel only reads what a message to send points to.
            *piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            point(&mut message.msg_hdr, piece, destination, length);
            count += 1;
        }
        // SAFETY: every message points to buffers that live until after the call, as long as said.
        let result = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), messages.as_mut_ptr(), count, 0) };
        let sent = match checked(result) {
            Ok(sent) => sent as u32,
            Err(error) if is_transient(&error) => 0,
            Err(error) => {
                self.is_uncertain = true;
                return Err(error);
            }
        };
        self.is_uncertain = sent < count;
        let first = self.next_number;
        self.next_number = first.wrapping_add(sent);
        Ok(Sent { first, count: sent as usize })
    }
}

fn point(message: &mut libc::msghdr, piece: &mut libc::iovec, address: &mut RawAddress, length: libc::socklen_t) {
    message.msg_name = (&raw mut *address).cast();
    message.msg_namelen = length;
    message.msg_iov = piece;
    message.msg_iovlen = 1;
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Whether a call may have failed because of an ICMP error for a datagram that was sent before, which says nothing about the call.
pub fn is_of_a_datagram(error: &io::Error) -> bool {
    const ERRORS: [libc::c_int; 8] = [
        libc::ECONNREFUSED,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::EHOSTDOWN,
        libc::ENOPROTOOPT,
        libc::EACCES,
        libc::EPROTO,
        libc::EMSGSIZE,
    ];
    error.raw_os_error().is_some_and(|number| ERRORS.contains(&number))
}

/// Waits until one of the sockets has something, or room to write where that is asked for, and says what each of them has. Never
/// longer than `wait_ns`.
///
/// # Errors
/// What the kernel answers.
pub fn wait<'a>(sockets: impl Iterator<Item = (&'a Socket, bool)>, wait_ns: u64) -> io::Result<Vec<Ready>> {
    let mut polls: Vec<libc::pollfd> = sockets
        .map(|(socket, wants_room)| libc::pollfd {
            fd: socket.socket.as_raw_fd(),
            events: if wants_room { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN },
            revents: 0,
        })
        .collect();
    let nanoseconds = wait_ns % 1_000_000_000;
    let time = libc::timespec { tv_sec: (wait_ns / 1_000_000_000) as _, tv_nsec: nanoseconds as _ };
    // SAFETY: as many entries as said, and a time that lives until after the call.
    let result = unsafe { libc::ppoll(polls.as_mut_ptr(), polls.len() as _, &time, ptr::null()) };
    match checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
        _ => {}
    }
    let ready = |poll: &libc::pollfd| Ready {
        has_datagrams: poll.revents & libc::POLLIN != 0,
        has_reports: poll.revents & libc::POLLERR != 0,
    };
    Ok(polls.iter().map(ready).collect())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn unix_ns() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64
    }

    #[test]
    fn a_datagram_comes_with_its_source_and_the_time_of_its_reception() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(peer) = UdpSocket::bind((host, 0)) else { continue };
            let peer_address = peer.local_addr().expect("bound");
            let socket = Socket::open(peer_address.is_ipv6()).expect("a socket");
            let port = socket.local().port();
            let before = unix_ns();
            peer.send_to(b"hello", (host, port)).expect("sent");
            wait([(&socket, false)].into_iter(), 1_000_000_000).expect("waiting");
            // A busy machine may deliver it after the sender has gone on, but not after it is there.
            let after = unix_ns();
            let mut room = Room::new();
            let mut seen = 0;
            socket
                .receive(&mut room, |received| {
                    assert_eq!(received.source, peer_address);
                    assert_eq!(received.local, Some(peer_address.ip()));
                    assert_eq!(received.payload, b"hello");
                    let time = received.unix_ns.expect("a kernel time");
                    assert!((before..=after).contains(&time), "{before} {time} {after}");
                    seen += 1;
                })
                .expect("received");
            assert_eq!(seen, 1);
        }
    }

    #[test]
    fn a_closed_port_is_an_error_with_the_destination_and_later_datagrams_are_sent() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(closed) = UdpSocket::bind((host, 0)).and_then(|it| it.local_addr()) else { continue };
            let open = UdpSocket::bind((host, 0)).expect("a socket");
            let mut socket = Socket::open(closed.is_ipv6()).expect("a socket");
            let sent = socket.send([(closed, &b"x"[..])].into_iter()).expect("sent");
            assert_eq!(sent, Sent { first: 0, count: 1 });
            let ready = wait([(&socket, false)].into_iter(), 1_000_000_000).expect("waiting");
            assert_eq!(ready, [Ready { has_datagrams: false, has_reports: true }]);
            let to = open.local_addr().expect("bound");
            let error = socket.send([(to, &b"y"[..])].into_iter()).expect_err("the error of the first one");
            assert!(is_of_a_datagram(&error), "{error}");
            socket.clear_error().expect("cleared");
            let mut errors = Vec::new();
            let keep = |report| match report {
                Report::Icmp(error) => errors.push(error),
                Report::Left { .. } => {}
            };
            socket.receive_reports(keep).expect("errors");
            assert_eq!(errors.len(), 1);
            assert_eq!((errors[0].destination, errors[0].outcome()), (closed, Some(crate::Outcome::Refused)));
            assert_eq!((errors[0].sender, errors[0].quote.bytes()), (Some(closed.ip()), &b"x"[..]));
            let sent = socket.send([(to, &b"y"[..])].into_iter()).expect("sent");
            assert_eq!(sent, Sent { first: 0, count: 1 }, "numbered anew");
        }
    }

    #[test]
    fn each_datagram_that_left_has_a_time_and_its_number() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(peer) = UdpSocket::bind((host, 0)) else { continue };
            let to = peer.local_addr().expect("bound");
            let mut socket = Socket::open(to.is_ipv6()).expect("a socket");
            for round in 0..3 {
                // A new start of the numbers must not be taken for more of the old ones.
                if round == 2 {
                    socket.renumber().expect("numbered anew");
                }
                let before = unix_ns();
                let sent = socket.send([(to, &b"x"[..]); 3].into_iter()).expect("sent");
                assert_eq!(sent, Sent { first: [0, 3, 0][round], count: 3 });
                let after = unix_ns();
                let mut numbers = Vec::new();
                let check = |report| match report {
                    Report::Left { number, unix_ns } => {
                        assert!((before..=after).contains(&unix_ns), "{before} {unix_ns} {after}");
                        numbers.push(number);
                    }
                    Report::Icmp(error) => panic!("{error:?}"),
                };
                socket.receive_reports(check).expect("reports");
                assert_eq!(numbers, [0, 1, 2].map(|index| sent.first + index), "{round}");
            }
        }
    }
}
