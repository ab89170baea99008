//! BBR, version 3 (draft-ietf-ccwg-bbr-06, <https://datatracker.ietf.org/doc/html/draft-ietf-ccwg-bbr-06>): like version 1 a model of the path's rate and
//! delay, and also of how much data the path takes before it loses too much.
//!
//! Names are those of the draft without `BBR.`. Volumes are in segments and rates in segments per second. Files follow the draft's sections: here
//! the state (2), the order of steps (5.2), rounds (5.5.1) and recoveries (5.6.4.4); `states` has the state machine (5.3), `model` the model of the path
//! (5.5), `control` pacing rate and window (5.6).
//!
//! Not implemented: the undoing of recoveries that were spurious (5.5.11), because the simulator's senders do not detect them. The draft specifies no
//! response to ECN (3.7).

mod control;
mod model;
mod states;

use quiclab_path::random::Random;
use quiclab_units::{Duration, Time};

use super::{Acked, CongestionControl, LostSegment, windowed::WindowedMaximum};
use crate::tcp::delivery::RateSample;

/// `BBR.LossThresh` (section 2.8).
const LOSS_THRESHOLD: f64 = 0.02;
/// `BBR.Beta` (section 2.8).
const BETA: f64 = 0.7;
/// `BBR.Headroom` (section 2.8).
const HEADROOM: f64 = 0.15;
/// `BBR.MinPipeCwnd`, in segments (section 2.8).
const MIN_PIPE_WINDOW: f64 = 4.0;

/// The state of the draft (section 2).
#[derive(Clone, Debug)]
pub struct Bbr3 {
    random: Random,
    /// `C.InitialCwnd`.
    initial_window: f64,
    /// `C.cwnd`.
    window: f64,
    prior_window: f64,
    /// `C.pacing_rate`; `None` before there is a round-trip time.
    pacing_rate: Option<f64>,
    /// `C.delivered`.
    delivered: u64,
    /// Whether the window was full at any time in this round, and in the one before: `C.is_cwnd_limited`.
    was_window_full: [bool; 2],

    // 2.7.
    state: State,
    round_count: u64,
    is_round_start: bool,
    next_round_delivered: u64,
    is_idle_restart: bool,
    drain_start_round: u64,

    // 2.9 to 2.12.
    bw: f64,
    bw_shortterm: f64,
    inflight_longterm: f64,
    inflight_shortterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    max_bw_filter: WindowedMaximum,
    cycle_count: u64,
    extra_acked_filter: WindowedMaximum,
    extra_acked_interval_start: Option<Time>,
    extra_acked_delivered: f64,

    // 2.13.
    is_full_bw_reached: bool,
    is_full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    /// Runs of lost segments in this round, and the last segment of the last of them.
    lost_runs: u32,
    last_lost: Option<u64>,

    // 2.14.
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    is_loss_in_round: bool,
    loss_round_delivered: u64,
    is_loss_round_start: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Time,
    is_prev_probe_too_high: bool,
    is_prev_probe_precautionary: bool,

    // 2.16. `None` is infinite.
    min_rtt: Option<(Duration, Time)>,
    probe_rtt_min: Option<(Duration, Time)>,
    is_probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Time>,
    is_probe_rtt_round_done: bool,

    /// The round in which the present recovery began.
    recovery_round: Option<u64>,
}

/// `BBR.state` (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

/// `BBR.ack_phase` (section 2.14): what acknowledgments say of the last probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What one acknowledgment tells (section 2.3).
struct Step<'a> {
    acked: &'a Acked,
    /// `RS`.
    sample: RateSample,
    /// `RS.delivery_rate`, 0 where there is none.
    delivery_rate: f64,
    /// `C.inflight`.
    in_flight: f64,
}

