//! The forwarder's cards on Linux: a packet socket at each interface of the wire.

use std::{fmt, os::fd::AsFd};

use anyhow::{Context, Result};
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{eventfd::EventFd, time::TimeSpec},
    time::{ClockId, clock_gettime},
};
use quiclab_agent_protocol::{
    addresses::{TO_CLIENT, TO_SERVER},
    forwarder::RealTime,
};
use quiclab_path::content::Direction;
use quiclab_units::{Duration, Time};

use super::{
    busiest::BusyRate,
    engine::{Arrival, Cards, Clock},
    frame::Frame,
    memory::Spare,
    socket::{MOST_BYTES, MOST_RECEIVED, Socket},
};

/// Frames that one call receives from a card without a ring.
const BATCH: usize = 8;
/// While it watches the clock it looks once in so many turns whether it is to end.
const TURNS: u32 = 64;

/// `CLOCK_REALTIME`, by which the kernel stamps frames, counted from an instant. The agent fails a run in which somebody sets it.
#[derive(Clone, Copy, Debug)]
pub struct StampClock {
    start_ns: u64,
}

impl StampClock {
    /// Counts from now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn start() -> Result<Self> {
        Ok(Self { start_ns: nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME)?) })
    }

    fn time_of(self, stamp: TimeSpec) -> Time {
        Time::from_nanos(nanoseconds(stamp).saturating_sub(self.start_ns))
    }
}

impl Clock for StampClock {
    fn now(&self) -> Time {
        // It fails for clocks that do not exist only.
        clock_gettime(ClockId::CLOCK_REALTIME).map_or(Time::from_nanos(u64::MAX), |time| self.time_of(time))
    }
}

fn nanoseconds(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Open sockets. What comes in waits in them until somebody reads.
pub struct Sockets {
    /// What comes from the server is on its way to the client, and the other way round.
    towards_client: Socket,
    towards_server: Socket,
}

/// It could not keep up with the endpoints.
#[derive(Debug)]
pub struct SocketFull {
    /// Where they came in.
    pub interface: &'static str,
    /// Frames that were lost so.
    pub lost: u32,
    /// The rate that it carried.
    pub carried: String,
}

impl fmt::Display for SocketFull {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, lost, carried } = self;
        write!(
            formatter,
            "{interface}: {lost} frames found the forwarder's socket full: it cannot keep up with the endpoints. In its busiest tenth \
             of a second it carried {carried}\nhint: a lower rate, or path.forwarder = \"kernel\" with stages that the kernel has"
        )
    }
}

impl std::error::Error for SocketFull {}

/// Sockets and what belongs to their reader.
pub struct PacketCards {
    sockets: Sockets,
    clock: StampClock,
    end: EventFd,
    /// How long before a departure it stops sleeping.
    spin: Duration,
    turn: u32,
    buffers: Vec<u8>,
    /// Memory of frames that were sent, for those to come.
    spare: Spare,
    /// Whether frames may wait in the socket at the server's side and at the client's.
    is_ready: [bool; 2],
}

impl Sockets {
    /// Opens them in the calling thread's namespace, which is the wire's. On a real clock they receive by rings.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or where the kernel lacks an option.
    pub fn open(real_time: Option<RealTime>) -> Result<Self> {
        let open = |interface| Socket::open(interface, real_time.map(|real_time| real_time.largest_frame_bytes));
        Ok(Self { towards_client: open(TO_CLIENT)?, towards_server: open(TO_SERVER)? })
    }
}

impl PacketCards {
    /// Reads `sockets` until `end` is written to.
    pub fn new(sockets: Sockets, clock: StampClock, end: EventFd, real_time: Option<RealTime>) -> Self {
        let spin = Duration::from_nanos(real_time.map_or(0, |real_time| real_time.spin_ns));
        let batch = if real_time.is_some() { 0 } else { BATCH };
        Self {
            sockets,
            clock,
            end,
            spin,
            turn: 0,
            buffers: vec![0; batch * MOST_BYTES],
            spare: Spare::default(),
            is_ready: [true; 2],
        }
    }

