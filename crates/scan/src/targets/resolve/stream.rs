//! One query over TCP (RFC 1035 section 4.2.2), without blocking.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use nix::{
    errno::Errno,
    poll::PollFlags,
    sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, connect, socket},
};

/// Octets of the length before a message.
const PREFIX: usize = 2;

/// A connection for one message each way.
pub(super) struct Stream {
    pub token: u64,
    socket: TcpStream,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

impl Stream {
    /// Begins to connect.
    pub fn open(server: SocketAddr, token: u64, message: &[u8]) -> io::Result<Self> {
        let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Stream, flags, None)?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(server)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let length = u16::try_from(message.len()).map_err(|_| ErrorKind::InvalidInput)?;
        let output = [&length.to_be_bytes(), message].concat();
        Ok(Self { token, socket: socket.into(), output, sent: 0, input: Vec::new() })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What the connection waits for.
    pub fn waits_for(&self) -> PollFlags {
        if self.sent < self.output.len() { PollFlags::POLLOUT } else { PollFlags::POLLIN }
    }

    /// Sends and receives what can be. Gives the message when all of it is there.
    pub fn advance(&mut self) -> io::Result<Option<&[u8]>> {
        while self.sent < self.output.len() {
            match self.socket.write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) => return wait(error),
            }
        }
        let mut buffer = [0; 4096];
        loop {
            let whole = self.input.first_chunk().map(|length| PREFIX + usize::from(u16::from_be_bytes(*length)));
            if let Some(whole) = whole.filter(|whole| self.input.len() >= *whole) {
                return Ok(Some(&self.input[PREFIX..whole]));
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.input.extend_from_slice(&buffer[..bytes]),
                Err(error) => return wait(error),
            }
        }
    }
}

fn wait<'a>(error: io::Error) -> io::Result<Option<&'a [u8]>> {
    match error.kind() {
        // Before the connection is there, a write says this.
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected => Ok(None),
        _ => Err(error),
    }
}
