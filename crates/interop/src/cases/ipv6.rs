//! `ipv6`: nothing over IPv4.

use quiclab_experiment::run::IpVersion;

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "ipv6",
    abbreviation: "6",
    description: "Files arrive over IPv6 only.",
    files: files(2, 10 * KIB),
    ip: IpVersion::V6,
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    one_connection(facts, reasons);
    let ipv4: u64 = facts.connections.iter().map(|connection| connection.ipv4_datagrams).sum();
    let ipv6: u64 = facts.connections.iter().map(|connection| connection.ipv6_datagrams).sum();
    reasons.unless(ipv4 == 0 && ipv6 > 0, || {
        format!("expected every QUIC datagram over IPv6, found {ipv6} over IPv6 and {ipv4} over IPv4")
    });
}
