//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path's rate and delay instead of losses.

use quiclab_path::random::Random;
use quiclab_units::{Duration, Time};

use super::{Acked, CongestionControl, windowed::WindowedMaximum};

/// `BBRHighGain`: 2/ln(2), the least that doubles the rate in each round (section 4.1.1.1).
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
/// `BBRGainCycle` (section 4.3.4.1).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// `BtlBwFilterLen`, in rounds (section 4.1.1.3).
const RATE_ROUNDS: u64 = 10;
/// `RTpropFilterLen` (section 4.1.2.1).
const DELAY_MEMORY: Duration = Duration::from_secs(10);
/// `ProbeRTTDuration` (section 4.3.5).
const DELAY_PROBE: Duration = Duration::from_millis(200);
/// `BBRMinPipeCwnd`, in segments (section 4.2.3.2).
const LEAST_WINDOW: f64 = 4.0;
/// `BBRStartupFullBwThreshold` and how many rounds without such growth fill the pipe (section 4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// The state of the draft. Rates are in segments per second, windows in segments.
#[derive(Clone, Debug)]
pub struct Bbr {
    random: Random,
    initial_window: f64,
    window: f64,
    /// `BBR.prior_cwnd`.
    saved_window: f64,
    pacing_rate: Option<f64>,
    pacing_gain: f64,
    window_gain: f64,
    phase: Phase,
    /// `BBR.BtlBwFilter`.
    rates: WindowedMaximum,
    round: u64,
    next_round_delivered: u64,
    is_round_start: bool,
    /// `BBR.RTprop`, and when it was measured.
    least_rtt: Option<(Duration, Time)>,
    is_pipe_filled: bool,
    full_rate: f64,
    full_rounds: u32,
    /// `BBR.packet_conservation`, until this round.
    conserves_until: Option<u64>,
    /// True from the first loss, or the timer, until all that was lost has arrived.
    is_recovering: bool,
    /// `BBR.delivered`.
    delivered: u64,
    /// `BBR.idle_restart` (section 4.3.4.4).
    is_idle_restart: bool,
    /// `packets_in_flight + max(packets_delivered, 1)`, after the last acknowledgment.
    conserved_window: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Startup,
    Drain,
    /// Place in the cycle, and since when.
    ProbeBandwidth(usize, Time),
    /// When it ends, which is known once little enough is in flight, and whether a round has passed since.
    ProbeDelay(Option<Time>, bool),
}

impl Bbr {
    /// Makes a controller with this first window; the random stream chooses where its cycle begins.
    pub fn new(initial_window: f64, random: Random) -> Self {
        Self {
            random,
            initial_window,
            window: initial_window,
            saved_window: 0.0,
            pacing_rate: None,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            phase: Phase::Startup,
            rates: WindowedMaximum::default(),
            round: 0,
            next_round_delivered: 0,
            is_round_start: false,
            least_rtt: None,
            is_pipe_filled: false,
            full_rate: 0.0,
            full_rounds: 0,
            conserves_until: None,
            is_recovering: false,
            delivered: 0,
            is_idle_restart: false,
            conserved_window: initial_window,
        }
    }

    /// `BBR.BtlBw`.
    fn rate(&self) -> f64 {
        self.rates.get()
    }

    /// `BBRInflight(gain)` (section 4.2.3.2).
    fn in_flight_for(&self, gain: f64) -> f64 {
        let Some((least_rtt, _)) = self.least_rtt else { return self.initial_window };
        gain * self.rate() * least_rtt.as_secs_f64() + 3.0 * self.send_quantum()
    }

    /// `BBR.send_quantum` (section 4.2.2), in segments: 1 up to 1.2 Mbit/s, 2 up to 24 Mbit/s, then a millisecond's, at most 64 kB; with segments of 1448 bytes.
    fn send_quantum(&self) -> f64 {
        let per_second = self.pacing_rate.unwrap_or(0.0);
        match per_second * 1448.0 * 8.0 {
            slow if slow < 1.2e6 => 1.0,
            medium if medium < 24e6 => 2.0,
            _ => (per_second / 1000.0).clamp(2.0, 44.0),
        }
    }

