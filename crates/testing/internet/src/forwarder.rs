//! The thread that reads what clients send, and sends what they get.

mod core;

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, ppoll},
    sys::time::TimeSpec,
    time::{ClockId, clock_gettime},
};

pub(crate) use self::core::Core;
use crate::{clock, nat::Nat, truth::Truth, tun::Tun};

/// Events or packets of one kind that are dealt with before those of the others have their turn.
const AT_ONCE: usize = 64;
/// The longest IP packet.
const MOST_PACKET_BYTES: usize = 1 << 16;
/// How much later than asked the kernel may wake this thread to save power, in nanoseconds.
const TIMER_SLACK_NS: u64 = 1;

/// All that the thread has.
pub(crate) struct Forwarder {
    pub(crate) tun: Tun,
    pub(crate) nat: Nat,
    pub(crate) core: Core,
    /// Readable when the thread is to end.
    pub(crate) stop: OwnedFd,
    /// Nanoseconds before an event from which on it does not sleep.
    pub(crate) spin: u64,
    /// Whether it comes before ordinary threads, if it may.
    pub(crate) is_real_time: bool,
    /// CPU time in which it waited without sleeping, in nanoseconds.
    pub(crate) spun: u64,
}

/// What can be read.
struct Ready {
    stop: bool,
    tun: bool,
    sockets: bool,
}

impl Forwarder {
    /// Works until it is stopped.
    pub(crate) fn run(mut self) -> io::Result<Truth> {
        // It only makes waking up exacter.
        let _ = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS as _);
        let is_real_time = self.is_real_time && come_first();
        let mut buffer = vec![0; MOST_PACKET_BYTES];
        loop {
            let ready = self.wait()?;
            if ready.stop {
                break;
            }
            self.happen();
            if ready.tun {
                self.read_clients(&mut buffer)?;
            }
            if ready.sockets {
                for socket in self.nat.ready()? {
                    // What it does not get at once, it gets in the next turn.
                    self.nat.receive(socket, |datagram| self.core.on_server_datagram(datagram))?;
                }
            }
        }
        let spun_ns = self.spun;
        self.core.finish(|counters| {
            counters.cpu_ns = cpu_time().saturating_sub(spun_ns);
            counters.spun_ns = spun_ns;
            counters.is_real_time = is_real_time;
        })
    }

    /// Sends what is due.
    fn happen(&mut self) {
        let now = clock::monotonic();
        for _ in 0..AT_ONCE {
            if !self.core.handle_next(now, &self.tun, &self.nat) {
                break;
            }
        }
    }

    fn read_clients(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            match self.tun.receive(buffer)? {
                Some(bytes) => self.core.on_client_packet(clock::monotonic(), &buffer[..bytes]),
                None => break,
            }
        }
        Ok(())
    }

    /// Sleeps until something can be read or is due soon, and then does not sleep until it is.
    fn wait(&mut self) -> io::Result<Ready> {
        let ready = self.poll(self.core.next_due().map(|due| due.saturating_sub(self.spin)))?;
        let Some(due) = self.core.next_due() else { return Ok(ready) };
        if ready.is_any() || clock::monotonic() >= due {
            return Ok(ready);
        }
        let began = cpu_time();
        let ready = loop {
            let ready = self.poll(Some(0))?;
            if ready.is_any() || clock::monotonic() >= due {
                break ready;
            }
        };
        self.spun += cpu_time().saturating_sub(began);
        Ok(ready)
    }

    /// What can be read, or nothing when the time has come.
    fn poll(&self, until: Option<u64>) -> io::Result<Ready> {
        let handles = [self.stop.as_fd(), self.tun.as_fd(), self.nat.handle()];
        let mut handles = handles.map(|handle| PollFd::new(handle, PollFlags::POLLIN));
        let timeout = until.map(|until| {
            let rest = until.saturating_sub(clock::monotonic());
            TimeSpec::new((rest / 1_000_000_000) as _, (rest % 1_000_000_000) as _)
        });
        match ppoll(&mut handles, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [stop, tun, sockets] = handles.map(|handle| handle.any().unwrap_or(true));
        Ok(Ready { stop, tun, sockets })
    }
}

impl Ready {
    fn is_any(&self) -> bool {
        self.stop || self.tun || self.sockets
    }
}

/// CPU time of the calling thread, in nanoseconds.
fn cpu_time() -> u64 {
    // Every Linux has this clock.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Makes the calling thread come before ordinary ones. Answers whether it does.
fn come_first() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads one struct, which is alive, and 0 is the calling thread.
    let result =
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) };
    result == 0
}
