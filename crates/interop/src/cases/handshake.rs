//! `handshake`: it completes.

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, no_retry, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "handshake",
    abbreviation: "H",
    description: "The handshake completes and a small file arrives, without a Retry.",
    client_test_case: "handshake",
    files: files(1, KIB),
    judge,
    ..PLAIN
};

pub(super) fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    if let Some(connection) = one_connection(facts, reasons) {
        no_retry(connection, reasons);
    }
}
