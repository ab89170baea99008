//! The server of `--udp`.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    super::{
        hooks::{Ended, Hooks},
        settings::PerfSettings,
    },
    flow::{self, Counters},
};
use crate::{
    control::{Lines, VERSION, line, parse},
    udp::{HEADER, UdpAnswer, UdpQuestion, UdpTest},
};

/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A client that says nothing for so long has gone.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What a client has to show where it is.
const CALL: Duration = Duration::from_secs(5);
/// Longest test, in nanoseconds: a day.
const LONGEST: u64 = 86_400_000_000_000;
/// Largest payload of a UDP datagram.
const LARGEST: u16 = 65_507;

/// Serves until interrupted.
///
/// # Errors
/// Where the port is taken.
pub fn serve(settings: &PerfSettings, stop: &AtomicBool, hooks: Hooks) -> Result<Ended> {
    let any = if settings.ipv6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
    let server = Server::open(SocketAddr::new(any, settings.port), hooks)?;
    hooks.print(&format!(
        "plain UDP at UDP port {0}; its counters are at TCP port {0}\non the other machine:\n  \
         quiclab perf --udp -c ADDRESS --port {0}\n",
        settings.port
    ))?;
    server.run(stop);
    Ok(Ended::Interrupted)
}

/// The sockets of the server.
pub struct Server {
    listener: TcpListener,
    socket: Arc<UdpSocket>,
    port: u16,
    hooks: Hooks,
}

impl Server {
    /// Opens them.
    ///
    /// # Errors
    /// Where the port is taken.
    pub fn open(address: SocketAddr, hooks: Hooks) -> Result<Self> {
        let port = address.port();
        let hint = || format!("port {port} of {}\nhint: --port, another number", address.ip());
        let listener = TcpListener::bind(address).with_context(hint)?;
        listener.set_nonblocking(true).context("TCP")?;
        Ok(Self { listener, socket: Arc::new(UdpSocket::bind(address).with_context(hint)?), port, hooks })
    }

    /// Tests with one client after the other, until `stop`.
    pub fn run(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, from)) => self.talk(stream, from, stop),
                Err(_) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Answers a client until it has gone.
    fn talk(&self, mut stream: TcpStream, from: SocketAddr, stop: &AtomicBool) {
        let settings = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(POLL_INTERVAL)));
        if settings.and_then(|()| stream.set_nodelay(true)).is_err() {
            return;
        }
        let (mut lines, mut last_read, mut running) = (Lines::default(), Instant::now(), None);
        let mut buffer = [0; 4096];
        while !stop.load(Ordering::Relaxed) && last_read.elapsed() < TIMEOUT {
            if let Ok((mut other, _)) = self.listener.accept() {
                let why = "the server tests with another client".to_owned();
                let _ = other.write_all(&line(&UdpAnswer::Refused { why }));
            }
            let mut taken = match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => &buffer[..length],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => return,
            };
            loop {
                let question = match lines.take(taken) {
                    Ok(Some(line)) => {
                        last_read = Instant::now();
                        parse::<UdpQuestion>(&line)
                    }
                    Ok(None) => break,
                    Err(error) => Err(error),
                };
                taken = &[];
                let answer = match question {
                    Ok(question) => self.answer(question, from, &mut running),
                    Err(error) => UdpAnswer::Refused { why: error.to_string() },
                };
                if stream.write_all(&line(&answer)).is_err() || matches!(answer, UdpAnswer::Refused { .. }) {
                    return;
                }
            }
        }
    }

    fn answer(&self, question: UdpQuestion, from: SocketAddr, running: &mut Option<Running>) -> UdpAnswer {
        let refused = |why: String| UdpAnswer::Refused { why };
        match question {
            UdpQuestion::Hello { version: VERSION, udp: true } => UdpAnswer::Ready,
            UdpQuestion::Hello { version: VERSION, udp: false } => {
                refused("this server measures plain UDP, without a stack: --udp".to_owned())
            }
            UdpQuestion::Hello { version, .. } => refused(format!("found version {version}, expected {VERSION}")),
            UdpQuestion::Begin(test) => {
                let is_length = (HEADER..=usize::from(LARGEST)).contains(&usize::from(test.length));
                if !is_length || test.nanoseconds > LONGEST {
                    return refused(format!(
                        "found {} bytes and {} ns, expected {HEADER} to {LARGEST} and at most {LONGEST}",
                        test.length, test.nanoseconds
                    ));
                }
                *running = None;
                *running = Some(Running::start(&self.socket, from, test, self.hooks));
                UdpAnswer::Ready
            }
            UdpQuestion::Reading => match running {
                Some(running) => UdpAnswer::Reading(running.counters.reading(self.port)),
                None => refused("no test has begun".to_owned()),
            },
        }
    }
}

/// A test of a client.
struct Running {
    counters: Arc<Counters>,
    thread: Option<JoinHandle<Result<()>>>,
    hooks: Hooks,
}

impl Running {
    fn start(socket: &Arc<UdpSocket>, client: SocketAddr, test: UdpTest, hooks: Hooks) -> Self {
        let counters = Arc::new(Counters::default());
        let thread = if test.server_sends {
            let (socket, counters) = (socket.clone(), counters.clone());
            thread::spawn(move || answer_call(&socket, client, test, &counters))
        } else {
            flow::start(socket, client, test, false, &counters)
        };
        Self { counters, thread: Some(thread), hooks }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counters.stop();
        if let Some(Err(error)) = self.thread.take().and_then(|thread| thread.join().ok()) {
            self.hooks.status(&format!("quiclab: {error:#}"));
        }
    }
}

/// Sends to where a datagram of the test has come from, if that is the client that asks over TCP: nobody else can be made a target.
fn answer_call(socket: &UdpSocket, client: SocketAddr, test: UdpTest, counters: &Counters) -> Result<()> {
    socket.set_read_timeout(Some(POLL_INTERVAL)).context("a UDP socket")?;
    let (mut buffer, start) = ([0; HEADER], Instant::now());
    while !counters.is_stopped() && start.elapsed() < CALL {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let datagram = crate::udp::Datagram::of_bytes(&buffer[..length]);
        let is_client = from.ip().to_canonical() == client.ip().to_canonical();
        if is_client && datagram.is_some_and(|datagram| datagram.test == test.number) {
            return flow::send(socket, from, test, counters);
        }
    }
    Ok(())
}
