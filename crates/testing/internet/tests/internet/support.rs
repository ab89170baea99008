//! Clients and servers without QUIC, and descriptions.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nix::sys::{
    socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt},
    time::TimeSpec,
};
use quiclab_internet::{Behaviour, Description, Group, Host, Internet, Server};

/// How long clients wait for what must come. It measures nothing: it ends a test that hangs.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(300);
/// How long nothing must come for a test to believe that nothing comes.
pub const SILENCE: Duration = Duration::from_millis(300);
/// Name of the server of [`echo`].
pub const ECHO: &str = "echo";

/// Two networks, and a server that sends each datagram back.
pub fn description(hosts: Vec<Host>) -> Description {
    let group = |name: &str, origin_as, prefixes: &[&str]| Group {
        name: name.to_owned(),
        origin_as,
        prefixes: prefixes.iter().map(|prefix| prefix.parse().unwrap()).collect(),
    };
    Description {
        seed: 1,
        groups: vec![
            group("near", 64500, &["100.64.0.0/16", "2001:db8:64::/48"]),
            group("far", 64501, &["203.0.113.0/24"]),
        ],
        servers: vec![Server { name: ECHO.to_owned(), address: echo(), instant_ack: None }],
        hosts,
        ..Description::default()
    }
}

/// Starts an Internet with these hosts.
pub fn internet(hosts: Vec<Host>) -> Internet {
    Internet::start(&description(hosts)).expect("an Internet")
}

pub fn millis(count: u64) -> quiclab_units::Duration {
    quiclab_units::Duration::from_millis(count)
}

pub fn serve(server: &str) -> Behaviour {
    Behaviour::Serve { server: server.to_owned() }
}

pub fn host(address: &str, rtt_ms: u64, behaviour: Behaviour) -> Host {
    Host::new(address.parse().unwrap(), millis(rtt_ms), behaviour)
}

/// A server on the loopback that sends back what it gets, and how often its first byte says.
pub fn echo() -> SocketAddr {
    let socket = with_room(UdpSocket::bind("127.0.0.1:0").unwrap());
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 9000];
        while let Ok((bytes, client)) = socket.recv_from(&mut buffer) {
            for _ in 0..buffer[0] {
                socket.send_to(&buffer[..bytes], client).unwrap();
            }
        }
    });
    address
}

/// A socket that holds more datagrams than by default, as that of a scanner, for a machine that is slow at times.
pub fn with_room(socket: UdpSocket) -> UdpSocket {
    setsockopt(&socket, sockopt::RcvBuf, &(4 << 20)).unwrap();
    socket
}

/// A client's socket, which the kernel lets talk to this host alone.
pub fn client(host: &str) -> UdpSocket {
    let host: IpAddr = host.parse().unwrap();
    let any = if host.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).unwrap();
    socket.connect((host, 443)).unwrap();
    socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).unwrap();
    socket
}

/// Unix time in nanoseconds.
pub fn now_ns() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// A datagram, when the kernel got it, and who sent it if the socket is not connected.
pub fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, u64)> {
    let mut space = nix::cmsg_space!(TimeSpec);
    let mut slices = [io::IoSliceMut::new(buffer)];
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::empty())?;
    let time = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64),
        _ => None,
    });
    Ok((message.bytes, time.expect("a time stamp")))
}

/// Measures, beside a test, how many times as long as on an idle machine waking takes: by round trips over the loopback.
///
/// Limits of times are multiplied by it: a test is about the Internet and not about the machine.
pub struct Slowness {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<i64>>,
}

impl Slowness {
    /// Begins.
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(echo()).unwrap();
            socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
            let mut times = Vec::new();
            while times.len() < 100 || !stopped.load(Ordering::Relaxed) {
                let began = std::time::Instant::now();
                socket.send(&[1; 1200]).unwrap();
                socket.recv(&mut [0; 2000]).unwrap();
                thread::sleep(Duration::from_millis(1));
                times.push(began.elapsed().as_nanos() as i64 - 1_000_000);
            }
            times
        });
        Self { stop, thread }
    }

    /// Ends, and gives the factor, at least 1: that of the slowest quarter of the time, as the machine may be busy only now and then.
    pub fn factor(self) -> f64 {
        /// Two wakings and four system calls, on the machine where the limits were chosen.
        const IDLE_NS: f64 = 30_000.0;
        self.stop.store(true, Ordering::Relaxed);
        let times = self.thread.join().unwrap();
        let quarters = times.chunks(times.len().div_ceil(4)).map(|quarter| quantile(quarter.to_vec(), 0.75));
        let slowness = (quarters.max().unwrap() as f64 / IDLE_NS).max(1.0);
        println!("waking takes {slowness:.1} times as long as on an idle machine");
        slowness
    }
}

/// Datagrams until nothing came for [`SILENCE`].
pub fn receive_all(socket: &UdpSocket) -> Vec<(Vec<u8>, u64)> {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let mut buffer = [0; 9000];
    let mut all = Vec::new();
    while let Ok((bytes, time)) = receive(socket, &mut buffer) {
        all.push((buffer[..bytes].to_vec(), time));
    }
    all
}

pub fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values[values.len() / 2]
}

pub fn quantile(mut values: Vec<i64>, quantile: f64) -> i64 {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * quantile) as usize]
}