    /// Closes the sockets side by side and does not wait: with each the kernel waits until all CPUs have let go of the packets in their hands.
    pub fn close(self) {
        let Sockets { towards_client, towards_server } = self.sockets;
        for socket in [towards_client, towards_server] {
            std::thread::spawn(move || drop(socket));
        }
    }

    /// Makes sure that no frame found its socket full. `busiest` is the rate that was carried.
    ///
    /// # Errors
    /// Where some did.
    pub fn check_losses(&self, busiest: Option<BusyRate>) -> Result<()> {
        for socket in [&self.sockets.towards_server, &self.sockets.towards_client] {
            let lost = socket.lost()?;
            let interface = socket.interface;
            let carried = busiest.map_or("nothing".to_owned(), |rate| rate.to_string());
            if lost > 0 {
                return Err(SocketFull { interface, lost, carried }.into());
            }
        }
        Ok(())
    }
}

impl Cards for PacketCards {
    fn receive(&mut self, arrived: &mut Vec<Arrival>) -> Result<()> {
        let Self { sockets, clock, buffers, spare, is_ready, .. } = self;
        let both =
            [(&mut sockets.towards_server, Direction::ToClient), (&mut sockets.towards_client, Direction::ToServer)];
        for ((socket, to), is_ready) in both.into_iter().zip(is_ready) {
            if *is_ready {
                let count = socket
                    .receive(buffers, |stamp, bytes| {
                        let time = stamp.map_or_else(|| clock.now(), |stamp| clock.time_of(stamp));
                        let buffer = spare.take(bytes);
                        arrived.push(Arrival { time, to, frame: Frame::new(buffer)? });
                        Ok(())
                    })
                    .with_context(|| socket.interface)?;
                *is_ready = count == if socket.has_ring() { MOST_RECEIVED } else { BATCH };
            }
        }
        Ok(())
    }

    fn send(&mut self, to: Direction, frames: &[Frame]) -> Result<()> {
        let socket = match to {
            Direction::ToClient => &self.sockets.towards_client,
            Direction::ToServer => &self.sockets.towards_server,
        };
        socket.send(frames)
    }

    fn take_back(&mut self, frame: Frame) {
        // In virtual time few frames are on their way at once, and memory is the guest's.
        if self.sockets.towards_client.has_ring() {
            self.spare.put_back(frame.into_buffer());
        }
    }

    fn wait(&mut self, at_most: Option<Duration>) -> Result<bool> {
        let Self { sockets, end, spin, turn, is_ready, .. } = self;
        // A batch that was full may have left others.
        let at_most = if is_ready.contains(&true) { Some(Duration::ZERO) } else { at_most };
        // Near a departure it returns at once, to be called again.
        let at_most = at_most.map(|time| Duration::from_nanos(time.as_nanos().saturating_sub(spin.as_nanos())));
        *turn = turn.wrapping_add(1);
        if at_most == Some(Duration::ZERO) && sockets.towards_server.has_ring() && !turn.is_multiple_of(TURNS) {
            *is_ready = [true; 2];
            return Ok(false);
        }
        let mut watched = [
            PollFd::new(sockets.towards_server.as_fd(), PollFlags::POLLIN),
            PollFd::new(sockets.towards_client.as_fd(), PollFlags::POLLIN),
            PollFd::new(end.as_fd(), PollFlags::POLLIN),
        ];
        let time = at_most.map(|time| TimeSpec::from_duration(std::time::Duration::from_nanos(time.as_nanos())));
        match ppoll(&mut watched, time, None) {
            Err(nix::errno::Errno::EINTR) => return Ok(false),
            result => result.context("waiting for frames")?,
        };
        let [from_server, from_client, is_to_end] = watched.map(|one| one.any().unwrap_or(true));
        *is_ready = [from_server, from_client];
        Ok(is_to_end)
    }
}
