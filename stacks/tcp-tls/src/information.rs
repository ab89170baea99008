//! What the kernel knows of a TCP connection: TCP_INFO, tcp(7).

use std::{
    mem::{self, MaybeUninit},
    net::TcpStream,
    os::fd::AsRawFd,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use quiclab_contract::perf::{COUNTERS, Path};

/// How many connections there were so far.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// The number of a connection, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Number(u64);

impl Number {
    /// That of a connection whose handshake is complete: it is the newest one.
    pub fn next() -> Self {
        COUNTERS.connected();
        Self(CONNECTIONS.fetch_add(1, Relaxed) + 1)
    }

    /// Tells of the path of this connection where a line of progress needs that and this is the newest one.
    pub fn report(self, stream: &TcpStream) {
        COUNTERS.path(|| if self.0 == CONNECTIONS.load(Relaxed) { path(stream) } else { None });
    }
}

/// What is known of a connection's path. Segments that were sent again stand for lost ones: the kernel does not count the latter over time.
pub fn path(stream: &TcpStream) -> Option<Path> {
    let mut information = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = mem::size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the structure.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            information.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if status != 0 {
        return None;
    }
    // SAFETY: all of it is numbers, and zeros where the kernel wrote nothing.
    let information = unsafe { information.assume_init() };
    Some(Path {
        rtt: Duration::from_micros(information.tcpi_rtt.into()),
        window: u64::from(information.tcpi_snd_cwnd) * u64::from(information.tcpi_snd_mss),
        lost: information.tcpi_total_retrans.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener};

    use super::*;

    #[test]
    fn a_new_connection_has_a_window_and_has_lost_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        let path = path(&stream).unwrap();
        // RFC 6928: ten segments.
        assert!(path.window >= 10 * 500 && path.lost == 0, "{path:?}");
        assert!(path.rtt > Duration::ZERO && path.rtt < Duration::from_secs(5), "{path:?}");
    }
}
