//! A resolver with sockets.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use quiclab_units::Time;

use super::{Answer, Resolver, Settings, Transmit, stream::Stream};
use crate::targets::name::Name;

/// TCP connections at the same time.
const MOST_STREAMS: usize = 32;
/// Datagrams that are received before the next are sent.
const MOST_AT_ONCE: usize = 1024;
/// Longest wait, in milliseconds, while connections for TCP wait for others.
const POLL_LIMIT_MS: u128 = 60_000;

/// Asks one resolver by one UDP socket that is connected to it, so that the kernel drops what others send.
#[derive(Debug)]
pub struct Client {
    resolver: Resolver,
    server: SocketAddr,
    socket: UdpSocket,
    /// A datagram that the socket did not take.
    unsent: Option<Vec<u8>>,
    streams: Vec<Stream>,
    /// Queries that wait for a connection.
    queued: VecDeque<(u64, Vec<u8>)>,
    begin: Instant,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Stream").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of a resolver.
    ///
    /// # Errors
    /// When there is no socket, or no route to the resolver.
    pub fn new(server: SocketAddr, settings: Settings) -> io::Result<Self> {
        let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        let resolver = Resolver::new(settings, rand::random::<u16>);
        let (unsent, streams, queued) = Default::default();
        Ok(Self { resolver, server, socket, unsent, streams, queued, begin: Instant::now() })
    }

    /// Asks for a name. Gives the number that its [`Answer`] has.
    pub fn ask(&mut self, name: Name) -> u64 {
        self.resolver.ask(name)
    }

    /// Names without an answer.
    pub fn pending(&self) -> usize {
        self.resolver.pending()
    }

    /// Messages that answered nothing.
    pub fn strays(&self) -> u64 {
        self.resolver.strays()
    }

    /// Sends, waits at most so long for something to happen, and receives. Gives the names that are done.
    ///
    /// # Errors
    /// When the kernel cannot wait. What a socket says is left to the timeouts: a network may come back.
    pub fn poll(&mut self, wait: Duration) -> io::Result<Vec<Answer>> {
        let now = self.now();
        self.resolver.handle_timeout(now);
        self.transmit(now);
        let mut answers: Vec<Answer> = std::iter::from_fn(|| self.resolver.poll_answer()).collect();
        if answers.is_empty() {
            self.wait(wait)?;
            let now = self.now();
            self.receive(now);
            self.advance_streams(now);
            self.resolver.handle_timeout(now);
            self.transmit(now);
            answers.extend(std::iter::from_fn(|| self.resolver.poll_answer()));
        }
        Ok(answers)
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn transmit(&mut self, now: Time) {
        loop {
            let transmit = match self.unsent.take() {
                Some(datagram) => Transmit::Datagram(datagram),
                None => match self.resolver.poll_transmit(now) {
                    Some(transmit) => transmit,
                    None => break,
                },
            };
            match transmit {
                Transmit::Stream { token, message } => self.queued.push_back((token, message)),
                Transmit::Datagram(datagram) => {
                    let sent = self.socket.send(&datagram);
                    if sent.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                        self.unsent = Some(datagram);
                        break;
                    }
                }
            }
        }
        self.open_streams(now);
    }

    fn open_streams(&mut self, now: Time) {
        self.streams.retain(|stream| self.resolver.is_wanted(stream.token));
        self.queued.retain(|(token, _)| self.resolver.is_wanted(*token));
        while self.streams.len() < MOST_STREAMS
            && let Some((token, message)) = self.queued.pop_front()
        {
            match Stream::open(self.server, token, &message) {
                Ok(stream) => self.streams.push(stream),
                Err(_) => self.resolver.handle_stream(token, None, now),
            }
        }
    }

    fn wait(&mut self, most: Duration) -> io::Result<()> {
        let until_timeout = self.resolver.poll_timeout().map_or(Duration::MAX, |at| {
            Duration::from_nanos(at.checked_since(self.now()).map_or(0, |left| left.as_nanos()))
        });
        // Rounded up: to wake up a little before the time would be to wake up twice.
        let wait = most.min(until_timeout).as_nanos().div_ceil(1_000_000).min(POLL_LIMIT_MS);
        let events = if self.unsent.is_some() { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let mut waiting = vec![PollFd::new(self.socket.as_fd(), events)];
        waiting.extend(self.streams.iter().map(|stream| PollFd::new(stream.fd(), stream.waits_for())));
        match poll(&mut waiting, PollTimeout::try_from(wait as u32).unwrap_or(PollTimeout::ZERO)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn receive(&mut self, now: Time) {
        let mut buffer = [0; 65_535];
        for _ in 0..MOST_AT_ONCE {
            match self.socket.recv(&mut buffer) {
                Ok(length) => self.resolver.handle_datagram(&buffer[..length], now),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Of an ICMP message, which anybody can send; the next call gives the next datagram.
                Err(_) => {}
            }
        }
    }

    fn advance_streams(&mut self, now: Time) {
        for mut stream in std::mem::take(&mut self.streams) {
            let token = stream.token;
            match stream.advance() {
                Ok(Some(message)) => self.resolver.handle_stream(token, Some(message), now),
                Ok(None) => self.streams.push(stream),
                Err(_) => self.resolver.handle_stream(token, None, now),
            }
        }
    }
}
