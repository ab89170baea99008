//! The right to use a host: one quiclab at a time.
//!
//! A socket with a name in the host's network namespace. The kernel takes it away with the process that has it, however that ends, so no
//! lock is left behind. Who has it is told by the kernel (`SO_PEERCRED`) and by that process's command line.

use std::{
    fs,
    os::{
        fd::OwnedFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
};

use anyhow::{Context, Result};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

/// The option that says whom an agent works for.
pub(super) const FOR: &str = "--for";
/// Name of the socket.
const NAME: &[u8] = b"quiclab-agent host";

/// The lock, held.
#[derive(Debug)]
pub(super) struct Lock {
    _socket: OwnedFd,
}

impl Lock {
    /// Takes it; where another process has it, answers whom that works for, as far as it can be found out.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn take() -> Result<Result<Self, Option<String>>> {
        Self::take_by(NAME)
    }

    fn take_by(name: &[u8]) -> Result<Result<Self, Option<String>>> {
        let address = SocketAddr::from_abstract_name(name).context("the name of the lock")?;
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Ok(Self { _socket: socket.into() })),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Ok(Err(holder(&address))),
            Err(error) => Err(error).context("the host's lock"),
        }
    }
}

fn holder(address: &SocketAddr) -> Option<String> {
    let socket = UnixStream::connect_addr(address).ok()?;
    let process = getsockopt(&socket, PeerCredentials).ok()?.pid();
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let place = words.iter().position(|word| word == FOR)?;
    Some(format!("{} (process {process} there)", words.get(place + 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_is_free_after_its_holder() {
        let name = format!("quiclab test {}", std::process::id());
        let lock = Lock::take_by(name.as_bytes()).unwrap().unwrap();
        // This process was not started for anybody.
        assert_eq!(Lock::take_by(name.as_bytes()).unwrap().unwrap_err(), None);
        drop(lock);
        assert!(Lock::take_by(name.as_bytes()).unwrap().is_ok());
    }
}
