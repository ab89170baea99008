//! A QUIC server on the loopback interface, in a thread of its own, over the same stack as the scanner.

#![allow(dead_code)]

pub mod client;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// `asm-generic/sockios.h`, for a `timespec` of 64 bits.
const SIOCGSTAMPNS: libc::c_ulong = 0x8907;
/// HEADERS of a response: status 200 (static 25), `server: test` (static 92), `cf-ray: 1-FRA`.
const RESPONSE: &[u8] = b"\x01\x17\x00\x00\xd9\x5f\x4d\x04test\x26cf-ray\x051-FRA";

/// How a server is to behave.
#[derive(Clone, Copy, Default)]
pub struct Behaviour {
    /// Demands a Retry first.
    pub retries: bool,
    /// Answers requests.
    pub speaks_http3: bool,
    /// Length of the field `alt-svc` in each response, in bytes; 0 for no such field.
    pub alt_svc_bytes: usize,
    /// Closes the connection behind a response.
    pub closes: bool,
    /// Remembers when Initial packets arrived.
    pub keeps_times: bool,
}

/// HEADERS of a response: status 200 (static 25), and `alt-svc` (static 83) of at least 127 bytes.
fn long_response(alt_svc_bytes: usize) -> Vec<u8> {
    // RFC 7541 section 5.1, with a prefix of seven bits.
    let mut section = b"\x00\x00\xd9\x5f\x44\x7f".to_vec();
    let mut rest = alt_svc_bytes - 127;
    while rest >= 128 {
        section.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    section.push(rest as u8);
    section.resize(section.len() + alt_svc_bytes, b'x');
    let length = section.len() as u32 | 0x8000_0000;
    [&b"\x01"[..], &length.to_be_bytes(), &section].concat()
}

type Arrivals = Arc<Mutex<BTreeMap<Vec<u8>, u64>>>;

/// A running server, which ends with this value.
pub struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    handshakes: Arc<AtomicU64>,
    arrivals: Arrivals,
    thread: Option<JoinHandle<Duration>>,
}

impl Server {
    /// Starts a server on a port that the kernel chooses.
    pub fn start(behaviour: Behaviour) -> Server {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(5))).expect("a timeout");
        let address = socket.local_addr().expect("bound");
        let (stop, handshakes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let arrivals = Arrivals::default();
        let (stopped, completed, arrived) = (stop.clone(), handshakes.clone(), arrivals.clone());
        set_timestamps(&socket);
        enlarge(&socket);
        let thread = std::thread::spawn(move || {
            let config = server_config();
            let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), false, None);
            let mut state = State { socket, endpoint, connections: Vec::new(), completed, arrived, behaviour };
            while !stopped.load(Ordering::Relaxed) {
                state.turn();
            }
            thread_time()
        });
        Server { address, stop, handshakes, arrivals, thread: Some(thread) }
    }

    /// Handshakes that the server saw completed.
    pub fn handshakes(&self) -> u64 {
        self.handshakes.load(Ordering::Relaxed)
    }

    /// The kernel's time of reception of each Initial packet, in nanoseconds since the Unix epoch.
    pub fn arrival_times(&self) -> BTreeMap<Vec<u8>, u64> {
        self.arrivals.lock().expect("nobody panicked").clone()
    }

    /// Stops it, and says how much CPU time its thread had.
    pub fn stop(mut self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("it did not panic")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// CPU time of the calling thread.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the room is there.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Lets the kernel remember when it received the datagram that was read last.
fn set_timestamps(socket: &UdpSocket) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the room is there. The first call fails, and switches the time stamps on.
    _ = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, &mut time) };
}

/// Room for bursts. Who is not the machine's own root gets what the machine allows.
fn enlarge(socket: &UdpSocket) {
    let value: libc::c_int = 16 << 20;
    for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
        let (descriptor, length) = (socket.as_raw_fd(), size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the value is as long as said.
        _ = unsafe { libc::setsockopt(descriptor, libc::SOL_SOCKET, option, (&raw const value).cast(), length) };
    }
}

