//! When the exchanges of [`super::Load::Periodic`] are due.

use std::time::{Duration, Instant};

/// Due times that are whole periods apart. A late exchange moves none of the later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    start: Instant,
    period: Duration,
}

impl Schedule {
    /// The first exchange is due at `start`.
    pub fn new(start: Instant, period: Duration) -> Self {
        Self { start, period }
    }

    /// When exchange `number` is due; the first one is 0.
    pub fn due(&self, number: usize) -> Instant {
        self.start + self.period * u32::try_from(number).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        let start = Instant::now();
        let schedule = Schedule::new(start, Duration::from_micros(33_333));
        assert_eq!(schedule.due(0), start);
        assert_eq!(schedule.due(1), start + Duration::from_micros(33_333));
        assert_eq!(schedule.due(1999), start + Duration::from_micros(1999 * 33_333));
    }
}
