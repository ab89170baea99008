//! `transfercorruption`: data arrives although packets arrive with a wrong byte.

use super::transferloss;
use crate::case::Case;

pub(super) const CASE: Case = Case {
    name: "transfercorruption",
    abbreviation: "C2",
    description: "A file of 2 MiB arrives complete over one connection while 2 % of the packets have a wrong byte.",
    scenario: Some(
        "corrupt-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=2 --rate_to_client=2 \
         --burst_to_server=3 --burst_to_client=3",
    ),
    ..transferloss::CASE
};
