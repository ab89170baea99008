//! `rebind-addr`: a connection survives that an address translator gives the client another address and port.

use super::rebind_port;
use crate::case::Case;

pub(super) const CASE: Case = Case {
    name: "rebind-addr",
    abbreviation: "BA",
    description: "A file of 3 MiB arrives complete over one connection although the client's address changes on the way.",
    scenario: Some(
        "rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=2s --rebind-addr",
    ),
    judge: |_, facts, reasons| {
        rebind_port::judge(facts, reasons, "address", |one, other| one.client.ip() != other.client.ip());
    },
    ..rebind_port::CASE
};
