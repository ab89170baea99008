//! What the handshake cost that it need not.

use super::evidence::{Evidence, Outcome, bound, milliseconds, number};

/// The anti-amplification limit of RFC 9000 section 8.1 made the server wait.
pub(super) fn amplification_blocked(evidence: &Evidence) -> Outcome {
    let Some(blocked) = evidence.run.metrics.handshake_amplification_blocked_ns else {
        return evidence.lacks("handshake_amplification_blocked_ns");
    };
    if blocked == 0 {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The amplification limit blocked the handshake for {}: the server may send three times what it received \
             before the client's address is validated (RFC 9000 section 8.1).",
            milliseconds(blocked)
        ),
        evidence: vec![bound("handshake_amplification_blocked_ns", blocked as f64, 1.0)],
        at_ns: Some(0),
    }
}

/// The server does not keep to that limit.
pub(super) fn amplification_exceeded(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let Some(excess) = metrics.handshake_amplification_excess_bytes else {
        return evidence.lacks("handshake_amplification_excess_bytes");
    };
    if excess == 0 {
        return Outcome::No;
    }
    let mut numbers = vec![bound("handshake_amplification_excess_bytes", excess as f64, 1.0)];
    let received = metrics.handshake_amplification_received_bytes;
    numbers.extend(received.map(|it| number("handshake_amplification_received_bytes", it as f64)));
    Outcome::Found {
        text: format!(
            "The server exceeds the amplification limit by {excess} bytes: before the client's address was validated it \
             sent more than three times what it had received (RFC 9000 section 8.1). That is a fault of the server."
        ),
        evidence: numbers,
        at_ns: Some(0),
    }
}

/// One end sends data of the handshake again though it had arrived.
pub(super) fn handshake_repeated(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let ends = [
        ("client", "handshake_client_spurious_retransmissions", metrics.handshake_client_spurious_retransmissions),
        ("server", "handshake_server_spurious_retransmissions", metrics.handshake_server_spurious_retransmissions),
    ];
    let all: u64 = ends.iter().filter_map(|(_, _, repeated)| *repeated).sum();
    if all == 0 {
        let unknown = ends.iter().find(|(_, _, repeated)| repeated.is_none());
        return unknown.map_or(Outcome::No, |(_, name, _)| evidence.lacks(name));
    }
    let known = ends.iter().filter_map(|(end, _, repeated)| Some(format!("{} of the {end}", (*repeated)?)));
    let mut text = format!(
        "The handshake repeats data needlessly: datagrams with CRYPTO bytes that had arrived: {}",
        known.collect::<Vec<_>>().join(", ")
    );
    let mut numbers = vec![bound("handshake_spurious_retransmissions", all as f64, 1.0)];
    numbers.extend(ends.iter().filter_map(|(_, name, repeated)| Some(number(name, (*repeated)? as f64))));
    match (metrics.drops_packets, metrics.rtt_min_ns) {
        // Nothing was lost that would have stopped the timer.
        (Some(0), Some(rtt)) => {
            text += &format!(
                "; the probe timeout expired before an answer could come (the smallest RTT is {})",
                milliseconds(rtt)
            );
            numbers.push(number("rtt_min_ns", rtt as f64));
        }
        (Some(drops), _) if drops > 0 => {
            text += "; packets were dropped on the path, and an answer may have been among them";
            numbers.push(number("drops_packets", drops as f64));
        }
        _ => {}
    }
    Outcome::Found { text: text + ".", evidence: numbers, at_ns: Some(0) }
}
