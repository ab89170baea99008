//! The sockets of cross traffic, and what the kernel tells of them.

use std::{
    net::SocketAddr,
    os::fd::{AsRawFd, OwnedFd},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    sys::socket::{
        AddressFamily, Backlog, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect, listen, setsockopt,
        socket, sockopt,
    },
};
use quiclab_agent_protocol::cross_traffic::CrossFlow;

/// Bytes that TCP takes over before it can send them. More would have to be sent after the client has ended.
const NOT_SENT_BYTES: u32 = 128 << 10;

/// The socket that sends from this address.
///
/// # Errors
/// Where the port is taken, or the kernel lacks the congestion control.
pub fn source(flow: &CrossFlow, from: SocketAddr) -> Result<OwnedFd> {
    let made = open(flow, from)?;
    if let CrossFlow::Tcp { congestion_control } = flow {
        setsockopt(&made, sockopt::TcpCongestion, &congestion_control.into())
            .with_context(|| format!("congestion control {congestion_control}"))?;
        set_number(&made, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOT_SENT_BYTES)?;
    }
    Ok(made)
}

/// The socket that receives at this address.
///
/// # Errors
/// Where the port is taken.
pub fn sink(flow: &CrossFlow, at: SocketAddr) -> Result<OwnedFd> {
    let made = open(flow, at)?;
    if matches!(flow, CrossFlow::Tcp { .. }) {
        listen(&made, Backlog::new(1)?)?;
    }
    Ok(made)
}

/// Begins to connect; TCP may need longer.
///
/// # Errors
/// What the kernel answers.
pub fn begin_to_connect(socket: &OwnedFd, to: SocketAddr) -> Result<()> {
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("connecting to {to}")),
    }
}

fn open(flow: &CrossFlow, address: SocketAddr) -> Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let (kind, protocol) = match flow {
        CrossFlow::Tcp { .. } => (SockType::Stream, SockProtocol::Tcp),
        CrossFlow::Udp { .. } => (SockType::Datagram, SockProtocol::Udp),
    };
    let made = socket(family, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, protocol)?;
    setsockopt(&made, sockopt::ReuseAddr, &true)?;
    bind(made.as_raw_fd(), &SockaddrStorage::from(address)).with_context(|| format!("port of {address}"))?;
    Ok(made)
}

fn set_number(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: u32) -> Result<()> {
    // SAFETY: the value is as long as said.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    Errno::result(result).context("a socket option")?;
    Ok(())
}

/// What the kernel counts of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments with data that were sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with data that arrived, copies included.
    pub data_segments_received: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
    /// Bytes of data that the peer has acknowledged.
    pub bytes_acknowledged: u64,
}

/// `struct tcp_info` of include/uapi/linux/tcp.h up to `tcpi_data_segs_out`, which the C library's lacks.
const TCP_INFO_BYTES: usize = 160;
const TOTAL_RETRANS: usize = 100;
const BYTES_ACKED: usize = 120;
const DATA_SEGS_IN: usize = 152;
const DATA_SEGS_OUT: usize = 156;

/// What the kernel has counted so far.
///
/// # Errors
/// What the kernel answers; a kernel before 4.6 does not count all of it.
pub fn tcp_counts(socket: &OwnedFd) -> Result<TcpCounts> {
    let mut info = [0_u8; TCP_INFO_BYTES];
    let mut length = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the buffer is as long as said.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    Errno::result(result).context("TCP_INFO")?;
    anyhow::ensure!(length as usize == TCP_INFO_BYTES, "TCP_INFO: found {length} bytes, expected {TCP_INFO_BYTES}");
    Ok(counts_of(&info))
}

fn counts_of(info: &[u8; TCP_INFO_BYTES]) -> TcpCounts {
    let number = |at: usize| u64::from(u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]));
    let [mut low, mut high] = [BYTES_ACKED, BYTES_ACKED + 4].map(number);
    if cfg!(target_endian = "big") {
        std::mem::swap(&mut low, &mut high);
    }
    TcpCounts {
        data_segments_sent: number(DATA_SEGS_OUT),
        data_segments_received: number(DATA_SEGS_IN),
        retransmissions: number(TOTAL_RETRANS),
        bytes_acknowledged: high << 32 | low,
    }
}
