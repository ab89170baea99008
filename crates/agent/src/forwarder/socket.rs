//! A packet socket at an interface: frames come with the kernel's header before them, and go out with it again.

use std::{
    io,
    mem::{MaybeUninit, size_of, zeroed},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr,
};

use anyhow::{Context, Result, bail};
use nix::sys::time::TimeSpec;
use quiclab_wire::offload::header::HEADER_BYTES;

use super::{engine::MOST_TOGETHER, frame::Frame, ring::Ring};
use crate::{packet_socket, topology::index};

/// The largest frame that the kernel has, segmented or not, and the header before it.
pub const MOST_BYTES: usize = HEADER_BYTES + (1 << 16) + 64;
/// Frames that one call receives at most.
pub const MOST_RECEIVED: usize = 32;
/// Room for frames that came in and were not read yet. The kernel counts some 2 kB for each.
const ROOM_BYTES: libc::c_int = 64 << 20;
/// Room for the time stamp of a frame.
const CONTROL_BYTES: usize = 64;

#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// An open socket.
pub struct Socket {
    /// Its interface.
    pub interface: &'static str,
    // Before the socket, which its memory belongs to.
    ring: Option<Ring>,
    socket: OwnedFd,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Socket {
    /// Opens it in the calling thread's namespace. With the length of the largest frame it receives by a ring, else by system calls.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where the kernel lacks an option.
    pub fn open(interface: &'static str, largest_frame_bytes: Option<u32>) -> Result<Self> {
        let opened = || -> Result<Self> {
            let flags = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            // Protocol 0: nothing arrives before all options are set.
            // SAFETY: plain system call.
            let socket = unsafe { libc::socket(libc::AF_PACKET, flags, 0) };
            if socket < 0 {
                return Err(io::Error::last_os_error()).context("packet socket");
            }
            // SAFETY: the descriptor is new and ours.
            let mut one = Self { interface, ring: None, socket: unsafe { OwnedFd::from_raw_fd(socket) } };
            one.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1).context("PACKET_VNET_HDR")?;
            one.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1).context("PACKET_IGNORE_OUTGOING")?;
            one.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).context("SO_TIMESTAMPNS")?;
            for (forced, usual) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
                // Who is not the machine's own root gets what the machine allows.
                one.set(libc::SOL_SOCKET, forced, ROOM_BYTES)
                    .or_else(|_| one.set(libc::SOL_SOCKET, usual, ROOM_BYTES))
                    .context("socket buffer")?;
            }
            one.ring = largest_frame_bytes.map(|largest| Ring::new(&one.socket, largest)).transpose()?;
            packet_socket::bind(&one.socket, index(interface)?, libc::ETH_P_ALL as u16).context("bind")?;
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

    /// Whether it is known without a system call when a frame waits.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Visits frames that wait, each with its kernel header and the time at which it came: [`MOST_RECEIVED`] at most, and without a ring
    /// as many as `buffers` has room for, of [`MOST_BYTES`] each. Answers how many there were.
    ///
    /// # Errors
    /// What the kernel answers, or `visit`.
    pub fn receive(
        &mut self,
        buffers: &mut [u8],
        mut visit: impl FnMut(Option<TimeSpec>, &[u8]) -> Result<()>,
    ) -> Result<usize> {
        if let Some(ring) = &mut self.ring {
            return ring.receive(MOST_RECEIVED, visit);
        }
        let most = (buffers.len() / MOST_BYTES).min(MOST_RECEIVED);
        // Uninitialised, because initialising room for a large batch takes longer than receiving one frame.
        let mut controls: [MaybeUninit<Control>; MOST_RECEIVED] = [const { MaybeUninit::uninit() }; MOST_RECEIVED];
        let mut pieces: [MaybeUninit<libc::iovec>; MOST_RECEIVED] = [const { MaybeUninit::uninit() }; MOST_RECEIVED];
        let mut messages: [MaybeUninit<libc::mmsghdr>; MOST_RECEIVED] =
            [const { MaybeUninit::uninit() }; MOST_RECEIVED];
        let places = buffers.chunks_exact_mut(MOST_BYTES).zip(&mut controls).zip(pieces.iter_mut().zip(&mut messages));
        for ((buffer, control), (piece, message)) in places {
            let piece = piece.write(libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: MOST_BYTES });
            // SAFETY: all zeros is a valid value of this plain struct.
            let message = message.write(unsafe { zeroed() });
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = control.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        let received = loop {
            // SAFETY: every message points to a buffer and room for control data that live until after the call, as long as said.
            let result = unsafe {
                libc::recvmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr().cast(),
                    most as libc::c_uint,
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
            // SAFETY: the kernel has filled no more messages than were written above.
            let message = unsafe { message.assume_init_ref() };
            let length = message.msg_len as usize;
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 || length > MOST_BYTES {
                bail!("found a frame of more than {} bytes, expected none", MOST_BYTES - HEADER_BYTES);
            }
            visit(stamp(&message.msg_hdr), &buffer[..length])?;
        }
        Ok(received)
    }

    /// Sends frames, the first one first: a single one as it is, several by one system call.
    ///
    /// # Errors
    /// What the kernel answers, with the frame that it refused.
    pub fn send(&self, frames: &[Frame]) -> Result<()> {
        let mut rest = frames;
        while let [first, ..] = rest {
            let sent = if rest.len() == 1 { self.send_one(first.buffer()) } else { self.send_many(rest) };
            match sent {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let (interface, bytes) = (self.interface, first.length());
                    return Err(error)
                        .with_context(|| format!("{interface}: sending a frame of {bytes} bytes from user space"));
                }
            }
        }
        Ok(())
    }

    fn send_one(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the buffer is as long as said.
        let sent =
            unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
        if sent >= 0 { Ok(1) } else { Err(io::Error::last_os_error()) }
    }

    /// Answers how many of the first frames were sent; an error is the first one's.
    fn send_many(&self, frames: &[Frame]) -> io::Result<usize> {
        // SAFETY: all zeros is a valid value of these plain structs.
        let (mut pieces, mut messages): ([libc::iovec; MOST_TOGETHER], [libc::mmsghdr; MOST_TOGETHER]) =
            unsafe { (zeroed(), zeroed()) };
        let count = frames.len().min(MOST_TOGETHER);
        for ((piece, message), frame) in pieces.iter_mut().zip(&mut messages).zip(frames) {
            let bytes = frame.buffer();
            *piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: every message points to a frame that the kernel only reads, as long as said, which lives until after the call.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        if sent >= 0 { Ok(sent as usize) } else { Err(io::Error::last_os_error()) }
    }

    /// Frames that found the socket full since this was last asked.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn lost(&self) -> Result<u32> {
        let statistics = packet_socket::statistics(&self.socket).context("statistics of the forwarder's socket")?;
        Ok(statistics.lost)
    }
}

/// When the kernel saw a frame.
pub(crate) fn stamp(message: &libc::msghdr) -> Option<TimeSpec> {
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
