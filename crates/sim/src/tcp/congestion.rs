//! Congestion control: how many segments may be in flight, and how fast they leave.

pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod hystart;
pub mod reno;
mod windowed;

use quiclab_units::{Duration, Time};

use super::delivery::{LostSegment, RateSample};

/// What an acknowledgment says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// When it came.
    pub now: Time,
    /// Segments that it says have arrived and no other did before.
    pub newly: u64,
    /// Its round-trip time; `None` of a segment that was sent again.
    pub rtt: Option<Duration>,
    /// `SRTT`; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// The first segment that has not been acknowledged in order.
    pub acknowledged: u64,
    /// The first that was never sent.
    pub highest: u64,
    /// Whether losses are being repaired: the window does not grow then.
    pub is_recovering: bool,
    /// Whether what was lost has not all arrived, be it found by the timer or not.
    pub is_repairing: bool,
    /// Segments that it shows to be lost.
    pub lost: u64,
    /// Segments on their way before it came.
    pub in_flight_before: u64,
    /// Segments on their way now.
    pub in_flight: u64,
    /// How fast segments arrive; `None` without selective acknowledgments, and where none has arrived.
    pub rate_sample: Option<RateSample>,
    /// Whether the window kept segments back, without which it must not grow (RFC 7661).
    pub is_limited_by_window: bool,
    /// Whether something new has arrived in order: a duplicate does not make the window grow, whatever it selects (RFC 5681, section 3.1).
    pub is_advancing: bool,
    /// Whether it repeats a mark: the window does not grow by it either (RFC 3168, section 6.1.2).
    pub is_marked: bool,
}

impl Acked {
    /// The round-trip time of the newest segment that has arrived, be it in order or not. With a hole that stays, none arrives in order.
    pub(crate) fn newest_rtt(&self) -> Option<Duration> {
        self.rate_sample.and_then(|sample| sample.rtt).or(self.rtt)
    }

    /// Whether it may make the window of a controller grow that reacts to losses alone.
    pub(crate) fn may_grow_window(&self) -> bool {
        self.is_advancing && self.is_limited_by_window && !self.is_recovering && !self.is_marked
    }
}

/// A congestion controller. Windows are in segments.
pub trait CongestionControl: std::fmt::Debug {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn CongestionControl>;

    /// `cwnd`.
    fn window(&self) -> f64;

    /// `ssthresh`; infinite where there was no loss yet.
    fn threshold(&self) -> f64;

    /// Segments per second at which they leave; `None` leaves that to the sender's settings.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Whether it keeps the window small on purpose, so that the rate at which segments arrive says nothing of the path.
    fn is_probing_delay(&self) -> bool {
        false
    }

    /// A segment is taken for lost. Before [`Self::on_acknowledged`] where an acknowledgment shows it, after [`Self::on_timeout`] where the timer does.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// A segment is about to leave while nothing is in flight, because the application had nothing to send before.
    fn on_restart_from_idle(&mut self, _now: Time) {}

    /// Segments have arrived.
    fn on_acknowledged(&mut self, acked: &Acked);

    /// Segments were lost, or marked by a queue, for the first time in a window; so many were in flight.
    fn on_loss(&mut self, now: Time, in_flight: f64);

    /// The retransmission timer has expired; so many were in flight.
    fn on_timeout(&mut self, now: Time, in_flight: f64);

    /// It has expired for a segment again: the threshold stays (RFC 5681, section 3.1).
    fn on_repeated_timeout(&mut self, now: Time) {
        self.on_timeout(now, self.window());
    }
}

/// RFC 5681, equation 4: no threshold is below two segments.
pub(crate) const LEAST_THRESHOLD: f64 = 2.0;
