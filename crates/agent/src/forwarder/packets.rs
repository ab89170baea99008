//! The forwarder's cards on Linux: a packet socket at each interface of the wire.

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{eventfd::EventFd, time::TimeSpec},
    time::{ClockId, clock_gettime},
};
use quiclab_orders::addresses::{TO_CLIENT, TO_SERVER};
use quiclab_path::content::Direction;
use quiclab_units::{Duration, Time};

use super::{
    engine::{Arrival, Cards, Clock},
    frame::{Frame, VNET_HEADER},
};
use crate::topology::index;

/// Frames that one call receives from a card.
const BATCH: usize = 8;
/// The largest frame that the kernel has, segmented or not, and the header before it.
const MOST_BYTES: usize = VNET_HEADER + (1 << 16) + 64;
/// Room for frames that came in and were not read yet. The kernel counts some 2 kB for each.
const ROOM_BYTES: libc::c_int = 64 << 20;
/// Room for the time stamp of a frame.
const CONTROL_BYTES: usize = 64;

/// `CLOCK_REALTIME`, by which the kernel stamps frames, counted from an instant. The agent fails a run in which somebody sets it.
#[derive(Clone, Copy, Debug)]
pub struct StampClock {
    start_ns: u64,
}

impl StampClock {
    /// Counts from now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn start() -> Result<Self> {
        Ok(Self { start_ns: nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?) })
    }

    fn time_of(self, stamp: TimeSpec) -> Time {
        Time::from_nanos(nanoseconds(stamp).saturating_sub(self.start_ns))
    }
}

impl Clock for StampClock {
    fn now(&self) -> Time {
        // It fails for clocks that do not exist only.
        clock_gettime(ClockId::CLOCK_REALTIME).map_or(Time::from_nanos(u64::MAX), |time| self.time_of(time))
    }
}

