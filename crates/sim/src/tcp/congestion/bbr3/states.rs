//! The state machine (draft-ietf-ccwg-bbr-06, section 5.3) and restarts from idle (section 5.4).

use quiclab_units::{Duration, Time};

use super::{AckPhase, Acked, Bbr3, State, Step};

/// How many rounds without a quarter more fill the pipe (section 5.3.1.2).
const FULL_BW_ROUNDS: u32 = 3;
const FULL_BW_GROWTH: f64 = 1.25;
/// `BBRStartupFullLossCnt` (section 5.3.1.3).
const STARTUP_FULL_LOSS_COUNT: u32 = 6;
/// Rounds after which Drain ends, whatever is in flight (section 5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// `T_reno_bound` (section 5.3.3.8).
const RENO_ROUNDS: f64 = 63.0;
/// `BBR.MinRTTFilterLen` (section 2.16.1).
const MIN_RTT_MEMORY: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTInterval` (section 2.16.2).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// `BBR.ProbeRTTDuration` (section 2.16.2).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

fn elapsed(now: Time, since: Time) -> Duration {
    now.checked_since(since).unwrap_or_default()
}

impl Bbr3 {
    /// `ResetFullBW` (section 5.3.1.2).
    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.is_full_bw_now = false;
    }

    /// `CheckFullBWReached` (section 5.3.1.2).
    pub(super) fn check_full_bw_reached(&mut self, step: &Step) {
        if self.is_full_bw_now || !self.is_round_start || step.sample.is_limited_by_application {
            return;
        }
        if step.delivery_rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw = step.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.is_full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.is_full_bw_reached |= self.is_full_bw_now;
    }

    /// `CheckStartupDone` (section 5.3.1.1).
    pub(super) fn check_startup_done(&mut self, step: &Step) {
        self.check_startup_high_loss(step);
        if self.state == State::Startup && self.is_full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckStartupHighLoss` (section 5.3.1.3).
    fn check_startup_high_loss(&mut self, step: &Step) {
        if !self.is_loss_round_start {
            return;
        }
        let is_long_recovery = self.recovery_round.is_some_and(|round| self.round_count > round);
        let is_high = Self::is_inflight_too_high(step.sample.lost as f64, step.sample.in_flight as f64);
        let is_broad = self.lost_runs >= STARTUP_FULL_LOSS_COUNT;
        self.lost_runs = 0;
        if self.state == State::Startup && is_long_recovery && is_high && is_broad {
            self.is_full_bw_reached = true;
            self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).max(self.inflight_latest);
        }
    }

    /// `CheckDrainDone` (section 5.3.2).
    pub(super) fn check_drain_done(&mut self, step: &Step) {
        let is_long = self.round_count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (is_long || step.in_flight <= self.inflight(self.bw, 1.0)) {
            self.start_probe_bw_down(step.acked.now);
        }
    }

    /// `StartProbeBW_DOWN` and `PickProbeWait` (sections 5.3.3.8 and 5.3.3.9).
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.rounds_since_probe_up = self.random.up_to(1);
        self.bw_probe_wait = Duration::from_nanos(2_000_000_000 + (1e9 * self.random.unit()) as u64);
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    /// `StartProbeBW_REFILL` (section 5.3.3.9).
    fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0.0;
        self.is_prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    /// `StartProbeBW_UP` (section 5.3.3.9).
    fn start_probe_bw_up(&mut self, step: &Step) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = step.delivery_rate;
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase` (section 5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, step: &Step) {
        if !self.is_full_bw_reached || self.adapt_long_term_model(step) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown if self.is_time_to_probe_bw(step.acked.now) => self.start_probe_bw_refill(),
            State::ProbeBwDown if self.is_time_to_cruise(step) => self.state = State::ProbeBwCruise,
            State::ProbeBwCruise if self.is_time_to_probe_bw(step.acked.now) => self.start_probe_bw_refill(),
            State::ProbeBwRefill if self.is_round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(step);
            }
            State::ProbeBwUp if self.is_time_to_go_down(step) => {
                self.is_prev_probe_too_high = false;
                self.start_probe_bw_down(step.acked.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW` and `IsRenoCoexistenceProbeTime` (section 5.3.3.8).
    fn is_time_to_probe_bw(&self, now: Time) -> bool {
        let reno_rounds = self.target_inflight().min(RENO_ROUNDS);
        elapsed(now, self.cycle_stamp) > self.bw_probe_wait || self.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// `IsTimeToCruise` (section 5.3.3.9).
    fn is_time_to_cruise(&self, step: &Step) -> bool {
        step.in_flight <= self.inflight_with_headroom() && step.in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// `IsTimeToGoDown` (section 5.3.3.9).
    fn is_time_to_go_down(&mut self, step: &Step) -> bool {
        if self.is_prev_probe_too_high && step.in_flight >= self.inflight_longterm {
            self.is_prev_probe_precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.window >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = step.delivery_rate;
            return false;
        }
        self.is_full_bw_now
    }

    /// `RaiseInflightLongtermSlope` (section 5.3.3.9).
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = f64::from(1_u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.window / growth).max(1.0);
    }

    /// `ProbeInflightLongtermUpward` (section 5.3.3.9).
    fn probe_inflight_longterm_upward(&mut self, step: &Step) {
        if !self.is_window_limited() || self.window < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += step.acked.newly as f64;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.is_round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `AdaptLongTermModel` (section 5.3.3.9): true where it has chosen the next state.
    fn adapt_long_term_model(&mut self, step: &Step) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.is_round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.is_round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !step.sample.is_limited_by_application {
                self.advance_max_bw_filter();
            }
            if self.state.is_probe_bw() && self.is_prev_probe_precautionary && !self.is_prev_probe_too_high {
                self.start_probe_bw_refill();
                return true;
            }
        }
        let tx_in_flight = step.sample.in_flight as f64;
        if Self::is_inflight_too_high(step.sample.lost as f64, tx_in_flight) || self.inflight_longterm == f64::INFINITY
        {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(tx_in_flight);
        if self.state == State::ProbeBwUp {
            self.probe_inflight_longterm_upward(step);
        }
        false
    }

    /// `UpdateMinRTT` (section 5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, acked: &Acked) {
        let now = acked.now;
        self.is_probe_rtt_expired =
            self.probe_rtt_min.is_some_and(|(_, since)| elapsed(now, since) > PROBE_RTT_INTERVAL);
        if let Some(rtt) = acked.newest_rtt()
            && self.probe_rtt_min.is_none_or(|(least, _)| rtt < least || self.is_probe_rtt_expired)
        {
            self.probe_rtt_min = Some((rtt, now));
        }
        let Some((probed, stamp)) = self.probe_rtt_min else { return };
        if self.min_rtt.is_none_or(|(least, since)| probed < least || elapsed(now, since) > MIN_RTT_MEMORY) {
            self.min_rtt = Some((probed, stamp));
        }
    }

    /// `CheckProbeRTT` (section 5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, step: &Step) {
        if self.state != State::ProbeRtt && self.is_probe_rtt_expired && !self.is_idle_restart {
            self.state = State::ProbeRtt;
            self.save_window();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(step);
        }
        if step.sample.sampled() > 0 {
            self.is_idle_restart = false;
        }
    }

    /// `HandleProbeRTT` (section 5.3.4.3). The sender ignores samples by itself ([`super::CongestionControl::is_probing_delay`]).
    fn handle_probe_rtt(&mut self, step: &Step) {
        if self.probe_rtt_done_stamp.is_some() {
            self.is_probe_rtt_round_done |= self.is_round_start;
            if self.is_probe_rtt_round_done {
                self.check_probe_rtt_done(step.acked.now);
            }
        } else if step.in_flight <= self.probe_rtt_window() {
            self.probe_rtt_done_stamp = Some(step.acked.now + PROBE_RTT_DURATION);
            self.is_probe_rtt_round_done = false;
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT` (sections 5.3.4.3 and 5.3.4.4).
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min = self.probe_rtt_min.map(|(least, _)| (least, now));
        self.restore_window();
        self.reset_short_term_model();
        if self.is_full_bw_reached {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `HandleRestartFromIdle` (section 5.4.1).
    pub(super) fn handle_restart_from_idle(&mut self, now: Time) {
        self.is_idle_restart = true;
        self.extra_acked_interval_start = Some(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
