//! The socket that OpenSSL sends and receives with, and waiting for it.

use std::{
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use anyhow::{Context as _, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::time::TimeSpec,
};

use crate::ssl::Ssl;

/// A UDP socket that does not block.
pub struct Socket(UdpSocket);

impl Socket {
    /// Binds one.
    ///
    /// # Errors
    /// Where the address is in use, or the kernel refuses.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let socket = UdpSocket::bind(address).with_context(|| format!("UDP socket {address}"))?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Waits until something arrives, `ssl` has a timer that is due, or `most` is over; then lets `ssl` do what is due.
    ///
    /// # Errors
    /// Errors of the kernel, other than an interruption.
    pub fn wait(&self, ssl: &Ssl, most: Option<Duration>) -> Result<()> {
        let time = ssl.timeout()?.into_iter().chain(most).min();
        let mut events = PollFlags::POLLIN;
        events.set(PollFlags::POLLOUT, ssl.wants_to_send());
        match ppoll(&mut [PollFd::new(self.as_fd(), events)], time.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("ppoll"),
        }
        ssl.handle_events();
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
