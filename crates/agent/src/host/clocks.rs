//! Comparing the clocks of two hosts: packets over the path between them, before anything shapes it.
//!
//! As NTP does it: each packet yields four times, two of each clock. Arrivals are stamped by the kernel, with the clock that stamps the
//! packets of a run.

use std::{
    io,
    mem::{MaybeUninit, size_of, zeroed},
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    os::fd::AsRawFd,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use quiclab_agent_protocol::{
    addresses::SERVER_ADDRESS,
    hosts::{CLOCK_PORT, Exchange},
};

use crate::{forwarder::socket::stamp, namespace::Namespace};

/// How long an answer may take. A packet that takes longer says little about clocks.
const TIMEOUT: Duration = Duration::from_millis(200);
/// Number of packets without an answer in a row after which there will be none.
const MOST_LOST_IN_A_ROW: u32 = 10;
/// Bytes of a packet: its number, and in an answer the two times of the server.
const BYTES: usize = 24;

/// `CLOCK_REALTIME`.
///
/// # Errors
/// What the kernel answers.
pub(super) fn now() -> Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_REALTIME)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Answers packets in the server's network as long as this process lives.
///
/// # Errors
/// What the kernel answers.
pub(super) fn echo(server: &Namespace) -> Result<()> {
    let socket = server.inside(|| open(CLOCK_PORT))?;
    thread::Builder::new().name("clock".into()).spawn(move || {
        while let Ok((packet, from, arrived)) = receive(&socket) {
            let mut answer = packet;
            answer[8..16].copy_from_slice(&arrived.to_be_bytes());
            answer[16..].copy_from_slice(&now().unwrap_or(0).to_be_bytes());
            let _ = socket.send_to(&answer, from);
        }
    })?;
    Ok(())
}

/// Exchanges packets with the server's host.
///
/// # Errors
/// What the kernel answers.
pub(super) fn compare(client: &Namespace, exchanges: u32) -> Result<Vec<Exchange>> {
    let socket = client.inside(|| open(0))?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    let (mut found, mut lost) = (Vec::new(), 0);
    for number in 0..u64::from(exchanges) {
        let mut packet = [0; BYTES];
        packet[..8].copy_from_slice(&number.to_be_bytes());
        let sent_ns = now()?;
        // The path may not be ready for the first ones.
        let answer = socket
            .send_to(&packet, SocketAddrV4::new(SERVER_ADDRESS, CLOCK_PORT))
            .and_then(|_| answer_to(&socket, number));
        match answer {
            Ok((answer, received_ns)) => {
                let time = |at: usize| u64::from_be_bytes(answer[at..at + 8].try_into().unwrap_or_default());
                found.push(Exchange { sent_ns, arrived_ns: time(8), answered_ns: time(16), received_ns });
                lost = 0;
            }
            Err(_) => {
                lost += 1;
                if lost == MOST_LOST_IN_A_ROW {
                    break;
                }
            }
        }
    }
    Ok(found)
}

fn answer_to(socket: &UdpSocket, number: u64) -> io::Result<([u8; BYTES], u64)> {
    loop {
        let (answer, _, received) = receive(socket)?;
        // Others are late answers to packets that were given up.
        if answer[..8] == number.to_be_bytes() {
            return Ok((answer, received));
        }
    }
}

fn open(port: u16) -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).context("the socket for comparing clocks")?;
    let on: libc::c_int = 1;
    // SAFETY: the value is as long as said.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if set != 0 {
        return Err(io::Error::last_os_error()).context("SO_TIMESTAMPNS");
    }
    Ok(socket)
}

/// A packet, who sent it, and when it arrived.
fn receive(socket: &UdpSocket) -> io::Result<([u8; BYTES], SocketAddrV4, u64)> {
    #[repr(C, align(8))]
    struct Control([u8; 64]);
    let mut packet = [0_u8; BYTES];
    let mut control = MaybeUninit::<Control>::uninit();
    // SAFETY: all zeros is a valid value of these plain structs.
    let (mut from, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
    let mut piece = libc::iovec { iov_base: packet.as_mut_ptr().cast(), iov_len: BYTES };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the message points to values that outlive the call, as long as said.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    if length < 0 {
        return Err(io::Error::last_os_error());
    }
    let time = stamp(&message).ok_or_else(|| io::Error::other("a packet without a time stamp"))?;
    let address = SocketAddrV4::new(Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr)), u16::from_be(from.sin_port));
    Ok((packet, address, time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64))
}
