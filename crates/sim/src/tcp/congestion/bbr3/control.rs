//! Pacing rate and window (draft-ietf-ccwg-bbr-06, section 5.6).

use super::{Acked, Bbr3, HEADROOM, MIN_PIPE_WINDOW, State};

/// `BBR.StartupPacingGain` (section 2.5): 4 ln 2, the least that doubles the sending rate in each round.
const STARTUP_PACING_GAIN: f64 = 2.772_588_722_239_781;
/// `BBR.PacingMarginPercent` (section 2.5).
const PACING_MARGIN: f64 = 0.01;
/// `BBR.ProbeRTTCwndGain` (section 2.16.2).
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
/// 64 kB in segments of 1448 bytes (section 5.6.3).
const LARGEST_QUANTUM: f64 = 44.0;

impl State {
    /// The table of section 5.6.1.
    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => 0.5,
            Self::ProbeBwDown => 0.9,
            Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeRtt => 1.0,
            Self::ProbeBwUp => 1.25,
        }
    }

    /// The same table.
    fn window_gain(self) -> f64 {
        match self {
            Self::ProbeBwUp => 2.25,
            Self::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            _ => 2.0,
        }
    }

    /// `IsInAProbeBWState` (section 5.3.3.9).
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// `IsProbingBW` (section 5.3.3.9).
    pub(super) fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

impl Bbr3 {
    /// `InitPacingRate` and `SetPacingRate` (section 5.6.2).
    pub(super) fn set_pacing_rate(&mut self, acked: &Acked) {
        match acked.smoothed_rtt {
            Some(rtt) if self.pacing_rate.is_none() => {
                self.pacing_rate = Some(STARTUP_PACING_GAIN * self.initial_window / rtt.as_secs_f64());
            }
            _ => {}
        }
        self.set_pacing_rate_with_gain(self.state.pacing_gain());
    }

    /// `SetPacingRateWithGain` (section 5.6.2).
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - PACING_MARGIN);
        if rate > 0.0 && self.pacing_rate.is_some_and(|before| self.is_full_bw_reached || rate > before) {
            self.pacing_rate = Some(rate);
        }
    }

    /// `SetSendQuantum` (section 5.6.3), in segments.
    fn send_quantum(&self) -> f64 {
        (self.pacing_rate.unwrap_or(0.0) * 1e-3).clamp(2.0, LARGEST_QUANTUM)
    }

    /// `BDPMultiple` (section 5.6.4.2) of this rate.
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_window, |(rtt, _)| gain * bw * rtt.as_secs_f64())
    }

    /// `QuantizationBudget` (section 5.6.4.2), with the budget for offloads of TCP (section 5.5.8.1).
    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.max(3.0 * self.send_quantum()).max(MIN_PIPE_WINDOW);
        if self.state == State::ProbeBwUp { cap + 2.0 } else { cap }
    }

    /// `Inflight` (section 5.6.4.2) of this rate.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// `UpdateMaxInflight` (section 5.6.4.2).
    fn max_inflight(&self) -> f64 {
        let cap = self.bdp_multiple(self.bw, self.state.window_gain());
        self.quantization_budget(cap + self.extra_acked_filter.get())
    }

    /// `TargetInflight` (section 5.3.3.8).
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0).min(self.window)
    }

    /// `InflightWithHeadroom` (section 5.3.3.9).
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_WINDOW)
    }

    /// `ProbeRTTCwnd` (section 5.6.4.5).
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp_multiple(self.bw, PROBE_RTT_WINDOW_GAIN).max(MIN_PIPE_WINDOW)
    }

    /// `SetCwnd` (section 5.6.4.6).
    pub(super) fn set_window(&mut self, acked: &Acked) {
        let newly = acked.newly as f64;
        let max_inflight = self.max_inflight();
        if self.is_full_bw_reached {
            self.window = (self.window + newly).min(max_inflight);
        } else if self.window < max_inflight || (self.delivered as f64) < self.initial_window {
            self.window += newly;
        }
        self.window = self.window.max(MIN_PIPE_WINDOW);
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.bound_window_for_model();
    }

    /// `BoundCwndForModel` (section 5.6.4.7).
    fn bound_window_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeRtt | State::ProbeBwCruise => self.inflight_with_headroom(),
            state if state.is_probe_bw() => self.inflight_longterm,
            _ => f64::INFINITY,
        };
        self.window = self.window.min(cap.min(self.inflight_shortterm).max(MIN_PIPE_WINDOW));
    }
}
