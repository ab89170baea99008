//! One UDP socket: datagrams in, batches out, each batch one system call and one planned send time.

use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, UdpSocket},
    os::fd::{AsFd, AsRawFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        signal::SigSet,
        socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt},
        time::TimeSpec,
    },
};
use quiclab_contract::{Clock, Gso, GsoRate, Pacing, TestCase};

use crate::{
    batch::Batch,
    control::{Orders, Rate, send},
    gro::{self, Received},
    plan::Plan,
    planned::PlannedTimes,
    settings::{Settings, planned},
    spread::{Spread, pacing_rate},
};

/// Batches between two looks at the socket in tests of speed without segmentation offload. More are hardly faster, and overrun receivers.
const BATCHES_OF_ONE: usize = 16;

/// What a call of [`Socket::send_from`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The connection has nothing to send now.
    Nothing,
    /// A batch left, or several; there may be more.
    Batch,
    /// The socket is full; the batch waits until the socket is writable.
    Blocked,
}

/// A UDP socket with the batch that waits to leave through it.
pub struct Socket {
    inner: UdpSocket,
    local: SocketAddr,
    /// Whether several datagrams can come with one system call.
    receives_together: bool,
    /// Most batches between two looks at the socket.
    most_batches: usize,
    /// Most packets in one system call.
    most_segments: usize,
    /// How the kernel is told the rate of a batch; `None`: it is not.
    gso_rate: Option<GsoRate>,
    /// `None` where no send times are handed over.
    plan: Option<Plan>,
    /// `None` where quiche's own times are taken as they are.
    spread: Option<Spread>,
    batch: Batch,
    /// At which rate the packets of the batch follow each other.
    rate: Option<f64>,
    /// `None` where the planned send times are not written down.
    planned: Option<PlannedTimes>,
}

impl Socket {
    /// Binds to the address of the role, with batches and send times as the settings ask.
    ///
    /// # Errors
    /// Where the address is taken, or the kernel has no SO_TXTIME.
    pub fn bind(settings: &Settings) -> Result<Self> {
        let local = settings.local();
        let inner = bound(local).with_context(|| format!("binding to UDP {local}"))?;
        inner.set_nonblocking(true)?;
        // As a program that is made for speed does. Elsewhere each packet keeps its own time, of arrival as of departure.
        let is_for_speed = settings.test_case == TestCase::Perf;
        let receives_together = is_for_speed && settings.gso.is_on();
        if receives_together {
            gro::turn_on(&inner).context("setsockopt UDP_GRO")?;
        }
        let spreads = settings.gso == Gso::Paced || settings.gso_segments.is_some();
        let plan = match settings.pacing {
            Pacing::Off | Pacing::User => None,
            Pacing::TxTime => {
                let option = txtime_option(settings);
                setsockopt(&inner, sockopt::TxTime, &option).context("setsockopt SO_TXTIME")?;
                Some(Plan::new(settings.txtime_clock, spreads)?)
            }
        };
        let local = inner.local_addr()?;
        let planned = planned(settings).as_deref().map(PlannedTimes::create).transpose()?;
        Ok(Self {
            inner,
            local,
            receives_together,
            most_batches: if is_for_speed && !settings.gso.is_on() { BATCHES_OF_ONE } else { 1 },
            most_segments: if settings.gso.is_on() { settings.gso_segments.unwrap_or(usize::MAX) } else { 1 },
            gso_rate: settings.gso_rate,
            plan,
            spread: spreads.then(Spread::default),
            batch: Batch::new(),
            rate: None,
            planned,
        })
    }

