//! A TUN device: what is sent into its network is read here, and what is written here arrives from there.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    os::unix::fs::OpenOptionsExt,
};

use nix::{errno::Errno, ioctl_write_ptr_bad};

const DEVICE: &str = "/dev/net/tun";

/// Documented in the kernel's Documentation/networking/tuntap.rst.
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
ioctl_write_ptr_bad!(set_interface, TUNSETIFF, libc::ifreq);

/// An interface that this process stands behind. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Tun {
    file: File,
}

impl Tun {
    /// Makes an interface in the calling thread's network namespace. It is down.
    ///
    /// # Errors
    /// Where there is no /dev/net/tun, without `CAP_NET_ADMIN`, or where the interface exists.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
        // SAFETY: all zeros is a valid value of this plain struct.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // One byte less than there is room for, so that a zero ends it.
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        // SAFETY: the kernel reads one ifreq, which is alive, and the file is open.
        unsafe { set_interface(file.as_raw_fd(), &request) }?;
        Ok(Self { file })
    }

    /// The next IP packet, or `None` where there is none yet.
    ///
    /// # Errors
    /// Where the interface is gone or down.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends an IP packet to this machine.
    ///
    /// # Errors
    /// What the kernel answers; `EINVAL` for what is no IP packet.
    pub(crate) fn send(&self, packet: &[u8]) -> io::Result<()> {
        match (&self.file).write(packet)? {
            written if written == packet.len() => Ok(()),
            _ => Err(Errno::EIO.into()),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
