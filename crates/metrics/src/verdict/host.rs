//! The machine and not the stack.

use super::evidence::{Evidence, Outcome, bound, number, percent};
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

/// Packets that arrived were lost because an endpoint did not read them in time.
pub(super) fn receive_buffer_drops(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let ends = [
        ("server", "server_receive_buffer_drops", metrics.server_receive_buffer_drops),
        ("client", "client_receive_buffer_drops", metrics.client_receive_buffer_drops),
    ];
    let all: u64 = ends.iter().filter_map(|(_, _, drops)| *drops).sum();
    if all == 0 {
        let unknown = ends.iter().find(|(_, _, drops)| drops.is_none());
        return unknown.map_or(Outcome::No, |(_, name, _)| evidence.lacks(name));
    }
    let known: Vec<_> = ends.iter().filter_map(|(end, _, drops)| Some(format!("{} at the {end}", (*drops)?))).collect();
    let mut numbers = vec![bound("receive_buffer_drops", all as f64, 1.0)];
    numbers.extend(ends.iter().filter_map(|(_, name, drops)| Some(number(name, (*drops)? as f64))));
    Outcome::Found {
        text: format!(
            "The host, not the path, lost datagrams because the receive buffer of a socket was full: {}. A larger buffer, \
             or an endpoint that reads sooner, keeps them.",
            known.join(", ")
        ),
        evidence: numbers,
        at_ns: None,
    }
}