fn stamp_of_last(socket: &UdpSocket) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the room is there.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS, &mut time) };
    assert_eq!(result, 0, "a time of reception");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn server_config() -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(vec!["test.example".into()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    // The faster ones, so that the server is not the limit where the speed of the scanner is measured.
    let CryptoProvider { kx_groups, key_provider, .. } = rustls_graviola::default_provider();
    let provider = Arc::new(CryptoProvider { kx_groups, key_provider, ..rustls::crypto::ring::default_provider() });
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a certificate and its key");
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.send_tls13_tickets = 0;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).expect("a QUIC suite")));
    config.max_incoming(1 << 20);
    config
}

struct State {
    socket: UdpSocket,
    endpoint: Endpoint,
    connections: Vec<Option<Connection>>,
    completed: Arc<AtomicU64>,
    arrived: Arrivals,
    behaviour: Behaviour,
}

impl State {
    fn turn(&mut self) {
        let mut buffer = [0; 2048];
        match self.socket.recv_from(&mut buffer) {
            Ok((length, source)) => {
                if self.behaviour.keeps_times && length >= 1200 {
                    let mut arrived = self.arrived.lock().expect("nobody panicked");
                    arrived.entry(buffer[..length].to_vec()).or_insert_with(|| stamp_of_last(&self.socket));
                }
                self.on_datagram(source, &buffer[..length]);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                self.on_silence()
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn on_datagram(&mut self, source: SocketAddr, bytes: &[u8]) {
        let now = Instant::now();
        let mut reply = Vec::new();
        let event = self.endpoint.handle(now, source, None, None, BytesMut::from(bytes), &mut reply);
        let handle = match event {
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.behaviour.retries && !incoming.remote_address_validated() {
                    let transmit = self.endpoint.retry(incoming, &mut reply).expect("not validated yet");
                    _ = self.socket.send_to(&reply[..transmit.size], source);
                    return;
                }
                let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut reply, None) else { return };
                if self.connections.len() <= handle.0 {
                    self.connections.resize_with(handle.0 + 1, || None);
                }
                self.connections[handle.0] = Some(connection);
                handle
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(connection) = &mut self.connections[handle.0] else { return };
                connection.handle_event(event);
                handle
            }
            Some(DatagramEvent::Response(transmit)) => {
                _ = self.socket.send_to(&reply[..transmit.size], source);
                return;
            }
            None => return,
        };
        self.drive(handle, now);
    }

    /// Timers only when nothing comes: a test server need not be exact.
    fn on_silence(&mut self) {
        let now = Instant::now();
        for place in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[place] else { continue };
            if connection.poll_timeout().is_some_and(|time| time <= now) {
                connection.handle_timeout(now);
                self.drive(ConnectionHandle(place), now);
            }
        }
    }

    fn drive(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(connection) = &mut self.connections[handle.0] else { return };
        let (mut is_lost, mut has_answered) = (false, false);
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => _ = self.completed.fetch_add(1, Ordering::Relaxed),
                Event::ConnectionLost { .. } => is_lost = true,
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) if self.behaviour.speaks_http3 => {
                    let Some(stream) = connection.streams().accept(Dir::Bi) else { continue };
                    let mut sender = connection.send_stream(stream);
                    _ = match self.behaviour.alt_svc_bytes {
                        0 => sender.write(RESPONSE),
                        bytes => sender.write(&long_response(bytes)),
                    };
                    _ = sender.finish();
                    has_answered = true;
                }
                _ => {}
            }
        }
        let mut bytes = Vec::with_capacity(2048);
        if self.behaviour.closes && has_answered {
            // What was written leaves before a connection closes.
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut bytes) {
                _ = self.socket.send_to(&bytes, transmit.destination);
                bytes.clear();
            }
            connection.close(now, 0x100u32.into(), bytes::Bytes::new());
        }
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut bytes) {
            _ = self.socket.send_to(&bytes, transmit.destination);
            bytes.clear();
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if event.is_drained() {
                continue;
            }
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        if is_lost {
            // A client that has closed is not waited for.
            self.connections[handle.0] = None;
            self.endpoint.handle_event(handle, quinn_proto::EndpointEvent::drained());
        }
    }
}
