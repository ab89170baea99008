//! `goodput`: how much of a link a transfer uses. A measurement: it runs only when it is asked for by name.

use super::transfer;
use crate::case::{Case, MIB, PLAIN, files};

pub(super) const CASE: Case = Case {
    name: "goodput",
    abbreviation: "G",
    description: "A file of 10 MiB arrives complete over one connection through a link of 10 Mbit/s; the goodput is measured.",
    files: files(1, 10 * MIB),
    scenario: Some("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25"),
    is_measurement: true,
    judge: transfer::judge,
    ..PLAIN
};
