//! `crosstraffic`: what a transfer gets of a link beside a TCP connection. A measurement.

use quiclab_wire::Role;

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;
use quiclab_units::Duration;

/// Share of the transfer's time that must be shared at least, in hundredths.
const SHARED_PERCENT: u64 = 90;

pub(super) const CASE: Case = Case {
    name: "crosstraffic",
    abbreviation: "C",
    description: "A file of 10 MiB arrives complete over one connection through a link of 10 Mbit/s that a TCP connection with \
                  CUBIC shares; the goodput is measured.",
    files: files(1, 10 * MIB),
    scenario: Some("tcp-cross-traffic --delay=15ms --bandwidth=10Mbps --queue=25"),
    time_limit: Duration::from_secs(180),
    is_measurement: true,
    judge: |_, facts, reasons| judge(facts, reasons),
    ..PLAIN
};

fn judge(facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let Some((first, last)) = connection.sent(Role::Server).one_rtt_times else { return };
    let shared_ns = facts
        .cross_traffic
        .map_or(0, |other| other.last.min(last).as_nanos().saturating_sub(other.first.max(first).as_nanos()));
    let all_ns = last.as_nanos() - first.as_nanos();
    reasons.unless(shared_ns > 0 && shared_ns.saturating_mul(100) >= all_ns.saturating_mul(SHARED_PERCENT), || {
        format!(
            "expected data of a TCP connection for at least {SHARED_PERCENT} % of the {} ms between the server's first and last \
             datagram with a 1-RTT packet, found it for {} ms",
            all_ns / 1_000_000,
            shared_ns / 1_000_000
        )
    });
}
