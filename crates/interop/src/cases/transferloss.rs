//! `transferloss`: data arrives although packets are lost.

use super::transfer;
use crate::case::{Case, MIB, PLAIN, files};

pub(super) const CASE: Case = Case {
    name: "transferloss",
    abbreviation: "L2",
    description: "A file of 2 MiB arrives complete over one connection while 2 % of the packets are lost in each direction.",
    files: files(1, 2 * MIB),
    scenario: Some(
        "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=2 --rate_to_client=2 \
         --burst_to_server=3 --burst_to_client=3",
    ),
    judge: transfer::judge,
    ..PLAIN
};
