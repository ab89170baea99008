//! Reno: one segment more in each round-trip time, half of them at a loss (RFC 5681).

use quiclab_units::Time;

use super::{Acked, CongestionControl, LEAST_THRESHOLD, hystart::SlowStart};

/// Slow start and congestion avoidance of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    window: f64,
    threshold: f64,
    slow_start: SlowStart,
}

impl Reno {
    /// Makes a controller with this first window, and slow start up to `threshold` at most.
    pub fn new(window: f64, threshold: f64, slow_start: SlowStart) -> Self {
        Self { window, threshold, slow_start }
    }
}

impl CongestionControl for Reno {
    fn boxed_clone(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn on_acknowledged(&mut self, acked: &Acked) {
        if !acked.may_grow_window() {
            return;
        }
        if !self.slow_start.grow(acked, &mut self.window, &mut self.threshold) {
            // Equation 3, once for each acknowledgment.
            self.window += 1.0 / self.window;
        }
    }

    fn on_loss(&mut self, _now: Time, in_flight: f64) {
        self.threshold = (in_flight / 2.0).max(LEAST_THRESHOLD);
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, now: Time, in_flight: f64) {
        self.threshold = (in_flight / 2.0).max(LEAST_THRESHOLD);
        self.on_repeated_timeout(now);
    }

    fn on_repeated_timeout(&mut self, _now: Time) {
        self.window = 1.0;
        self.slow_start.restart();
    }
}
