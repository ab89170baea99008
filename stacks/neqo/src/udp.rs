//! The socket, as neqo's own programs use it: one datagram per system call when sending, segments of one sender together when
//! receiving (UDP_GRO), waiting by tokio, whose timers have steps of 1 ms.

use std::{
    future,
    io::{self, ErrorKind},
    net::{SocketAddr, UdpSocket as StdSocket},
    time::Duration,
};

use anyhow::{Context as _, Result};
use neqo_common::Datagram;
use neqo_udp::{DatagramIter, RecvBuf};
use quinn_udp::UdpSocketState;
use tokio::{io::Interest, net::UdpSocket, time};

/// Smallest buffer of the kernel for what arrives, in bytes, as in neqo's own programs and in Firefox.
const RECEIVE_BUFFER: usize = 1 << 20;

/// A UDP socket and what has arrived on it.
pub struct Socket {
    state: UdpSocketState,
    socket: UdpSocket,
    local: SocketAddr,
    buffer: RecvBuf,
}

impl Socket {
    /// Binds a socket.
    ///
    /// # Errors
    /// Where the address is in use, or the kernel refuses.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let socket = StdSocket::bind(address).with_context(|| format!("UDP socket {address}"))?;
        let state = UdpSocketState::new((&socket).into())?;
        if state.recv_buffer_size((&socket).into())? < RECEIVE_BUFFER {
            state.set_recv_buffer_size((&socket).into(), RECEIVE_BUFFER)?;
        }
        let local = socket.local_addr()?;
        Ok(Self { state, socket: UdpSocket::from_std(socket)?, local, buffer: RecvBuf::new() })
    }

    /// The address that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sends a datagram, and waits where the kernel has no room for it.
    ///
    /// # Errors
    /// Those of the kernel.
    pub async fn send(&self, datagram: &Datagram) -> io::Result<()> {
        loop {
            let send = || neqo_udp::send_inner(&self.state, (&self.socket).into(), datagram);
            match self.socket.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.socket.writable().await?,
                outcome => return outcome,
            }
        }
    }

    /// The datagrams that have arrived; `None`: there are none.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn receive(&mut self) -> io::Result<Option<DatagramIter<'_>>> {
        let Self { state, socket, local, buffer } = self;
        match socket.try_io(Interest::READABLE, || neqo_udp::recv_inner(*local, state, &*socket, buffer)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            outcome => outcome.map(Some),
        }
    }

    /// Waits until something arrives or the time is over. `None`: there is no such time.
    ///
    /// # Errors
    /// Those of the kernel.
    pub async fn wait(&self, time: Option<Duration>) -> io::Result<()> {
        let timeout = async {
            match time {
                Some(time) => time::sleep(time).await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = self.socket.readable() => outcome,
            () = timeout => Ok(()),
        }
    }
}
