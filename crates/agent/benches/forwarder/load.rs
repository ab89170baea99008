//! What is sent: UDP datagrams to an address that nobody has, one by one at a rate or as many as go.

use std::{
    io,
    mem::zeroed,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_agent::{namespace::Namespace, topology::index};
use quiclab_agent_protocol::addresses::{CLIENT_MAC, HOST_INTERFACE, SERVER_ADDRESS, SERVER_MAC};
use quiclab_wire::offload::{
    checksum::{complete_ipv4, folded, sum},
    header::{of_super_packet, with_partial_checksum},
};

use crate::{SENDER_CPU, pin};

/// Nobody has it, so no kernel answers.
const TO: [u8; 4] = [193, 167, 0, 77];
/// Payload of a datagram of 1500 B.
const PAYLOAD: usize = 1472;
/// Datagrams of a super-packet.
const DATAGRAMS: usize = 44;
/// Where the number of a packet is, behind Ethernet, IPv4 and UDP.
pub const NUMBER: usize = 42;
const HEADER: usize = 10;
const BATCH: usize = 32;

/// What kind of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    Packets,
    SuperPackets,
}

/// What to send.
pub struct Load {
    pub frames: Frames,
    /// `None`: as much as goes.
    pub bits_per_second: Option<f64>,
}

/// What was sent.
pub struct Sent {
    pub frames: u64,
}

impl Load {
    /// Whether it is to show how late packets are.
    pub fn is_timed(&self) -> bool {
        self.frames == Frames::Packets && self.bits_per_second.is_some()
    }

    /// Sends for so long.
    pub fn send(&self, server: &Namespace, length: Duration) -> Result<Sent> {
        let send = || -> Result<Sent> {
            pin(SENDER_CPU)?;
            server.enter()?;
            let socket = socket()?;
            match self.bits_per_second {
                Some(rate) => self.pace(&socket, rate, length),
                None => self.blast(&socket, length),
            }
        };
        std::thread::scope(|scope| scope.spawn(send).join()).map_err(|_| anyhow::anyhow!("the sender panicked"))?
    }

    fn pace(&self, socket: &OwnedFd, bits_per_second: f64, length: Duration) -> Result<Sent> {
        let mut frame = self.frame();
        let pause = (frame.len() - HEADER) as f64 * 8.0 / bits_per_second;
        let start = Instant::now();
        let mut frames = 0_u64;
        while start.elapsed() < length {
            let due = Duration::from_secs_f64(frames as f64 * pause);
            while start.elapsed() < due {
                std::hint::spin_loop();
            }
            frame[HEADER + NUMBER..][..8].copy_from_slice(&frames.to_be_bytes());
            // SAFETY: the buffer is as long as said.
            let sent = unsafe { libc::send(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
            anyhow::ensure!(sent >= 0, "sending: {}", io::Error::last_os_error());
            frames += 1;
        }
        Ok(Sent { frames })
    }

    fn blast(&self, socket: &OwnedFd, length: Duration) -> Result<Sent> {
        let frame = self.frame();
        let mut piece = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
        // SAFETY: all zeros is a valid value of this plain struct.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for message in &mut messages {
            message.msg_hdr.msg_iov = &raw mut piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        let start = Instant::now();
        let mut frames = 0;
        while start.elapsed() < length {
            // SAFETY: every message points to the frame, which lives until after the call.
            let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), BATCH as u32, 0) };
            anyhow::ensure!(sent >= 0, "sending: {}", io::Error::last_os_error());
            frames += sent as u64;
        }
        Ok(Sent { frames })
    }

    /// A frame with the kernel's header before it.
    fn frame(&self) -> Vec<u8> {
        let (mut frame, payload) = match self.frames {
            Frames::Packets => (with_partial_checksum(34, 6).to_vec(), PAYLOAD),
            Frames::SuperPackets => (of_super_packet(5, PAYLOAD as u16, 34, 6).to_vec(), PAYLOAD * DATAGRAMS),
        };
        frame.extend(CLIENT_MAC);
        frame.extend(SERVER_MAC);
        frame.extend([0x08, 0x00]);
        let length = (8 + payload) as u16;
        let mut header = vec![0x45, 0];
        header.extend((20 + length).to_be_bytes());
        header.extend([0, 1, 0x40, 0, 64, 17, 0, 0]);
        header.extend(SERVER_ADDRESS.octets());
        header.extend(TO);
        complete_ipv4(&mut header);
        frame.extend(&header);
        frame.extend(443_u16.to_be_bytes());
        frame.extend(4433_u16.to_be_bytes());
        frame.extend(length.to_be_bytes());
        frame.extend(folded(sum(&header[12..20]) + u64::from(length) + 17).to_be_bytes());
        frame.resize(frame.len() + payload, 7);
        frame
    }
}

/// A packet socket at the host's interface that only sends.
fn socket() -> Result<OwnedFd> {
    // SAFETY: plain system call.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error()).context("packet socket");
    }
    // SAFETY: the descriptor is new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let one: libc::c_int = 1;
    // SAFETY: the value is as long as said.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, (&raw const one).cast(), 4)
    };
    anyhow::ensure!(result == 0, "PACKET_VNET_HDR: {}", io::Error::last_os_error());
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index(HOST_INTERFACE)? as i32;
    // SAFETY: the address is as long as said.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as libc::socklen_t)
    };
    anyhow::ensure!(result == 0, "bind: {}", io::Error::last_os_error());
    Ok(socket)
}
