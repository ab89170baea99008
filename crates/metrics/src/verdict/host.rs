//! The machine and not the stack.

use super::{Evidence, Outcome, bound, percent};
use crate::busy::BUSY_SHARE_LIMIT;

/// The host had too little time to spare for the numbers to be those of the stack.
pub(super) fn host_busy(evidence: &Evidence) -> Outcome {
    let Some(share) = evidence.run.metrics.cpu_busy_share else { return evidence.lacks("cpu_busy_share") };
    if share <= BUSY_SHARE_LIMIT {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!("The host, not the stack: its CPU was busy for {} of the transfer.", percent(share)),
        evidence: vec![bound("cpu_busy_share", share, BUSY_SHARE_LIMIT)],
        at_ns: None,
    }
}
