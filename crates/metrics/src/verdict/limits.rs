//! What held a sender up that is not its congestion control.

use super::evidence::{Evidence, Outcome, bound, milliseconds, number, percent};
use crate::goodput::{SMALLEST_TRANSFER, UNEXPLAINED_TIME_LIMIT};

/// Shorter times without anything in flight are not worth a word.
const IDLE_SHARE: f64 = 0.1;
/// A sender that has sent all that it was asked for, for at least so much of the time, is limited by its application.
pub(super) const NOTHING_TO_SEND: f64 = 0.5;
/// Blocked once, at the end of a window, is usual.
const BLOCKED_OFTEN: usize = 3;
/// The client's lifetime goes on so much longer than the transfer: no handshake takes as long.
const IDLE_END_NS: f64 = UNEXPLAINED_TIME_LIMIT.as_nanos() as f64;

/// The receiver's flow control holds the sender up.
pub(super) fn flow_control_limited(evidence: &Evidence) -> Outcome {
    let Some(packets) = evidence.packets else {
        return Outcome::Lacks("the packets were not looked at one by one: use quiclab look".to_owned());
    };
    let Some(blocked) = &packets.blocked_ns else {
        return Outcome::Lacks("flow control was not followed: quiclab look does, with the keys".to_owned());
    };
    if blocked.len() < BLOCKED_OFTEN {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "Flow control limits the transfer: the sender used up the client's limit {} times. A larger window at the \
             client lets it send more.",
            blocked.len()
        ),
        evidence: vec![bound("times_blocked", blocked.len() as f64, BLOCKED_OFTEN as f64)],
        at_ns: blocked.first().copied(),
    }
}

/// The application has nothing to send.
pub(super) fn application_limited(evidence: &Evidence) -> Outcome {
    // What was sent last can be in flight until the next request comes.
    if let Some(share) = evidence.run.metrics.nothing_to_send_share.filter(|share| *share >= NOTHING_TO_SEND) {
        return Outcome::Found {
            text: format!(
                "The application limits the transfer, not congestion: for {} of it the server had sent all that it was \
                 asked for.",
                percent(share)
            ),
            evidence: vec![bound("nothing_to_send_share", share, NOTHING_TO_SEND)],
            at_ns: None,
        };
    }
    let Some(packets) = evidence.packets else {
        return Outcome::Lacks("the packets were not looked at one by one: use quiclab look".to_owned());
    };
    let (Some(idle), Some(blocked)) = (&packets.idle_ns, &packets.blocked_ns) else {
        return Outcome::Lacks("pauses were not looked for: quiclab look does, with the keys of both ends".to_owned());
    };
    let Some(duration) = evidence.run.metrics.duration_ns.filter(|it| *it > 0) else {
        return evidence.lacks("duration_ns");
    };
    let total: u64 = idle.iter().map(|(_, length)| length).sum();
    let share = total as f64 / duration as f64;
    // A sender that flow control blocks has nothing in flight either.
    if share < IDLE_SHARE || blocked.len() >= BLOCKED_OFTEN {
        return Outcome::No;
    }
    let longest = idle.iter().max_by_key(|(_, length)| *length);
    Outcome::Found {
        text: format!(
            "The application limits the transfer: for {} of it ({}) nothing was in flight and nothing kept the sender \
             from sending.",
            percent(share),
            milliseconds(total)
        ),
        evidence: vec![
            bound("share_of_time_with_nothing_in_flight", share, IDLE_SHARE),
            number("pauses", idle.len() as f64),
        ],
        at_ns: longest.map(|(from, _)| *from),
    }
}

/// The client waits, usually for an idle time-out, and its goodput counts that time.
pub(super) fn idle_end_in_goodput(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (Some(wire), Some(process)) = (metrics.goodput_wire_bps, metrics.goodput_process_bps) else {
        return evidence.lacks("goodput_process_bps");
    };
    let Some(duration) = metrics.duration_ns.filter(|_| process > 0.0) else { return evidence.lacks("duration_ns") };
    if metrics.stream_bytes.is_some_and(|bytes| bytes < SMALLEST_TRANSFER.as_bytes()) {
        return Outcome::No;
    }
    // Both count the same bytes, so the times are as the rates are, the other way round.
    let waited = duration as f64 * (wire / process - 1.0);
    if waited < IDLE_END_NS {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The client lives {:.1} s longer than the transfer takes, as with an idle time-out at its end; its goodput \
             by process ({:.2} Mbit/s) counts that time, the one on the wire ({:.2} Mbit/s) does not.",
            waited / 1e9,
            process / 1e6,
            wire / 1e6
        ),
        evidence: vec![
            bound("client_waited_ns", waited, IDLE_END_NS),
            number("goodput_wire_bps", wire),
            number("goodput_process_bps", process),
        ],
        at_ns: Some(duration),
    }
}
