//! `handshakeloss`: handshakes complete although many packets are lost.

use quiclab_units::Duration;

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, version_1_connections};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "handshakeloss",
    abbreviation: "L1",
    description: "50 files arrive, each over a connection of its own, while 30 % of the packets are lost in each direction.",
    client_test_case: "multiconnect",
    files: files(50, KIB),
    scenario: Some(
        "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 \
         --burst_to_server=3 --burst_to_client=3",
    ),
    time_limit: Duration::from_secs(300),
    judge,
    ..PLAIN
};

pub(super) fn judge(case: &Case, facts: &Facts, reasons: &mut Reasons) {
    version_1_connections(facts, case.file_count(), reasons);
}
