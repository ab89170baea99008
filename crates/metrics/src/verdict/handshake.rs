//! What the handshake cost that it need not.

use super::{Evidence, Outcome, bound, milliseconds, number};

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

/// One end sends data of the handshake again though it had arrived.
pub(super) fn handshake_repeated(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (Some(client), Some(server)) =
        (metrics.handshake_client_spurious_retransmissions, metrics.handshake_server_spurious_retransmissions)
    else {
        return evidence.lacks("handshake_client_spurious_retransmissions");
    };
    if client + server == 0 {
        return Outcome::No;
    }
    let mut text = format!(
        "The handshake repeats data needlessly: {client} datagrams of the client and {server} of the server hold CRYPTO \
         bytes that had arrived"
    );
    let mut numbers = vec![
        bound("handshake_spurious_retransmissions", (client + server) as f64, 1.0),
        number("handshake_client_spurious_retransmissions", client as f64),
        number("handshake_server_spurious_retransmissions", server as f64),
    ];
    if let Some(rtt) = metrics.rtt_min_ns {
        text += &format!("; the probe timeout expired before an answer could come (the smallest RTT is {})", milliseconds(rtt));
        numbers.push(number("rtt_min_ns", rtt as f64));
    }
    Outcome::Found { text: text + ".", evidence: numbers, at_ns: Some(0) }
}