    /// Sets the only peer: datagrams of others are not seen, and the local address is known.
    ///
    /// # Errors
    /// Where there is no route.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<()> {
        self.inner.connect(peer).with_context(|| format!("connecting to UDP {peer}"))?;
        self.local = self.inner.local_addr()?;
        Ok(())
    }

    /// The address packets are sent from; unspecified for a socket that is bound to every address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Sleeps until a datagram can be read, a waiting batch can leave, or `timeout` is over. `None`: no time limit.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        let mut events = PollFlags::POLLIN;
        if self.batch.length > 0 {
            events |= PollFlags::POLLOUT;
        }
        match ppoll(
            &mut [PollFd::new(self.inner.as_fd(), events)],
            timeout.map(TimeSpec::from_duration),
            Some(SigSet::empty()),
        ) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("ppoll"),
        }
    }

    /// Reads one datagram into `buffer`, or several of one peer. `None`: there is none now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<Received>> {
        loop {
            let received = if self.receives_together {
                gro::receive(&self.inner, buffer).map_err(io::Error::from)
            } else {
                let one = self.inner.recv_from(buffer);
                one.map(|(length, from)| Received { length, segment: length.max(1), from })
            };
            match received {
                Ok(received) => return Ok(Some(received)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                // An ICMP message about an earlier packet: QUIC retransmits or times out (RFC 9000, 14.2.1).
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error).context("receiving from UDP"),
            }
        }
    }

    /// Sends as many batches of `quic` as may leave between two looks at the socket: one, but for tests of speed. Do not
    /// hand in another connection after [`Sent::Blocked`] and before [`Socket::flush`] has said true.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn send_from(&mut self, quic: &mut quiche::Connection) -> Result<Sent> {
        for _ in 1..self.most_batches {
            match self.send_batch(quic)? {
                Sent::Batch => {}
                other => return Ok(other),
            }
        }
        self.send_batch(quic)
    }

    /// One batch: with segmentation offload up to the send quantum in one call, otherwise one packet.
    fn send_batch(&mut self, quic: &mut quiche::Connection) -> Result<Sent> {
        if !self.flush()? {
            return Ok(Sent::Blocked);
        }
        self.rate = self.spread.as_ref().and_then(|_| pacing_rate(quic));
        let Self { plan, planned, spread, rate, .. } = self;
        if let Some(plan) = plan {
            plan.begin();
        }
        self.batch.fill(quic, self.most_segments, |payload, at| {
            let Some(plan) = plan else { return };
            let at = spread.as_mut().map_or(at, |spread| spread.time(at, payload.len(), *rate));
            // What is not written down needs no checksum.
            plan.push(planned.as_ref().map_or(0, |_| crc32c::crc32c(payload)), at);
        });
        if let (Some(plan), Some(rate), Some(_)) = (plan, *rate, self.gso_rate) {
            plan.pace(self.batch.segment, rate);
        }
        match (self.batch.length, self.flush()?) {
            (0, _) => Ok(Sent::Nothing),
            (_, true) => Ok(Sent::Batch),
            (_, false) => Ok(Sent::Blocked),
        }
    }

    /// Sends `datagram` to `peer` at once; where the socket is full it is lost, as on the wire.
    pub fn send_stateless(&mut self, datagram: &[u8], peer: SocketAddr) {
        let txtime = self.plan.as_mut().and_then(|plan| plan.at_once(Instant::now()));
        let _ = send(&self.inner, datagram, &SockaddrStorage::from(peer), &Orders { txtime, ..Orders::default() });
    }

    /// Writes down the planned send times so far, where that was asked for.
    ///
    /// # Errors
    /// What the file system answers.
    pub fn write_planned_times(&mut self) -> Result<()> {
        self.planned.as_mut().map_or(Ok(()), PlannedTimes::write)
    }

    /// Sends the waiting batch. True: none waits any more.
    ///
    /// # Errors
    /// Where the kernel refuses for another reason than a full socket.
    pub fn flush(&mut self) -> Result<bool> {
        let Batch { buffer, length, segment, info } = &self.batch;
        let Some(info) = info else {
            return Ok(true);
        };
        let is_cut = length > segment;
        let rate = self.rate.filter(|_| is_cut);
        let orders = Orders {
            segment: if is_cut { Some(u16::try_from(*segment).context("segment size")?) } else { None },
            txtime: self.plan.as_mut().and_then(|plan| plan.time(Instant::now())),
            rate: rate.zip(self.gso_rate).map(|(rate, way)| match way {
                GsoRate::Mark => Rate::Mark(rate.clamp(1.0, f64::from(u32::MAX)) as u32),
                GsoRate::Message => Rate::Message(rate.max(1.0) as u64),
            }),
        };
        match send(&self.inner, &buffer[..*length], &SockaddrStorage::from(info.to), &orders) {
            Ok(()) => {}
            Err(Errno::EAGAIN) => return Ok(false),
            Err(error) if is_transient(&error.into()) => {}
            Err(Errno::EIO) if is_cut => {
                return Err(Errno::EIO)
                    .context("sending with UDP_SEGMENT; hint: the interface must have its checksum offload turned on");
            }
            Err(Errno::EINVAL) if is_cut => {
                return Err(Errno::EINVAL).with_context(|| {
                    format!("sending with UDP_SEGMENT; hint: segments of {segment} bytes must fit the interface's MTU")
                });
            }
            Err(Errno::EPERM) if orders.rate.is_some() => {
                return Err(Errno::EPERM)
                    .context("sending with SO_MARK, which is the rate; hint: it needs CAP_NET_RAW");
            }
            Err(error) => return Err(error).with_context(|| format!("sending {length} bytes to {}", info.to)),
        }
        if let (Some(plan), planned) = (&mut self.plan, &mut self.planned) {
            let packets = plan.finish();
            if let Some(planned) = planned {
                packets.iter().for_each(|(checksum, time)| planned.push(*checksum, *time));
            }
        }
        self.batch.length = 0;
        self.batch.info = None;
        Ok(true)
    }
}

fn txtime_option(settings: &Settings) -> nix::libc::sock_txtime {
    /// `SOF_TXTIME_DEADLINE_MODE` of linux/net_tstamp.h.
    const DEADLINE_MODE: u32 = 1;
    let clockid = match settings.txtime_clock {
        Clock::Monotonic => nix::libc::CLOCK_MONOTONIC,
        Clock::Tai => nix::libc::CLOCK_TAI,
    };
    nix::libc::sock_txtime { clockid, flags: if settings.txtime_deadline { DEADLINE_MODE } else { 0 } }
}

/// A socket at `local`; one of IPv6 takes no IPv4.
fn bound(local: SocketAddr) -> io::Result<UdpSocket> {
    if local.is_ipv4() {
        return UdpSocket::bind(local);
    }
    let inner = socket(AddressFamily::Inet6, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&inner, sockopt::Ipv6V6Only, &true)?;
    bind(inner.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(inner.into())
}

/// True for what an ICMP message leaves on a socket, and for an interrupted call.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::Interrupted
    )
}
