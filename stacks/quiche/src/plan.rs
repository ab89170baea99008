//! The send times of one batch: what quiche planned, and what its kernel takes.

use std::time::Instant;

use quiclab_contract::Clock;

use crate::clock::KernelClock;

/// By how much the send time of a batch must lie ahead on CLOCK_TAI: what is late when the kernel looks at it is dropped, and between
/// reading the clock and that look another process may have its turn.
const LEAD_NS: u64 = 250_000;

/// The send times of a batch.
pub struct Plan {
    clock: KernelClock,
    /// True: no time lies before that of an earlier packet.
    keeps_order: bool,
    /// True: no time may be over when the kernel looks at it.
    is_strict: bool,
    /// Checksum and time of each packet, in the order of the batch.
    packets: Vec<(u32, u64)>,
    /// Of the last packet that has left.
    latest: u64,
}

impl Plan {
    /// No batch yet. Times that are `spread` within a batch can reach beyond the time that quiche gives to the next one, which the kernel
    /// would then send first: packets in another order than their numbers' are taken for lost ones.
    ///
    /// # Errors
    /// Where the kernel has no such clock.
    pub fn new(clock: Clock, is_spread: bool) -> anyhow::Result<Self> {
        let is_strict = clock == Clock::Tai;
        let keeps_order = is_strict || is_spread;
        Ok(Self { clock: KernelClock::new(clock)?, keeps_order, is_strict, packets: Vec::new(), latest: 0 })
    }

    /// Forgets the packets of the batch before.
    pub fn begin(&mut self) {
        self.packets.clear();
    }

    /// Notes a packet of the batch.
    pub fn push(&mut self, checksum: u32, at: Instant) {
        self.packets.push((checksum, self.clock.nanoseconds_at(at)));
    }

    /// Gives the packets the times at which the kernel will send them: `rate` is in bytes per second, and each but the last is of `segment`
    /// bytes.
    pub fn pace(&mut self, segment: usize, rate: f64) {
        let Some((_, first)) = self.packets.first().copied() else { return };
        for (number, (_, time)) in self.packets.iter_mut().enumerate() {
            *time = first + ((number * segment) as f64 * 1e9 / rate) as u64;
        }
    }

    /// When the first packet is to leave, now that the batch is handed over; puts off all of it where the kernel would drop it. `None`
    /// of an empty batch.
    pub fn time(&mut self, now: Instant) -> Option<u64> {
        let first = self.packets.first()?.1;
        let in_order = if self.keeps_order { self.latest } else { 0 };
        let ahead = if self.is_strict { self.clock.nanoseconds_at(now) + LEAD_NS } else { 0 };
        let delay = in_order.max(ahead).saturating_sub(first);
        for (_, time) in &mut self.packets {
            *time += delay;
        }
        Some(self.packets[0].1)
    }

    /// The send time of a packet of its own that leaves now, of which nothing is noted: the batch may still wait. `None`: the kernel needs
    /// none to send it.
    pub fn at_once(&mut self, now: Instant) -> Option<u64> {
        if !self.is_strict {
            return None;
        }
        self.latest = self.latest.max(self.clock.nanoseconds_at(now) + LEAD_NS);
        Some(self.latest)
    }

    /// The packets of the batch, which has been handed over.
    pub fn finish(&mut self) -> &[(u32, u64)] {
        self.latest = self.packets.last().map_or(self.latest, |(_, time)| self.latest.max(*time));
        &self.packets
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Send times of two packets 1 ms apart, of which the first was planned for the moment in which the batch is handed over.
    fn times(clock: Clock, is_spread: bool) -> Vec<u64> {
        let mut plan = Plan::new(clock, is_spread).unwrap();
        let now = Instant::now();
        let zero = plan.clock.nanoseconds_at(now);
        let mut all = Vec::new();
        for _ in 0..2 {
            plan.begin();
            plan.push(1, now);
            plan.push(2, now + Duration::from_millis(1));
            let first = plan.time(now).unwrap();
            let packets = plan.finish();
            assert_eq!(packets[0], (1, first));
            all.extend(packets.iter().map(|(_, time)| time - zero));
        }
        all
    }

    #[test]
    fn on_the_monotonic_clock_times_are_what_quiche_planned() {
        assert_eq!(times(Clock::Monotonic, false), [0, 1_000_000, 0, 1_000_000]);
    }

    #[test]
    fn a_batch_is_put_off_behind_one_that_was_spread() {
        assert_eq!(times(Clock::Monotonic, true), [0, 1_000_000, 1_000_000, 2_000_000]);
    }

    #[test]
    fn on_the_other_they_lie_ahead_and_never_before_earlier_ones() {
        assert_eq!(times(Clock::Tai, false), [250_000, 1_250_000, 1_250_000, 2_250_000]);
    }

    #[test]
    fn a_paced_batch_has_the_times_that_the_kernel_gives_it() {
        let mut plan = Plan::new(Clock::Monotonic, true).unwrap();
        let now = Instant::now();
        for _ in 0..3 {
            plan.push(0, now);
        }
        plan.pace(1000, 1e6);
        let first = plan.time(now).unwrap();
        let times: Vec<_> = plan.finish().iter().map(|(_, time)| time - first).collect();
        assert_eq!(times, [0, 1_000_000, 2_000_000]);
    }

    #[test]
    fn a_packet_of_its_own_leaves_the_waiting_batch_alone() {
        for (clock, expected) in [(Clock::Monotonic, None), (Clock::Tai, Some(250_000))] {
            let mut plan = Plan::new(clock, false).unwrap();
            let now = Instant::now();
            let zero = plan.clock.nanoseconds_at(now);
            plan.push(7, now + Duration::from_millis(1));
            assert_eq!(plan.at_once(now).map(|time| time - zero), expected);
            assert_eq!(plan.time(now).map(|time| time - zero), Some(1_000_000));
            assert_eq!(plan.finish(), [(7, zero + 1_000_000)]);
        }
    }

    #[test]
    fn an_empty_batch_has_no_time() {
        let mut plan = Plan::new(Clock::Tai, false).unwrap();
        assert_eq!(plan.time(Instant::now()), None);
        assert!(plan.finish().is_empty());
    }
}
