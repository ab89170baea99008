//! `blackhole`: a connection survives two seconds in which nothing arrives.

use quiclab_units::Duration;
use quiclab_wire::Role;

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

/// The case with an outage: at 10 Mbit/s the file takes longer than the 5 s after which the outage begins.
pub(super) const CASE: Case = Case {
    name: "blackhole",
    abbreviation: "B",
    description: "A file of 7 MiB arrives complete over one connection although the path drops everything for 2 s.",
    files: files(1, 7 * MIB),
    scenario: Some("blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=5s --off=2s"),
    time_limit: Duration::from_secs(60),
    judge,
    ..PLAIN
};

const OUTAGE: Duration = Duration::from_secs(2);

/// What arrives at the server shows that the outage fell into the transfer.
fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let silence = connection.sent(Role::Client).longest_silence;
    reasons.unless(silence >= OUTAGE, || {
        format!("expected {OUTAGE} in which no packet of the client arrived, found {silence} at most: the transfer ended before")
    });
}
