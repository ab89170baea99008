//! `http3`: files arrive by HTTP/3.

use quiclab_wire::Role;

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{DATA, Reasons, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "http3",
    abbreviation: "3",
    description: "Three files arrive over one connection by HTTP/3.",
    client_test_case: "http3",
    files: files(3, 170 * KIB),
    judge,
    ..PLAIN
};

/// What tells HTTP/3 from HTTP/0.9 is the control stream of each end.
fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    for sender in Role::BOTH {
        let streams = connection.sent(sender).unidirectional_streams;
        reasons.unless_shown(streams > 0, connection, sender, &DATA, || {
            format!(
                "expected a control stream of the {} (RFC 9114 section 6.2.1), found no unidirectional stream",
                sender.name()
            )
        });
    }
}
