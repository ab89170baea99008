//! What applications send, and when.

use quiclab_path::{packet::Ecn, random::Random};
use quiclab_units::{Duration, Time};

use crate::{
    endpoint::{Endpoint, Outbox},
    segment::Segment,
    tcp::sender::Sender,
};

/// What the application of a flow does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// It sends without end.
    Long,
    /// It sends so many segments on a new connection, waits until all have arrived, thinks for an exponential time, and begins anew.
    Transfers {
        /// Length of each transfer in segments; more than 0.
        segments: u64,
        /// Mean of the time between the end of one and the beginning of the next.
        think: Duration,
        /// Number of transfers after which it stops; `None` never stops.
        count: Option<u32>,
    },
    /// It sends for an exponential time and is silent for another, on the same connection.
    OnOff {
        /// Mean of the time in which it sends.
        on: Duration,
        /// Mean of the time in which it does not.
        off: Duration,
    },
    /// It begins transfers at given times, or when the one before has ended if that is later, each on a new connection.
    Arrivals {
        /// When each begins and how many segments it has, in order.
        transfers: Vec<(Time, u64)>,
    },
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it began.
    pub began: Time,
    /// When its last segment was acknowledged.
    pub ended: Time,
    /// Its length.
    pub segments: u64,
}

/// A sender and the application above it.
#[derive(Debug)]
pub struct Source {
    sender: Sender,
    workload: Workload,
    random: Random,
    /// When the application does something next; `None` while it waits for the transport, or has nothing more to do.
    wakes: Option<Time>,
    /// When the transfer that is going on began, and its length.
    current: Option<(Time, u64)>,
    /// Transfers that have begun.
    begun: usize,
    is_on: bool,
    completions: Vec<Completion>,
}

impl Source {
    /// Begins at `start`, by this workload.
    pub fn new(sender: Sender, workload: Workload, start: Time, random: Random) -> Self {
        let wakes = match &workload {
            Workload::Arrivals { transfers } => transfers.first().map(|(time, _)| start.max(*time)),
            _ => Some(start),
        };
        Self { sender, workload, random, wakes, current: None, begun: 0, is_on: false, completions: Vec::new() }
    }

    /// The transport.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// When the transfer began that is going on; `None` between two.
    pub fn unfinished(&self) -> Option<Time> {
        self.current.map(|(began, _)| began)
    }

    /// The transfers that have ended, in order.
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_nanos((mean.as_nanos() as f64 * self.random.exponential()) as u64)
    }

    fn begin(&mut self, now: Time, segments: u64) {
        if !self.completions.is_empty() {
            self.sender.reconnect();
        }
        self.begun += 1;
        self.current = Some((now, segments));
        self.sender.write(segments);
    }

    /// The application's turn.
    fn wake(&mut self, now: Time) {
        self.wakes = None;
        match self.workload {
            Workload::Long => self.sender.write(u64::MAX),
            Workload::Transfers { segments, .. } => self.begin(now, segments),
            Workload::OnOff { on, off } => {
                self.is_on = !self.is_on;
                if self.is_on {
                    self.sender.write(u64::MAX);
                } else {
                    self.sender.stop();
                }
                let mean = if self.is_on { on } else { off };
                self.wakes = Some(now + self.exponential(mean));
            }
            Workload::Arrivals { ref transfers } => {
                let (_, segments) = transfers[self.begun];
                self.begin(now, segments);
            }
        }
    }

    /// Looks whether a transfer has ended.
    fn settle(&mut self, now: Time) {
        if !self.sender.is_done() {
            return;
        }
        let Some((began, segments)) = self.current.take() else { return };
        self.completions.push(Completion { began, ended: now, segments });
        self.wakes = match &self.workload {
            Workload::Transfers { count: Some(count), .. } if self.begun >= *count as usize => None,
            Workload::Transfers { think, .. } => {
                let think = *think;
                Some(now + self.exponential(think))
            }
            Workload::Arrivals { transfers } => transfers.get(self.begun).map(|(time, _)| now.max(*time)),
            Workload::Long | Workload::OnOff { .. } => None,
        };
    }
}

impl Endpoint for Source {
    type Payload = Segment;

    fn handle_packet(&mut self, now: Time, ecn: Ecn, segment: Segment, outbox: &mut Outbox<Segment>) {
        self.sender.handle_packet(now, ecn, segment, outbox);
        self.settle(now);
    }

    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox<Segment>) {
        if self.wakes.is_some_and(|time| time <= now) {
            self.wake(now);
        }
        self.sender.handle_timeout(now, outbox);
    }

    fn next_timeout(&self) -> Option<Time> {
        [self.wakes, self.sender.next_timeout()].into_iter().flatten().min()
    }
}
