//! The sockets of a scan, and the loop of one thread around them.

use std::io;
use std::time::Duration;

use crate::answer::Answer;
use crate::clock::{Clock, Moment};
use crate::engine::{Engine, ScanCounters};
use crate::settings::{Request, ScanSettings};
use crate::sockets::{self, BATCH, Report, Room, Sent, Socket};

/// Batches that are read from one socket before the others, and the timers, have their turn.
const BATCHES_IN_A_ROW: usize = 4;
/// Calls in a row that fail by errors of datagrams that were sent before. Then those that wait stay until the next turn.
const MOST_FAILURES: u32 = 32;
/// Number of calls in a row that fail without an ICMP error that explains it, from which on the datagram itself is why. The first one may
/// be explained by an error that was read a moment before.
const UNEXPLAINED: u32 = 2;
/// Waiting is never longer, in nanoseconds.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

/// A socket, and whether it had no room for what is to be sent.
struct Lane {
    socket: Socket,
    is_full: bool,
}

/// Performs handshakes. [`ask`](Self::ask) begins one, [`turn`](Self::turn) goes on with all of them.
pub struct Scanner {
    engine: Engine,
    /// The sockets of IPv4, then those of IPv6 if this host has it.
    lanes: Vec<Lane>,
    lanes_v4: usize,
    next_lane: usize,
    room: Room,
}

