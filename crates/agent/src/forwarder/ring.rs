//! A ring into which the kernel writes frames (`TPACKET_V2`), so that receiving one is no system call.
//!
//! Each frame has a place of the same size. Rings with places as long as their frames (`TPACKET_V3`) hand over whole blocks only, milliseconds
//! late.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result, ensure};
use nix::sys::time::TimeSpec;
use quiclab_wire::offload::header::HEADER_BYTES;

/// Memory of a ring. The kernel takes all of it at once.
const ROOM_BYTES: usize = 64 << 20;
/// The kernel allocates memory in blocks of this size.
const BLOCK_BYTES: usize = 1 << 20;
/// What a place holds before its frame: the kernel's own header and an address, and room to align the frame.
const BEFORE_FRAME: usize = 128;
/// Places start at multiples of this (`TPACKET_ALIGNMENT`).
const ALIGNMENT: usize = 16;

/// The receive ring of a socket.
pub struct Ring {
    memory: NonNull<u8>,
    bytes: usize,
    place_bytes: usize,
    in_block: usize,
    places: usize,
    /// Where the next frame will be.
    next: usize,
}

// SAFETY: the memory belongs to the ring alone.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives a socket that is not bound yet a ring for frames of up to this length. Its frames come with the kernel's header before them.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn new(socket: &OwnedFd, largest_frame_bytes: u32) -> Result<Self> {
        let place_bytes = (BEFORE_FRAME + HEADER_BYTES + largest_frame_bytes as usize).next_multiple_of(ALIGNMENT);
        let in_block = BLOCK_BYTES / place_bytes;
        ensure!(in_block > 0, "found frames of {largest_frame_bytes} bytes, expected less than {BLOCK_BYTES}");
        let blocks = ROOM_BYTES / BLOCK_BYTES;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: place_bytes as u32,
            tp_frame_nr: (in_block * blocks) as u32,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        let set = |option, value: *const libc::c_void, length: usize| {
            // SAFETY: both values below are of the length that comes with them.
            match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, length as _) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        set(libc::PACKET_VERSION, (&raw const version).cast(), size_of_val(&version)).context("PACKET_VERSION")?;
        set(libc::PACKET_RX_RING, (&raw const request).cast(), size_of_val(&request)).context("PACKET_RX_RING")?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the socket has a ring of exactly this size.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), ROOM_BYTES, access, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("receive ring");
        }
        let memory = NonNull::new(memory.cast()).context("receive ring")?;
        Ok(Self { memory, bytes: ROOM_BYTES, place_bytes, in_block, places: in_block * blocks, next: 0 })
    }

    /// Whether a frame waits.
    pub fn is_ready(&self) -> bool {
        self.status(self.next).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Visits up to `most` frames that wait, each with its kernel header and the time at which it came. Answers how many there were.
    ///
    /// # Errors
    /// A frame that is longer than its place, or the error of `visit`.
    pub fn receive(
        &mut self,
        most: usize,
        mut visit: impl FnMut(Option<TimeSpec>, &[u8]) -> Result<()>,
    ) -> Result<usize> {
        let mut count = 0;
        while count < most && self.is_ready() {
            // SAFETY: the place belongs to this program until its status says otherwise. The kernel has written the header, whose numbers
            // lie inside of the place: the bytes that it stored follow the header for user space, which ends where the frame starts.
            let (bytes, stamp, length) = unsafe {
                let header = self.header(self.next);
                let start = usize::from((*header).tp_mac) - HEADER_BYTES;
                let stored = HEADER_BYTES + (*header).tp_snaplen as usize;
                let stamp = TimeSpec::new((*header).tp_sec.into(), (*header).tp_nsec.into());
                (slice::from_raw_parts(header.cast::<u8>().add(start), stored), stamp, (*header).tp_len as usize)
            };
            ensure!(
                bytes.len() == HEADER_BYTES + length,
                "found a frame of {length} bytes, expected at most {}",
                self.place_bytes - BEFORE_FRAME - HEADER_BYTES
            );
            let visited = visit(Some(stamp), bytes);
            self.status(self.next).store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.places;
            visited?;
            count += 1;
        }
        Ok(count)
    }

    fn header(&self, place: usize) -> *mut libc::tpacket2_hdr {
        let offset = place / self.in_block * BLOCK_BYTES + place % self.in_block * self.place_bytes;
        // SAFETY: the place is inside of the mapping, and aligned by the kernel's rule.
        unsafe { self.memory.as_ptr().add(offset).cast() }
    }

    fn status(&self, place: usize) -> &AtomicU32 {
        // SAFETY: the mapping lives as long as self; kernel and program read and write this word as a whole.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header(place)).tp_status) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and of this size; nothing points into it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}
