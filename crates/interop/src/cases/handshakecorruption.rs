//! `handshakecorruption`: handshakes complete although many packets arrive with a wrong byte.

use super::handshakeloss;
use crate::case::Case;

pub(super) const CASE: Case = Case {
    name: "handshakecorruption",
    abbreviation: "C1",
    description: "50 files arrive, each over a connection of its own, while 30 % of the packets have a wrong byte.",
    scenario: Some(
        "corrupt-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 \
         --burst_to_server=3 --burst_to_client=3",
    ),
    ..handshakeloss::CASE
};
