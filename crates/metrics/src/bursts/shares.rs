//! `burst_share_*`: how many of the bursty packets each cause has.

use std::collections::BTreeMap;

use super::cause::BurstCause;
use crate::metrics::Metrics;
use crate::pacing::PacingMetrics;
use crate::trains::SHORT_TRAIN_PACKETS;

/// Packets of a flow or of one of its phases, and how many of the bursty ones each cause has.
pub(super) struct Shares {
    packets: u64,
    by_cause: BTreeMap<BurstCause, u64>,
}

macro_rules! fill {
    ($shares:expr, $metrics:expr) => {
        if $shares.packets == 0 {
            return;
        }
        let bursty: u64 = $shares.by_cause.values().sum();
        $metrics.burst_share_of_packets = Some(bursty as f64 / $shares.packets as f64);
        if bursty == 0 {
            return;
        }
        let share = |cause| Some($shares.by_cause.get(&cause).copied().unwrap_or(0) as f64 / bursty as f64);
        $metrics.burst_share_start_up = share(BurstCause::StartUp);
        $metrics.burst_share_recovery_end = share(BurstCause::RecoveryEnd);
        $metrics.burst_share_late_timer = share(BurstCause::LateTimer);
        $metrics.burst_share_batch = share(BurstCause::Batch);
        $metrics.burst_share_application_pause = share(BurstCause::ApplicationPause);
        $metrics.burst_share_bucket = share(BurstCause::Bucket);
        $metrics.burst_share_ack = share(BurstCause::Ack);
        $metrics.burst_share_unknown = share(BurstCause::Unknown);
    };
}

impl Shares {
    pub(super) fn of(packets: u64) -> Self {
        Shares { packets, by_cause: BTreeMap::new() }
    }

    /// Packets of long trains.
    pub(super) fn add(&mut self, cause: BurstCause, packets: u64) {
        *self.by_cause.entry(cause).or_insert(0) += packets;
    }

    /// What of a long train lies in the phase: a train of its own there, which may be short.
    pub(super) fn add_part(&mut self, cause: BurstCause, packets: u64) {
        if packets > SHORT_TRAIN_PACKETS {
            self.add(cause, packets);
        }
    }

    pub(super) fn fill_metrics(&self, metrics: &mut Metrics) {
        fill!(self, metrics);
    }

    pub(super) fn fill_phase(&self, metrics: &mut PacingMetrics) {
        fill!(self, metrics);
    }
}
