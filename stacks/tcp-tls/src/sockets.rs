//! TCP sockets as both roles use them.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::Once,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_contract::{IpVersion, NOT_SUPPORTED};
use socket2::{Domain, Protocol, Socket, Type};

use crate::settings::Settings;

/// How long a server that does not answer, or refuses, is asked again.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the other end may take to read or to write something.
const SILENCE: Duration = Duration::from_secs(30);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 256;

/// The kernel does not let this socket have a congestion control.
#[derive(Debug)]
pub struct NoSuchControl(String);

impl NoSuchControl {
    /// That of what an endpoint cannot do.
    pub fn exit_status(&self) -> u8 {
        NOT_SUPPORTED
    }
}

impl std::fmt::Display for NoSuchControl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(formatter, "QUICLAB_CCA: {}", self.0)
    }
}

impl std::error::Error for NoSuchControl {}

/// Listens at the port of the settings; connections inherit the congestion control.
///
/// # Errors
/// Where the port is taken, or the kernel lacks the congestion control.
pub fn listen(settings: &Settings) -> Result<TcpListener> {
    let address = settings.local();
    let socket = socket(settings, address)?;
    socket.set_reuse_address(true)?;
    if settings.ip == IpVersion::V6 {
        socket.set_only_v6(true)?;
    }
    socket
        .bind(&address.into())
        .and_then(|()| socket.listen(BACKLOG))
        .with_context(|| format!("TCP port {}", settings.port))?;
    Ok(socket.into())
}

/// Connects to the server at `address`, and tries again where it refuses.
///
/// # Errors
/// Where that takes too long, or the kernel lacks the congestion control.
pub fn connect(settings: &Settings, address: SocketAddr) -> Result<TcpStream> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let socket = socket(settings, address)?;
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        match socket.connect_timeout(&address.into(), left) {
            Ok(()) => {
                let stream = TcpStream::from(socket);
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENCE))?;
                stream.set_write_timeout(Some(SILENCE))?;
                return Ok(stream);
            }
            Err(_) if Instant::now() + PAUSE < deadline => thread::sleep(PAUSE),
            Err(error) => return Err(error).with_context(|| format!("connecting to {address}")),
        }
    }
}

fn socket(settings: &Settings, address: SocketAddr) -> Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if settings.sets_congestion_control {
        let name = settings.congestion_control;
        socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
            NoSuchControl(format!("found {name:?}, expected one that the kernel lets this socket have ({error})"))
        })?;
    }
    Ok(socket)
}

/// Says on stderr which congestion control the kernel says a connection has, once: there can be thousands of them in a second.
pub fn tell_congestion_control(stream: &TcpStream) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let name = socket2::SockRef::from(stream).tcp_congestion().unwrap_or_default();
        eprintln!("congestion control: {}", String::from_utf8_lossy(&name).trim_end_matches('\0'));
    });
}

/// Ends a connection that another thread reads or writes. Its end is a reset, which throws away what is not sent yet: QUIC's CONNECTION_CLOSE
/// does so, too.
///
/// # Errors
/// What the kernel answers.
pub fn abandon(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))?;
    stream.shutdown(Shutdown::Both)
}