impl Scanner {
    /// Opens the sockets.
    ///
    /// # Errors
    /// Settings that cannot be; sockets that cannot be opened. A host without IPv6 is none.
    pub fn new(settings: &ScanSettings) -> io::Result<Self> {
        let count = settings.sockets.max(1);
        let open = |is_v6| (0..count).map(move |_| Socket::open(is_v6)).collect::<io::Result<Vec<_>>>();
        let v4 = open(false)?;
        let v6 = open(true).or_else(|error| match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let lanes_v4 = v4.len();
        let lanes: Vec<Lane> = v4.into_iter().chain(v6).map(|socket| Lane { socket, is_full: false }).collect();
        let engine = Engine::new(settings, lanes.len(), Clock::of_machine())?;
        Ok(Scanner { engine, lanes, lanes_v4, next_lane: 0, room: Room::new() })
    }

    /// Handshakes that were asked for and have no answer yet.
    pub fn in_flight(&self) -> usize {
        self.engine.in_flight()
    }

    /// Whether another one may be asked for.
    pub fn has_room(&self) -> bool {
        self.engine.has_room()
    }

    /// What was counted of all handshakes until now.
    pub fn counters(&self) -> ScanCounters {
        self.engine.counters()
    }

    /// Begins a handshake. One that is not possible has its answer, [`Outcome::NotSent`](crate::Outcome::NotSent), in the next turn.
    pub fn ask(&mut self, request: Request) {
        let range = if request.address.is_ipv6() { self.lanes_v4..self.lanes.len() } else { 0..self.lanes_v4 };
        if range.is_empty() {
            return self.engine.refuse(&request, "this host has no IPv6");
        }
        self.next_lane = self.next_lane.wrapping_add(1);
        let lane = range.start + self.next_lane % range.len();
        self.engine.ask(request, lane, self.lanes[lane].socket.local());
    }

    /// Sends, waits until something happens or `wait` is over, receives, and hands out the answers that there are. Answers as
    /// soon as it had something to do: call it in a loop.
    ///
    /// # Errors
    /// What the kernel answers where it has nothing to do with one of the handshakes.
    pub fn turn(&mut self, wait: Duration, on_answer: &mut dyn FnMut(Answer)) -> io::Result<()> {
        self.flush()?;
        let had_answers = self.engine.hand_out(on_answer);
        let wait_ns = if had_answers { 0 } else { self.wait_ns(wait) };
        let ready = sockets::wait(self.lanes.iter().map(|lane| (&lane.socket, lane.is_full)), wait_ns)?;
        for (lane, ready) in ready.into_iter().enumerate() {
            if ready.has_datagrams {
                self.receive(lane)?;
            }
            if ready.has_reports {
                receive_reports(&mut self.engine, &self.lanes[lane].socket)?;
            }
        }
        self.engine.advance();
        self.flush()?;
        self.engine.hand_out(on_answer);
        Ok(())
    }

    fn wait_ns(&self, wait: Duration) -> u64 {
        let wait_ns = wait.as_nanos().min(LONGEST_WAIT_NS.into()) as u64;
        self.engine.idle_ns().map_or(wait_ns, |idle_ns| idle_ns.min(wait_ns))
    }

    fn receive(&mut self, lane: usize) -> io::Result<()> {
        let Scanner { engine, lanes, room, .. } = self;
        let socket = &lanes[lane].socket;
        for _ in 0..BATCHES_IN_A_ROW {
            let mut now = None;
            let count = socket.receive(room, |received| {
                let now = *now.get_or_insert_with(|| engine.now());
                engine.on_datagram(&received, now);
            })?;
            engine.drive_marked();
            if count < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Sends what there is to send, as far as the sockets have room.
    fn flush(&mut self) -> io::Result<()> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.is_full = !flush(&mut self.engine, index, &mut lane.socket)?;
        }
        // A report may have settled a handshake.
        self.engine.drive_marked();
        Ok(())
    }
}

/// Sends from one queue. False: the socket has no room for the rest, or ICMP errors come faster than datagrams leave.
fn flush(engine: &mut Engine, lane: usize, socket: &mut Socket) -> io::Result<bool> {
    let (mut failures, mut unexplained) = (0, 0);
    while !engine.outgoing(lane).is_empty() {
        let before = engine.now();
        let sent = socket.send(engine.outgoing(lane).iter().map(|outgoing| (outgoing.address, &outgoing.bytes[..])));
        match sent {
            Ok(Sent { count: 0, .. }) => return Ok(false),
            Ok(sent) => {
                on_sent(engine, lane, socket, sent, before)?;
                (failures, unexplained) = (0, 0);
            }
            Err(error) => {
                socket.clear_error()?;
                let icmp_errors = receive_reports(engine, socket)?;
                failures += 1;
                unexplained = if icmp_errors > 0 { 0 } else { unexplained + 1 };
                // Anybody can send ICMP errors: however many come, no other datagram fails by them.
                if sockets::is_of_a_datagram(&error) && unexplained < UNEXPLAINED {
                    if failures == MOST_FAILURES {
                        return Ok(false);
                    }
                    continue;
                }
                let failed = engine.outgoing(lane).pop_front();
                failed.iter().for_each(|outgoing| engine.on_send_failed(outgoing, &error));
                (failures, unexplained) = (0, 0);
            }
        }
    }
    Ok(true)
}

/// Gives each datagram of a batch the time at which the kernel sent it. One that waits in the kernel has its share of the time that
/// the call took.
fn on_sent(engine: &mut Engine, lane: usize, socket: &Socket, sent: Sent, before: Moment) -> io::Result<()> {
    let now = engine.now();
    let mut times = [None; BATCH];
    socket.receive_reports(|report| match report {
        Report::Icmp(error) => engine.on_icmp(&error),
        Report::Left { number, unix_ns } => {
            let time_ns = now.monotonic_of(unix_ns);
            // Otherwise it is an earlier one, from before datagrams were numbered anew.
            let is_of_batch = time_ns >= before.monotonic_ns;
            if let Some(time) = times.get_mut(number.wrapping_sub(sent.first) as usize).filter(|_| is_of_batch) {
                *time = Some(time_ns);
            }
        }
    })?;
    let took_ns = now.monotonic_ns - before.monotonic_ns;
    for (index, time) in times.iter().enumerate().take(sent.count) {
        let Some(outgoing) = engine.outgoing(lane).pop_front() else { break };
        let share_ns = took_ns * (index as u64 + 1) / sent.count as u64;
        let monotonic_ns = time.unwrap_or(before.monotonic_ns + share_ns);
        engine.on_sent(outgoing, Moment { monotonic_ns, unix_ns: before.unix_of(monotonic_ns) });
    }
    Ok(())
}

/// Gives the number of ICMP errors.
fn receive_reports(engine: &mut Engine, socket: &Socket) -> io::Result<u32> {
    let mut icmp_errors = 0;
    socket.receive_reports(|report| match report {
        Report::Icmp(error) => {
            icmp_errors += 1;
            engine.on_icmp(&error);
        }
        // Too late: the datagram has a time already.
        Report::Left { .. } => {}
    })?;
    Ok(icmp_errors)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// The error of an ICMP message is the answer to the next call, whatever that is about.
    #[test]
    fn an_error_that_came_meanwhile_is_not_that_of_the_next_datagram() {
        let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let open = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut engine = Engine::new(&ScanSettings::default(), 1, Clock::of_machine()).expect("an engine");
        let mut socket = Socket::open(false).expect("a socket");
        socket.send([(closed, &b"x"[..])].into_iter()).expect("sent");
        let address = open.local_addr().expect("bound");
        engine.ask(Request { id: 1, address, server_name: None, keeps_packets: false }, 0, socket.local());
        assert!(flush(&mut engine, 0, &mut socket).expect("flushed"));
        assert_eq!((engine.counters().sent_datagrams, engine.counters().icmp_errors), (1, 1));
        assert_eq!(open.recv(&mut [0; 2048]).expect("a datagram"), 1200);
    }

    /// The errors come as where a host that is scanned sends forged errors as fast as it can.
    #[test]
    fn errors_about_others_do_not_fail_a_datagram() {
        const COUNT: usize = 300;
        let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let open = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut engine = Engine::new(&ScanSettings::default(), 1, Clock::of_machine()).expect("an engine");
        let mut socket = Socket::open(false).expect("a socket");
        let same = UdpSocket::from(socket.as_fd().try_clone_to_owned().expect("a descriptor"));
        let stop = AtomicBool::new(false);
        // At least this one comes, also where the other thread has no time.
        same.send_to(b"x", closed).expect("sent");
        std::thread::scope(|scope| {
            // Each of its datagrams is answered by an error for the socket.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    _ = same.send_to(b"x", closed);
                }
            });
            let address = open.local_addr().expect("bound");
            let mut ask_all = || {
                for id in 0..COUNT as u64 {
                    let request = Request { id, address, server_name: None, keeps_packets: false };
                    engine.ask(request, 0, socket.local());
                    flush(&mut engine, 0, &mut socket)?;
                }
                while !flush(&mut engine, 0, &mut socket)? {}
                io::Result::Ok(())
            };
            let asked = ask_all();
            stop.store(true, Ordering::Relaxed);
            asked.expect("all were sent");
        });
        assert_eq!(engine.counters().sent_datagrams, COUNT as u64);
        assert!(engine.counters().icmp_errors > 0, "no errors came");
        engine.drive_marked();
        assert!(!engine.hand_out(&mut |answer| panic!("{answer:?}")));
    }
}