fn nanoseconds(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Open sockets. What comes in waits in them until somebody reads.
pub struct Sockets {
    /// What comes from the server is on its way to the client, and the other way round.
    towards_client: Socket,
    towards_server: Socket,
}

/// Sockets and what belongs to their reader.
pub struct PacketCards {
    sockets: Sockets,
    clock: StampClock,
    end: EventFd,
    buffers: Vec<u8>,
    /// Whether frames may wait in the socket at the server's side and at the client's.
    is_ready: [bool; 2],
}

struct Socket {
    interface: &'static str,
    socket: OwnedFd,
}

impl Sockets {
    /// Opens them in the calling thread's namespace, which is the wire's.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where the kernel lacks an option.
    pub fn open() -> Result<Self> {
        Ok(Self { towards_client: Socket::open(TO_CLIENT)?, towards_server: Socket::open(TO_SERVER)? })
    }
}

impl PacketCards {
    /// Reads `sockets` until `end` is written to.
    pub fn new(sockets: Sockets, clock: StampClock, end: EventFd) -> Self {
        Self { sockets, clock, end, buffers: vec![0; BATCH * MOST_BYTES], is_ready: [true; 2] }
    }

    /// Makes sure that no frame found its socket full.
    ///
    /// # Errors
    /// Where some did.
    pub fn check_losses(&self) -> Result<()> {
        for socket in [&self.sockets.towards_server, &self.sockets.towards_client] {
            let lost = socket.lost()?;
            let interface = socket.interface;
            ensure!(
                lost == 0,
                "{interface}: {lost} frames found the forwarder's socket full: it cannot keep up with the endpoints\nhint: a lower \
                 rate, or path.forwarder = \"kernel\" with stages that the kernel has"
            );
        }
        Ok(())
    }
}

impl Cards for PacketCards {
    fn receive(&mut self, arrived: &mut Vec<Arrival>) -> Result<()> {
        let Self { sockets, clock, buffers, is_ready, .. } = self;
        let both = [(&sockets.towards_server, Direction::ToClient), (&sockets.towards_client, Direction::ToServer)];
        for ((socket, to), is_ready) in both.into_iter().zip(is_ready) {
            if *is_ready {
                let count = socket
                    .receive(buffers, |stamp, bytes| {
                        let time = stamp.map_or_else(|| clock.now(), |stamp| clock.time_of(stamp));
                        arrived.push(Arrival { time, to, frame: Frame::new(bytes.to_vec())? });
                        Ok(())
                    })
                    .with_context(|| socket.interface)?;
                *is_ready = count == BATCH;
            }
        }
        Ok(())
    }

    fn send(&mut self, to: Direction, frame: &Frame) -> Result<()> {
        let socket = match to {
            Direction::ToClient => &self.sockets.towards_client,
            Direction::ToServer => &self.sockets.towards_server,
        };
        socket.send(frame.buffer()).with_context(|| {
            format!("{}: sending a frame of {} bytes from user space", socket.interface, frame.length())
        })
    }

    fn wait(&mut self, at_most: Option<Duration>) -> Result<bool> {
        let Self { sockets, end, is_ready, .. } = self;
        // A batch that was full may have left others.
        let at_most = if is_ready.contains(&true) { Some(Duration::ZERO) } else { at_most };
        let mut watched = [
            PollFd::new(sockets.towards_server.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(sockets.towards_client.socket.as_fd(), PollFlags::POLLIN),
            PollFd::new(end.as_fd(), PollFlags::POLLIN),
        ];
        let time = at_most.map(|time| TimeSpec::from_duration(std::time::Duration::from_nanos(time.as_nanos())));
        match ppoll(&mut watched, time, None) {
            Err(nix::errno::Errno::EINTR) => return Ok(false),
            result => result.context("waiting for frames")?,
        };
        let [from_server, from_client, is_to_end] = watched.map(|one| one.any().unwrap_or(true));
        *is_ready = [from_server, from_client];
        Ok(is_to_end)
    }
}

impl Socket {
    fn open(interface: &'static str) -> Result<Self> {
        let opened = || -> Result<Self> {
            let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            // Protocol 0: nothing arrives before all options are set.
            // SAFETY: plain system call.
            let socket = unsafe { libc::socket(libc::AF_PACKET, flags, 0) };
            if socket < 0 {
                return Err(io::Error::last_os_error()).context("packet socket");
            }
            // SAFETY: the descriptor is new and ours.
            let one = Self { interface, socket: unsafe { OwnedFd::from_raw_fd(socket) } };
            one.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1).context("PACKET_VNET_HDR")?;
            one.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).context("PACKET_IGNORE_OUTGOING")?;
            one.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).context("SO_TIMESTAMPNS")?;
            for (forced, usual) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
                // Who is not the machine's own root gets what the machine allows.
                one.set(libc::SOL_SOCKET, forced, ROOM_BYTES)
                    .or_else(|_| one.set(libc::SOL_SOCKET, usual, ROOM_BYTES))
                    .context("socket buffer")?;
            }
            one.bind(index(interface)?)?;
            Ok(one)
        };
        opened().with_context(|| format!("the forwarder's socket at {interface}"))
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the value is as long as said.
        let result =
            unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn bind(&self, interface: u32) -> Result<()> {
        // SAFETY: all zeros is a valid value of this plain struct.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is as long as said.
        let result = unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        if result != 0 {
            return Err(io::Error::last_os_error()).context("bind");
        }
        Ok(())
    }

    /// Visits up to [`BATCH`] frames that wait, each with its kernel header and the time at which it came. Answers how many there were.
    fn receive(
        &self,
        buffers: &mut [u8],
        mut visit: impl FnMut(Option<TimeSpec>, &[u8]) -> Result<()>,
    ) -> Result<usize> {
        #[repr(C, align(8))]
        #[derive(Clone, Copy)]
        struct Control([u8; CONTROL_BYTES]);
        let mut controls = [Control([0; CONTROL_BYTES]); BATCH];
        // SAFETY: all zeros is a valid value of these plain structs.
        let (mut pieces, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let places = buffers.chunks_exact_mut(MOST_BYTES).zip(&mut controls).zip(pieces.iter_mut().zip(&mut messages));
        for ((buffer, control), (piece, message)) in places {
            *piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: MOST_BYTES };
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        let received = loop {
            // SAFETY: every message points to a buffer and room for control data that live until after the call, as long as said.
            let result = unsafe {
                libc::recvmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr(),
                    BATCH as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                    ptr::null_mut(),
                )
            };
            if result >= 0 {
                break result as usize;
            }
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error).context("receiving frames"),
            }
        };
        for (message, buffer) in messages[..received].iter().zip(buffers.chunks_exact(MOST_BYTES)) {
            let length = message.msg_len as usize;
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 || length > MOST_BYTES {
                bail!("found a frame of more than {} bytes, expected none", MOST_BYTES - VNET_HEADER);
            }
            visit(stamp(&message.msg_hdr), &buffer[..length])?;
        }
        Ok(received)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        loop {
            // SAFETY: the buffer is as long as said.
            let sent =
                unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
            if sent >= 0 {
                return Ok(());
            }
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            }
        }
    }

    /// Frames that found the socket full since this was last asked.
    fn lost(&self) -> Result<u32> {
        // SAFETY: all zeros is a valid value of this plain struct.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the buffer is as long as said.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error()).context("statistics of the forwarder's socket");
        }
        Ok(statistics.tp_drops)
    }
}

/// When the kernel saw a frame.
fn stamp(message: &libc::msghdr) -> Option<TimeSpec> {
    // SAFETY: the kernel has written the control data that `message` points to, and its length.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() };
    while let Some(control) = next {
        if control.cmsg_level == libc::SOL_SOCKET && control.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: control data of this type is a timespec.
            let time: libc::timespec = unsafe { ptr::read_unaligned(libc::CMSG_DATA(control).cast()) };
            return Some(TimeSpec::new(time.tv_sec, time.tv_nsec));
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(message, control).as_ref() };
    }
    None
}
