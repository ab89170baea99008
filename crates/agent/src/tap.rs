//! A tap: a packet socket whose ring holds the whole capture, so that nobody wakes up to empty it.
//!
//! On a host's own interface it sees packets as they leave, after the queueing discipline and after segmentation.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{report::TapReport, ring};

mod filter;
mod mirror;

use crate::{packet_socket, topology::index};
pub use filter::Keeps;

/// Bytes of a block of the ring; the kernel fills one after the other.
pub const BLOCK_BYTES: usize = 1 << 20;
/// What is handed over ends at a multiple of this.
const PAGE_BYTES: usize = 4096;
/// The kernel closes a block that is not full after this long; it need not, because the ring is read when all is over.
const RETIRE_MILLISECONDS: u32 = 60_000;

/// An open tap. Dropping it ends the capture and frees the ring.
pub struct Tap {
    name: String,
    snaplen: Option<u32>,
    has_headers: bool,
    socket: OwnedFd,
    ring: NonNull<u8>,
    bytes: usize,
}

impl Tap {
    /// Starts to capture at `interface` of the calling thread's namespace. Where there are `super_packets`, each frame has the kernel's header
    /// before it, which says how it is to be cut.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where the ring does not fit into memory.
    pub fn open(name: &str, interface: &str, keeps: Keeps, ring_bytes: u64, super_packets: bool) -> Result<Self> {
        let program = filter::program(keeps);
        Self::open_by(name, interface, keeps, ring_bytes, super_packets, &program, |_| Ok(()))
    }

    /// The same with this program for the kernel's filter, and with what `prepare` does to the socket.
    fn open_by(
        name: &str,
        interface: &str,
        keeps: Keeps,
        ring_bytes: u64,
        super_packets: bool,
        program: &[libc::sock_filter],
        prepare: impl FnOnce(&OwnedFd) -> Result<()>,
    ) -> Result<Self> {
        // Protocol 0: nothing arrives before the filter and the ring are in place.
        // SAFETY: plain system call.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error()).context("packet socket");
        }
        // SAFETY: the descriptor is new and ours.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let set = |level, option, value: &dyn AsBytes| set_option(&socket, level, option, value.as_bytes());
        if !program.is_empty() {
            let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
            set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &Plain(filter)).context("snap length")?;
        }
        set(libc::SOL_PACKET, libc::PACKET_VERSION, &Plain(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
        if super_packets {
            set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &Plain::<libc::c_int>(1)).context("PACKET_VNET_HDR")?;
        }
        let blocks = (ring_bytes as usize).div_ceil(BLOCK_BYTES).max(2);
        let frame = 2048;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: frame,
            tp_frame_nr: (BLOCK_BYTES as u32 / frame) * blocks as u32,
            tp_retire_blk_tov: RETIRE_MILLISECONDS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(libc::SOL_PACKET, libc::PACKET_RX_RING, &Plain(request)).context("capture ring")?;
        let bytes = blocks * BLOCK_BYTES;
        // SAFETY: the socket has a ring of exactly this size.
        let ring = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("capture ring");
        }
        let tap = Self {
            name: name.to_owned(),
            snaplen: keeps.bytes,
            has_headers: super_packets,
            socket,
            ring: NonNull::new(ring.cast()).context("ring")?,
            bytes,
        };
        prepare(&tap.socket)?;
        packet_socket::bind(&tap.socket, index(interface)?, libc::ETH_P_ALL as u16)
            .with_context(|| format!("tap at {interface}"))?;
        Ok(tap)
    }

    /// Ends the capture; what is in the ring stays.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn stop(&self) -> Result<TapReport> {
        // Bound to nothing, a socket keeps its protocol and may see packets of every interface.
        let nothing = [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 }];
        let filter = libc::sock_fprog { len: 1, filter: nothing.as_ptr().cast_mut() };
        set_option(&self.socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, Plain(filter).as_bytes())
            .context("ending a capture")?;
        packet_socket::bind(&self.socket, 0, 0).context("ending a capture")?;
        let statistics = packet_socket::statistics(&self.socket).context("capture statistics")?;
        let used = self.pages().chunks(BLOCK_BYTES).take_while(|block| ring::holds_packets(block));
        let (mut blocks_used, mut last) = (0, None);
        used.for_each(|block| (blocks_used, last) = (blocks_used + 1, Some(block)));
        Ok(TapReport {
            name: self.name.clone(),
            snaplen: self.snaplen,
            no_hardware_stamps: None,
            has_headers: self.has_headers,
            packets_seen: u64::from(statistics.packets),
            packets_lost: u64::from(statistics.lost),
            block_bytes: BLOCK_BYTES as u64,
            blocks_used,
            last_block_bytes: last
                .map(|block| (ring::used_bytes(block).next_multiple_of(PAGE_BYTES).min(BLOCK_BYTES)) as u64),
        })
    }

    /// The ring, from its first block. To be read after [`Tap::stop`] only.
    pub fn pages(&self) -> &[u8] {
        // SAFETY: the mapping lives as long as self; the kernel writes no more once the capture is stopped.
        unsafe { std::slice::from_raw_parts(self.ring.as_ptr(), self.bytes) }
    }
}

// SAFETY: the memory belongs to the tap alone.
unsafe impl Send for Tap {}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody can hold a slice of it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), self.bytes) };
    }
}

/// A plain C value as its bytes.
struct Plain<T>(T);

trait AsBytes {
    fn as_bytes(&self) -> &[u8];
}

impl<T> AsBytes for Plain<T> {
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: used with C structs without padding only, for the length of the borrow.
        unsafe { std::slice::from_raw_parts((&raw const self.0).cast(), size_of::<T>()) }
    }
}

fn set_option(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value is as long as said.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