    /// `BBRUpdateBtlBw` and `BBRUpdateRound` (section 4.1.1).
    fn update_rate(&mut self, acked: &Acked) {
        self.is_round_start = false;
        let Some(sample) = acked.rate_sample else { return };
        self.delivered = sample.delivered;
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered;
            self.round += 1;
            self.is_round_start = true;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.rate() || !sample.is_limited_by_application)
        {
            self.rates.update(self.round, rate, RATE_ROUNDS);
        }
    }

    /// `BBRCheckFullPipe` (section 4.3.2.2).
    fn check_full_pipe(&mut self, acked: &Acked) {
        let is_limited = acked.rate_sample.is_none_or(|sample| sample.is_limited_by_application);
        if self.is_pipe_filled || !self.is_round_start || is_limited {
            return;
        }
        if self.rate() >= self.full_rate * FULL_GROWTH {
            self.full_rate = self.rate();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_pipe_filled = self.full_rounds >= FULL_ROUNDS;
    }

    /// `BBRCheckCyclePhase` and `BBRCheckDrain` (sections 4.3.3 and 4.3.4).
    fn advance(&mut self, acked: &Acked) {
        if let Phase::ProbeBandwidth(place, since) = self.phase {
            let length = self.least_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
            let is_full_length = acked.now.checked_since(since).unwrap_or_default() > length;
            let before = acked.in_flight_before as f64;
            let is_over = match self.pacing_gain {
                more if more > 1.0 => is_full_length && (acked.lost > 0 || before >= self.in_flight_for(more)),
                less if less < 1.0 => is_full_length || before <= self.in_flight_for(1.0),
                _ => is_full_length,
            };
            if is_over {
                self.enter_cycle((place + 1) % CYCLE.len(), acked.now);
            }
        }
        if self.phase == Phase::Startup && self.is_pipe_filled {
            self.phase = Phase::Drain;
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.window_gain = HIGH_GAIN;
        }
        if self.phase == Phase::Drain && acked.in_flight as f64 <= self.in_flight_for(1.0) {
            self.enter_probe_bandwidth(acked.now);
        }
    }

    /// Any place of the cycle but that with the low gain.
    fn enter_probe_bandwidth(&mut self, now: Time) {
        self.window_gain = 2.0;
        let before = CYCLE.len() - 1 - self.random.up_to(CYCLE.len() as u64 - 2) as usize;
        self.enter_cycle((before + 1) % CYCLE.len(), now);
    }

    fn enter_cycle(&mut self, place: usize, now: Time) {
        self.phase = Phase::ProbeBandwidth(place, now);
        self.pacing_gain = CYCLE[place];
    }

    /// `BBRUpdateRTprop` and `BBRCheckProbeRTT` (sections 4.1.2.3 and 4.3.5).
    fn update_delay(&mut self, acked: &Acked) {
        let is_old =
            self.least_rtt.is_some_and(|(_, since)| acked.now.checked_since(since).unwrap_or_default() > DELAY_MEMORY);
        if let Some(rtt) = acked.newest_rtt()
            && self.least_rtt.is_none_or(|(least, _)| rtt <= least || is_old)
        {
            self.least_rtt = Some((rtt, acked.now));
        }
        if is_old && !matches!(self.phase, Phase::ProbeDelay(..)) && !self.is_idle_restart {
            self.phase = Phase::ProbeDelay(None, false);
            self.pacing_gain = 1.0;
            self.window_gain = 1.0;
            self.save_window();
        }
        match self.phase {
            Phase::ProbeDelay(None, _) if acked.in_flight as f64 <= LEAST_WINDOW => {
                self.phase = Phase::ProbeDelay(Some(acked.now + DELAY_PROBE), false);
                self.next_round_delivered = self.delivered;
            }
            Phase::ProbeDelay(Some(ends), was_round) => {
                let was_round = was_round || self.is_round_start;
                self.phase = Phase::ProbeDelay(Some(ends), was_round);
                if was_round && acked.now > ends {
                    self.least_rtt = self.least_rtt.map(|(least, _)| (least, acked.now));
                    self.window = self.window.max(self.saved_window);
                    self.leave_probe_delay(acked.now);
                }
            }
            _ => {}
        }
        self.is_idle_restart = false;
    }

    fn leave_probe_delay(&mut self, now: Time) {
        if self.is_pipe_filled {
            self.enter_probe_bandwidth(now);
        } else {
            self.phase = Phase::Startup;
            self.pacing_gain = HIGH_GAIN;
            self.window_gain = HIGH_GAIN;
        }
    }

    /// `BBRSaveCwnd` (section 4.2.3.4).
    fn save_window(&mut self) {
        let is_reduced = self.is_recovering || matches!(self.phase, Phase::ProbeDelay(..));
        self.saved_window = if is_reduced { self.saved_window.max(self.window) } else { self.window };
    }

    /// `BBRSetPacingRate` (section 4.2.1).
    fn set_pacing_rate(&mut self, acked: &Acked) {
        let rate = self.pacing_gain * self.rate();
        match (self.pacing_rate, acked.smoothed_rtt) {
            (None, Some(rtt)) => self.pacing_rate = Some(HIGH_GAIN * self.initial_window / rtt.as_secs_f64()),
            (Some(before), _) if rate > 0.0 && (self.is_pipe_filled || rate > before) => self.pacing_rate = Some(rate),
            _ => {}
        }
    }

    /// `BBRSetCwnd` (sections 4.2.3.4 to 4.2.3.6).
    fn set_window(&mut self, acked: &Acked) {
        let target = self.in_flight_for(self.window_gain);
        if acked.lost > 0 {
            self.window = (self.window - acked.lost as f64).max(1.0);
        }
        if self.conserves_until.is_some() {
            self.window = self.window.max((acked.in_flight + acked.newly) as f64);
        } else {
            if self.is_pipe_filled {
                self.window = (self.window + acked.newly as f64).min(target);
            } else if self.window < target || (self.delivered as f64) < self.initial_window {
                self.window += acked.newly as f64;
            }
            self.window = self.window.max(LEAST_WINDOW);
        }
        if matches!(self.phase, Phase::ProbeDelay(..)) {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn boxed_clone(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn threshold(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn on_acknowledged(&mut self, acked: &Acked) {
        self.update_rate(acked);
        self.check_full_pipe(acked);
        self.advance(acked);
        self.update_delay(acked);
        if self.conserves_until.is_some_and(|round| self.round > round) {
            self.conserves_until = None;
        }
        if self.is_recovering && !acked.is_repairing {
            self.is_recovering = false;
            self.conserves_until = None;
            self.window = self.window.max(self.saved_window);
        }
        self.set_pacing_rate(acked);
        self.set_window(acked);
        self.conserved_window = (acked.in_flight + acked.newly.max(1)) as f64;
    }

    /// `BBRHandleRestartFromIdle` (section 4.3.4.4).
    fn on_restart_from_idle(&mut self, _now: Time) {
        self.is_idle_restart = true;
        if matches!(self.phase, Phase::ProbeBandwidth(..)) && self.rate() > 0.0 {
            self.pacing_rate = Some(self.rate());
        }
    }

    fn is_probing_delay(&self) -> bool {
        matches!(self.phase, Phase::ProbeDelay(..))
    }

    /// Losses in a recovery are not the beginning of another one (section 4.2.3.4): packets are conserved in its first round only, and what
    /// `BBRSaveCwnd` has saved is the window before it. A sender that lost something in every round would never grow again.
    fn on_loss(&mut self, _now: Time, _in_flight: f64) {
        if self.is_recovering {
            return;
        }
        self.save_window();
        self.window = self.conserved_window;
        // The round begins now, as in Linux (`bbr_set_cwnd_to_recover_or_restore`).
        self.next_round_delivered = self.delivered;
        self.conserves_until = Some(self.round);
        self.is_recovering = true;
    }

    fn on_timeout(&mut self, _now: Time, _in_flight: f64) {
        self.save_window();
        self.window = 1.0;
        // It grows back by what arrives, and to where it was once all losses are repaired.
        self.is_recovering = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::delivery::RateSample;

    /// While the first segment is missing, none arrives in order, and a probe of the delay would measure nothing.
    #[test]
    fn a_segment_behind_a_hole_tells_the_delay() {
        let mut bbr = Bbr::new(10.0, Random::new(1, "bbr"));
        let rate_sample = RateSample {
            rate: Some(1000.0),
            prior_delivered: 0,
            delivered: 10,
            is_limited_by_application: false,
            lost: 1,
            in_flight: 10,
            rtt: Some(Duration::from_millis(50)),
        };
        bbr.on_acknowledged(&Acked { newly: 1, rate_sample: Some(rate_sample), ..Acked::default() });
        // 1000 a second for 50 ms, and three quanta of a segment (section 4.2.3.2).
        assert!((bbr.in_flight_for(1.0) - 53.0).abs() < 1e-9, "{}", bbr.in_flight_for(1.0));
    }
}
