//! How busy a link is, and how long packets wait for it, from the exact times at which they come and leave.

use quiclab_units::{Duration, Time};

/// Sums since the beginning. The difference of two, divided by the time between them, is an exact mean over that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Packets in the queue and on the link, the one being sent included, times nanoseconds.
    pub packet_nanos: u128,
    /// Time in which the link was sending.
    pub busy: Duration,
    /// Packets that it has begun to send.
    pub started: u64,
    /// Nanoseconds that these waited in the queue, in total.
    pub waited_nanos: u128,
}

/// Keeps the sums of one link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    usage: Usage,
    /// Up to when the sums were counted.
    counted: Time,
    /// Packets in the queue and on the link since then.
    packets: u64,
    /// Whether the link has been sending since then.
    is_sending: bool,
}

impl Meter {
    /// The sums up to `now`, if nothing has happened since the last call.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        let mut later = *self;
        later.advance(now);
        later.usage
    }

    /// Something is about to happen.
    pub(crate) fn advance(&mut self, now: Time) {
        let nanoseconds = now.as_nanos().saturating_sub(self.counted.as_nanos());
        self.usage.packet_nanos += u128::from(self.packets) * u128::from(nanoseconds);
        if self.is_sending {
            self.usage.busy = self.usage.busy + Duration::from_nanos(nanoseconds);
        }
        self.counted = now;
    }

    /// A packet came, whether the queue keeps it or not.
    pub(crate) fn on_arrived(&mut self) {
        self.packets += 1;
    }

    /// Takes note that so many packets of those in the queue were dropped, the one that came last included.
    pub(crate) fn on_dropped(&mut self, packets: usize) {
        self.packets -= packets as u64;
    }

    /// The link begins to send a packet that came at `entered`.
    pub(crate) fn on_started(&mut self, now: Time, entered: Time) {
        self.is_sending = true;
        self.usage.started += 1;
        self.usage.waited_nanos += u128::from(now.as_nanos().saturating_sub(entered.as_nanos()));
    }

    /// The packet that was being sent has left.
    pub(crate) fn on_left(&mut self) {
        self.is_sending = false;
        self.packets -= 1;
    }
}
