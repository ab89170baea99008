//! CUBIC (RFC 9438).

use quiclab_units::Time;

use super::{Acked, CongestionControl, LEAST_THRESHOLD, hystart::SlowStart};

/// `C`, in segments per cubic second (section 5).
const SCALE: f64 = 0.4;
/// `beta_cubic` (section 4.6).
const BETA: f64 = 0.7;

/// The window of RFC 9438, in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: f64,
    threshold: f64,
    slow_start: SlowStart,
    /// `W_max`: the window just before the last reduction, or less by fast convergence.
    most: f64,
    /// `cwnd_prior`: the window just before the last reduction.
    before: f64,
    epoch: Option<Epoch>,
}

/// The time since congestion avoidance began last.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    /// `K`, in seconds.
    plateau: f64,
    /// `W_est`: what Reno would have.
    reno: f64,
}

impl Cubic {
    /// Makes a controller with this first window, and slow start up to `threshold` at most.
    pub fn new(window: f64, threshold: f64, slow_start: SlowStart) -> Self {
        Self { window, threshold, slow_start, most: 0.0, before: 0.0, epoch: None }
    }

    fn reduce(&mut self, window: f64) {
        // RFC 9438, section 4.7: a flow that is still below its last maximum makes room.
        self.before = window;
        self.most = if window < self.most { window * (1.0 + BETA) / 2.0 } else { window };
        self.threshold = (window * BETA).max(LEAST_THRESHOLD);
        self.epoch = None;
    }

    fn avoid_congestion(&mut self, acked: &Acked) {
        let (window, newly) = (self.window, acked.newly as f64);
        let most = &mut self.most;
        let epoch = self.epoch.get_or_insert_with(|| {
            // RFC 9438, section 4.2: without a reduction behind it, the window is its own plateau.
            let plateau = if *most > window { libm::cbrt((*most - window) / SCALE) } else { 0.0 };
            *most = most.max(window);
            Epoch { began: acked.now, plateau, reno: window }
        });
        let cubic = |seconds: f64| {
            let distance = seconds - epoch.plateau;
            SCALE * (distance * distance * distance) + *most
        };
        let since = acked.now.checked_since(epoch.began).unwrap_or_default().as_secs_f64();
        // RFC 9438, section 4.3: as fast as Reno with this reduction until the old window is reached, and then as fast as Reno.
        let alpha = if epoch.reno < self.before { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.reno += alpha * newly / window;
        if cubic(since) < epoch.reno {
            self.window = window.max(epoch.reno);
            return;
        }
        // RFC 9438, sections 4.4 and 4.5.
        let rtt = acked.smoothed_rtt.unwrap_or_default().as_secs_f64();
        let target = cubic(since + rtt).clamp(window, 1.5 * window);
        self.window += (target - window) / window * newly;
    }
}

impl CongestionControl for Cubic {
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
            self.avoid_congestion(acked);
        }
    }

    fn on_loss(&mut self, _now: Time, _in_flight: f64) {
        self.reduce(self.window);
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, now: Time, _in_flight: f64) {
        self.reduce(self.window);
        self.on_repeated_timeout(now);
    }

    fn on_repeated_timeout(&mut self, _now: Time) {
        self.epoch = None;
        self.window = 1.0;
        self.slow_start.restart();
    }
}

#[cfg(test)]
mod tests {
    use quiclab_units::Duration;

    use super::*;

    const RTT_MILLISECONDS: u64 = 100;

    fn acked(milliseconds: u64, newly: u64) -> Acked {
        let rtt = Some(Duration::from_millis(RTT_MILLISECONDS));
        Acked {
            now: Time::from_nanos(milliseconds * 1_000_000),
            newly,
            rtt,
            smoothed_rtt: rtt,
            is_limited_by_window: true,
            is_advancing: true,
            ..Acked::default()
        }
    }

    /// The window after a loss at 1000 segments follows C (t - K)^3 + W_max, whose plateau is reached after K = cbrt(1000 x 0.3 / 0.4) = 9.09 s.
    #[test]
    fn the_window_follows_the_cubic_function() {
        // RFC 9438, section 4.2.
        let mut cubic = Cubic::new(1000.0, 1000.0, SlowStart::standard(1.0));
        cubic.on_loss(Time::from_nanos(0), 1000.0);
        assert_eq!(cubic.window(), 700.0);
        let plateau = (1000.0f64 * 0.3 / 0.4).cbrt();
        for milliseconds in 0..20_000 {
            // The acknowledgments of a window, evenly over a round-trip time.
            let newly = (cubic.window() / RTT_MILLISECONDS as f64).round() as u64;
            cubic.on_acknowledged(&acked(milliseconds, newly));
            let ahead = (milliseconds + RTT_MILLISECONDS) as f64 / 1000.0;
            let (now, soon) = (milliseconds as f64 / 1000.0, ahead);
            let curve = |seconds: f64| 0.4 * (seconds - plateau).powi(3) + 1000.0;
            if milliseconds > 500 {
                // Between where the function is now and where it is a round-trip time later.
                let window = cubic.window();
                assert!(window > curve(now) - 2.0 && window < curve(soon) + 2.0, "{milliseconds} ms: {window}");
            }
        }
    }

    /// CUBIC at small windows and round-trip times is as fast as Reno with its reduction: 3 (1 - b) / (1 + b) segments in a round-trip time.
    #[test]
    fn at_small_windows_it_is_as_fast_as_reno() {
        // RFC 9438, section 4.3.
        let mut cubic = Cubic::new(20.0, 20.0, SlowStart::standard(1.0));
        cubic.on_loss(Time::from_nanos(0), 20.0);
        let mut grown = Vec::new();
        for round in 1..=5u64 {
            let before = cubic.window();
            for step in 0..before as u64 {
                // 2 ms of round-trip time.
                let mut ack = acked(2 * round, 1);
                ack.smoothed_rtt = Some(Duration::from_millis(2));
                ack.now = Time::from_nanos(round * 2_000_000 + step * 1000);
                cubic.on_acknowledged(&ack);
            }
            grown.push(cubic.window() - before);
        }
        let expected = 3.0 * 0.3 / 1.7;
        assert!(grown.iter().all(|grown| (grown - expected).abs() < 0.05), "{grown:?}, expected {expected}");
    }

    #[test]
    fn a_flow_that_loses_below_its_maximum_makes_room() {
        // RFC 9438, section 4.7.
        let mut cubic = Cubic::new(1000.0, 1000.0, SlowStart::standard(1.0));
        cubic.on_loss(Time::from_nanos(0), 1000.0);
        cubic.on_loss(Time::from_nanos(0), 700.0);
        assert_eq!((cubic.window(), cubic.most), (700.0 * 0.7, 700.0 * 0.85));
    }
}
