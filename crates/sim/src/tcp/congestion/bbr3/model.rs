//! The model of the path (draft-ietf-ccwg-bbr-06, section 5.5).

use super::{BETA, Bbr3, LOSS_THRESHOLD, LostSegment, State, Step};

/// `BBR.MaxBwFilterLen` is 2 cycles (section 2.11): the present one and the one before.
const MAX_BW_AGE: u64 = 1;
/// `BBR.ExtraAckedFilterLen`, in rounds (section 2.12).
const EXTRA_ACKED_ROUNDS: u64 = 10;

impl Bbr3 {
    /// `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter.get()
    }

    /// `UpdateMaxBw` (section 5.5.5).
    fn update_max_bw(&mut self, step: &Step) {
        self.update_round(step);
        let is_telling = step.delivery_rate >= self.max_bw() || !step.sample.is_limited_by_application;
        if step.delivery_rate > 0.0 && is_telling {
            self.max_bw_filter.update(self.cycle_count, step.delivery_rate, MAX_BW_AGE);
        }
    }

    /// `AdvanceMaxBwFilter` (section 5.5.6).
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    /// `UpdateACKAggregation` (section 5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, step: &Step) {
        let now = step.acked.now;
        let start = *self.extra_acked_interval_start.get_or_insert(now);
        let mut expected = self.bw * now.checked_since(start).unwrap_or_default().as_secs_f64();
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_interval_start = Some(now);
            expected = 0.0;
        }
        self.extra_acked_delivered += step.acked.newly as f64;
        let extra = (self.extra_acked_delivered - expected).min(self.window);
        let rounds = if self.is_full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        self.extra_acked_filter.update(self.round_count, extra, rounds);
    }

    /// `UpdateLatestDeliverySignals` (section 5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, step: &Step) {
        self.is_loss_round_start = false;
        self.bw_latest = self.bw_latest.max(step.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(step.sample.sampled() as f64);
        if step.sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.is_loss_round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals` (section 5.5.10.3).
    pub(super) fn advance_latest_delivery_signals(&mut self, step: &Step) {
        if self.is_loss_round_start {
            self.bw_latest = step.delivery_rate;
            self.inflight_latest = step.sample.sampled() as f64;
        }
    }

    /// `ResetCongestionSignals` (section 5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    /// `UpdateCongestionSignals` and `AdaptLowerBoundsFromCongestion` (section 5.5.10.3).
    pub(super) fn update_congestion_signals(&mut self, step: &Step) {
        self.update_max_bw(step);
        if !self.is_loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.state.is_probing_bw() {
            self.init_lower_bounds();
            self.loss_lower_bounds();
        }
        self.is_loss_in_round = false;
    }

    /// `InitLowerBounds` (section 5.5.10.3).
    fn init_lower_bounds(&mut self) {
        if self.bw_shortterm == f64::INFINITY {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = self.window;
        }
    }

    /// `LossLowerBounds` (section 5.5.10.3).
    fn loss_lower_bounds(&mut self) {
        self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
    }

    /// `ResetShortTermModel` (section 5.5.10.3).
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `BoundBWForModel` (section 5.5.10.3).
    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// `IsInflightTooHigh` (section 5.5.10.2), of so many losses while so many were in flight.
    pub(super) fn is_inflight_too_high(lost: f64, in_flight: f64) -> bool {
        lost > in_flight * LOSS_THRESHOLD
    }

    /// `HandleLostPacket` and `NoteLoss` (section 5.5.10.2).
    pub(super) fn handle_lost_packet(&mut self, lost: &LostSegment) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.delivered;
            self.save_window();
        }
        self.is_loss_in_round = true;
        if self.last_lost.is_none_or(|last| lost.sequence != last + 1) {
            self.lost_runs += 1;
        }
        self.last_lost = Some(lost.sequence);
        if !self.is_bw_probe_sample {
            return;
        }
        let (since, in_flight) = (lost.lost as f64, lost.in_flight as f64);
        if Self::is_inflight_too_high(since, in_flight) {
            self.handle_inflight_too_high(lost, inflight_at_loss(since, in_flight));
        }
    }

    /// `HandleInflightTooHigh` (section 5.5.10.2).
    fn handle_inflight_too_high(&mut self, lost: &LostSegment, tx_in_flight: f64) {
        self.is_prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !lost.is_limited_by_application {
            self.inflight_longterm = tx_in_flight.max(BETA * self.target_inflight());
        }
        if self.state == State::ProbeBwUp {
            self.start_probe_bw_down(lost.now);
        }
    }
}

/// `InflightAtLoss` (section 5.5.10.2), of a packet of one segment: how much was in flight when losses crossed the threshold.
fn inflight_at_loss(lost: f64, tx_in_flight: f64) -> f64 {
    let (inflight_before, lost_before) = (tx_in_flight - 1.0, lost - 1.0);
    let lost_prefix = (LOSS_THRESHOLD * inflight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
    inflight_before + lost_prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses are just the threshold's share of the volume that `inflight_at_loss` gives.
    #[test]
    fn losses_cross_the_threshold_at_two_percent_of_what_was_in_flight() {
        for (lost, in_flight) in [(3.0, 120.0), (1.0, 40.0), (10.0, 480.0)] {
            let at = inflight_at_loss(lost, in_flight);
            let prefix = at - (in_flight - 1.0);
            assert!((((lost - 1.0) + prefix) / at - LOSS_THRESHOLD).abs() < 1e-12, "{lost} of {in_flight}: {at}");
        }
        assert!(Bbr3::is_inflight_too_high(3.0, 149.0) && !Bbr3::is_inflight_too_high(3.0, 150.0));
    }
}
