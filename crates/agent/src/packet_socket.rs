//! What packet sockets have in common, whether they only watch ([`tap`](crate::tap)) or move packets ([`forwarder`](crate::forwarder)).

use std::{
    io,
    mem::zeroed,
    os::fd::{AsRawFd, OwnedFd},
};

/// What a socket counted since this was last asked: the kernel starts again from 0 each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Frames that came, those that were lost included.
    pub(crate) packets: u32,
    /// Frames that found the socket full.
    pub(crate) lost: u32,
}

/// Reads the counters of a socket, with a ring of any version or without one.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn statistics(socket: &OwnedFd) -> io::Result<Statistics> {
    // Of `TPACKET_V3`; others write the first two of its fields, which are the same (packet(7)).
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut found: libc::tpacket_stats_v3 = unsafe { zeroed() };
    let mut length = size_of_val(&found) as libc::socklen_t;
    // SAFETY: the buffer is as long as said.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Statistics { packets: found.tp_packets, lost: found.tp_drops })
}

/// Binds a socket to an interface and a protocol, each by number; both 0: nothing arrives any more.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn bind(socket: &OwnedFd, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is as long as said.
    let result = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
