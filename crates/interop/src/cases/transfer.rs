//! `transfer`: data arrives.

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "transfer",
    abbreviation: "DC",
    description: "A file of 1 MiB arrives complete over one connection.",
    files: files(1, MIB),
    judge,
    ..PLAIN
};

/// Data is judged by the files; packets show that it took one connection.
pub(super) fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    one_connection(facts, reasons);
}