impl Bbr3 {
    /// `OnInit` (section 5.2.1), with this first window. The random stream decides when it probes.
    pub fn new(initial_window: f64, random: Random) -> Self {
        Self {
            random,
            initial_window,
            window: initial_window,
            prior_window: 0.0,
            pacing_rate: None,
            delivered: 0,
            was_window_full: [false; 2],
            state: State::Startup,
            round_count: 0,
            is_round_start: false,
            next_round_delivered: 0,
            is_idle_restart: false,
            drain_start_round: 0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            max_bw_filter: WindowedMaximum::default(),
            cycle_count: 0,
            extra_acked_filter: WindowedMaximum::default(),
            extra_acked_interval_start: None,
            extra_acked_delivered: 0.0,
            is_full_bw_reached: false,
            is_full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            lost_runs: 0,
            last_lost: None,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            is_loss_round_start: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            bw_probe_wait: Duration::ZERO,
            cycle_stamp: Time::from_nanos(0),
            is_prev_probe_too_high: false,
            is_prev_probe_precautionary: false,
            min_rtt: None,
            probe_rtt_min: None,
            is_probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            is_probe_rtt_round_done: false,
            recovery_round: None,
        }
    }

    /// `UpdateOnACK` (section 5.2.3).
    fn update_on_ack(&mut self, step: &Step) {
        self.update_latest_delivery_signals(step);
        self.update_congestion_signals(step);
        self.update_ack_aggregation(step);
        self.check_full_bw_reached(step);
        self.check_startup_done(step);
        self.check_drain_done(step);
        self.update_probe_bw_cycle_phase(step);
        self.update_min_rtt(step.acked);
        self.check_probe_rtt(step);
        self.advance_latest_delivery_signals(step);
        self.bound_bw_for_model();
    }

    /// `UpdateRound` (section 5.5.1).
    fn update_round(&mut self, step: &Step) {
        self.is_round_start = step.sample.prior_delivered >= self.next_round_delivered;
        if self.is_round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.was_window_full = [false, self.was_window_full[0]];
        }
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    fn is_window_limited(&self) -> bool {
        self.was_window_full[0] || self.was_window_full[1]
    }

    /// `SaveCwnd` (section 5.6.4.4).
    fn save_window(&mut self) {
        let is_reduced = self.recovery_round.is_some() || self.state == State::ProbeRtt;
        self.prior_window = if is_reduced { self.prior_window.max(self.window) } else { self.window };
    }

    /// `RestoreCwnd` (section 5.6.4.4).
    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }
}

impl CongestionControl for Bbr3 {
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

    fn is_probing_delay(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn on_acknowledged(&mut self, acked: &Acked) {
        self.was_window_full[0] |= acked.in_flight_before as f64 + 1.0 > self.window;
        if self.recovery_round.is_some() && !acked.is_repairing {
            self.recovery_round = None;
            self.restore_window();
        }
        self.is_round_start = false;
        self.is_loss_round_start = false;
        if let Some(sample) = acked.rate_sample {
            self.delivered = sample.delivered;
            let delivery_rate = sample.rate.unwrap_or(0.0);
            self.update_on_ack(&Step { acked, sample, delivery_rate, in_flight: acked.in_flight as f64 });
        }
        self.set_pacing_rate(acked);
        self.set_window(acked);
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.delivered = lost.delivered;
        self.handle_lost_packet(lost);
    }

    /// `OnEnterFastRecovery` (section 5.6.4.4): the window is bounded by the model alone.
    fn on_loss(&mut self, _now: Time, _in_flight: f64) {
        self.save_window();
        self.recovery_round.get_or_insert(self.round_count);
    }

    /// `OnEnterRTO` (section 5.6.4.4): nothing is taken to be in flight any more.
    fn on_timeout(&mut self, _now: Time, _in_flight: f64) {
        self.save_window();
        self.window = 1.0;
        self.recovery_round.get_or_insert(self.round_count);
    }

    fn on_restart_from_idle(&mut self, now: Time) {
        self.handle_restart_from_idle(now);
    }
}
