//! `cpu_busy_share`: whether the machine, or one CPU where only the endpoints are counted, had time to spare.

use crate::observation::Observation;
use crate::output::RunMetrics;
use crate::warnings::WarningCode;

/// Above this share the machine, not the stack, may be what is measured.
pub const BUSY_SHARE_LIMIT: f64 = 0.6;

pub(crate) fn measure(observation: &Observation, run: &mut RunMetrics) {
    let Some(share) = observation.cpu_busy_share else {
        return;
    };
    if !(0.0..=1.0).contains(&share) {
        run.warn(
            WarningCode::BusyShareInvalid,
            format!("the busy share is {share}, expected 0 to 1: the idle counters are wrong"),
        );
        return;
    }
    if share > BUSY_SHARE_LIMIT {
        run.warn(
            WarningCode::GuestBusy,
            format!(
                "the CPU was busy for {:.1} % of the transfer, more than {:.0} %: the numbers may show the \
                 machine and not the stack; lower the rate or use a testbed on real hardware",
                share * 100.0,
                BUSY_SHARE_LIMIT * 100.0
            ),
        );
    }
    run.metrics.cpu_busy_share = Some(share);
}
