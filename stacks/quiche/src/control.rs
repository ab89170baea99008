//! One system call that sends with the control messages of segmentation, send time and rate. nix knows no `SO_MARK` among them.

use std::{net::UdpSocket, os::fd::AsRawFd};

use nix::{
    errno::Errno,
    libc,
    sys::socket::{SockaddrLike, SockaddrStorage},
};

/// The control message of kernel/patch; its value is a number of 64 bits.
const UDP_SEGMENT_PACING_RATE: i32 = 105;

/// Bytes of UDP payload per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// For the queueing discipline `gso_pace`, which takes it from the mark.
    Mark(u32),
    /// For a kernel with quiclab's patch.
    Message(u64),
}

/// What the kernel is told about a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orders {
    /// Bytes of each segment that it is cut into; `None`: it is one packet.
    pub segment: Option<u16>,
    /// When the first one is to leave, in nanoseconds of the clock of `SO_TXTIME`.
    pub txtime: Option<u64>,
    /// At which rate the others follow.
    pub rate: Option<Rate>,
}

/// Room for three messages. Their headers begin where a length can: at multiples of 8 bytes.
#[repr(C, align(8))]
struct Room {
    bytes: [u8; 3 * 24],
    used: usize,
}

impl Room {
    /// As cmsg(3) has it on 64-bit machines: length with the header, level, type, then the value, padded.
    fn push(&mut self, level: i32, kind: i32, value: &[u8]) {
        let message = &mut self.bytes[self.used..self.used + 24];
        message[..8].copy_from_slice(&(16 + value.len()).to_ne_bytes());
        message[8..12].copy_from_slice(&level.to_ne_bytes());
        message[12..16].copy_from_slice(&kind.to_ne_bytes());
        message[16..16 + value.len()].copy_from_slice(value);
        self.used += 24;
    }
}

/// Sends `payload` to `peer`.
///
/// # Errors
/// What the kernel answers.
pub fn send(socket: &impl AsRawFd, payload: &[u8], peer: &SockaddrStorage, orders: &Orders) -> Result<(), Errno> {
    let mut room = Room { bytes: [0; 72], used: 0 };
    if let Some(segment) = orders.segment {
        room.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment.to_ne_bytes());
    }
    if let Some(txtime) = orders.txtime {
        room.push(libc::SOL_SOCKET, libc::SCM_TXTIME, &txtime.to_ne_bytes());
    }
    if let Some(rate) = orders.rate {
        match rate {
            Rate::Mark(rate) => room.push(libc::SOL_SOCKET, libc::SO_MARK, &rate.to_ne_bytes()),
            Rate::Message(rate) => room.push(libc::SOL_UDP, UDP_SEGMENT_PACING_RATE, &rate.to_ne_bytes()),
        }
    }
    let mut vector = libc::iovec { iov_base: payload.as_ptr().cast_mut().cast(), iov_len: payload.len() };
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = peer.as_ptr().cast_mut().cast();
    header.msg_namelen = peer.len();
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    if room.used > 0 {
        header.msg_control = room.bytes.as_mut_ptr().cast();
        header.msg_controllen = room.used;
    }
    // SAFETY: everything that the header points to lives until the call has returned, and the kernel only reads it.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, 0) };
    Errno::result(sent).map(drop)
}

/// True where this kernel knows [`UDP_SEGMENT_PACING_RATE`]: it refuses a control message that it does not know.
pub fn kernel_takes_rates() -> bool {
    let probe = || -> std::io::Result<()> {
        // A socket that sends a byte to itself.
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let peer = SockaddrStorage::from(socket.local_addr()?);
        send(&socket, &[0], &peer, &Orders { rate: Some(Rate::Message(1)), ..Orders::default() })?;
        Ok(())
    };
    probe().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lie_as_the_macros_of_cmsg_have_them() {
        // SAFETY: these only compute.
        let [two, four, eight] = [2, 4, 8].map(|length| unsafe { (libc::CMSG_LEN(length), libc::CMSG_SPACE(length)) });
        assert_eq!((two, four, eight), ((18, 24), (20, 24), (24, 24)));
        let mut room = Room { bytes: [0; 72], used: 0 };
        room.push(17, 103, &1200_u16.to_ne_bytes());
        assert_eq!(room.bytes[..18], [18, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 103, 0, 0, 0, 0xb0, 0x04]);
    }
}
