//! A leaky bucket that spaces packets: the generic cell rate algorithm (ITU-T I.371), in virtual scheduling.

use quiclab_units::{Duration, Time};

/// Says when the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// Packets that may leave at once after a pause; at least 1.
    burst: u32,
    /// When the next packet would leave if all were spaced evenly.
    even: Time,
    /// How much earlier than `even` it may leave.
    tolerance: Duration,
}

impl Pacer {
    /// Makes a pacer with this burst; 0 is as good as 1.
    pub fn new(burst: u32) -> Self {
        Self { burst: burst.max(1), even: Time::from_nanos(0), tolerance: Duration::ZERO }
    }

    /// When the next packet may leave.
    pub fn next_time(&self) -> Time {
        Time::from_nanos(self.even.as_nanos().saturating_sub(self.tolerance.as_nanos()))
    }

    /// A packet has left, and takes so long.
    pub fn on_sent(&mut self, now: Time, interval: Duration) {
        self.even = Time::from_nanos(self.even.max(now).as_nanos().saturating_add(interval.as_nanos()));
        self.tolerance = Duration::from_nanos(interval.as_nanos().saturating_mul(u64::from(self.burst - 1)));
    }

    /// The next packet may leave at once.
    pub fn reset(&mut self, now: Time) {
        self.even = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_after_a_pause_and_even_spacing_behind() {
        for (burst, expected) in [(1, [100, 110, 120, 130, 140]), (3, [100, 100, 100, 110, 120])] {
            let mut pacer = Pacer::new(burst);
            pacer.on_sent(Time::from_nanos(0), Duration::from_nanos(10));
            let mut now = Time::from_nanos(100);
            let mut times = Vec::new();
            for _ in 0..5 {
                now = now.max(pacer.next_time());
                times.push(now.as_nanos());
                pacer.on_sent(now, Duration::from_nanos(10));
            }
            assert_eq!(times, expected);
        }
    }
}
