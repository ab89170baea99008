//! `longrtt`: a handshake over a path slower than the first probe timeout.

use quiclab_units::Duration;
use quiclab_wire::{QuicForm, Role};

use super::handshake;
use crate::case::{Case, KIB, PLAIN, PathNeeds, files};
use crate::checks::Reasons;
use crate::facts::Facts;

/// RFC 9002 section 6.2.2: without a sample the RTT is taken for 333 ms, and the first probe leaves after 999 ms. With a
/// round-trip time of 1.5 s it leaves before any answer can have come.
pub(super) const CASE: Case = Case {
    name: "longrtt",
    abbreviation: "LR",
    description: "The handshake completes when the round-trip time is 1.5 s, longer than the client's first probe timeout.",
    client_test_case: "handshake",
    files: files(1, KIB),
    path: PathNeeds { delay: Duration::from_millis(750), ..PathNeeds::DEFAULT },
    judge,
    ..PLAIN
};

fn judge(case: &Case, facts: &Facts, reasons: &mut Reasons) {
    handshake::judge(case, facts, reasons);
    for connection in facts.handshakes() {
        let hellos = connection.sent(Role::Client).initials_with_first_crypto_byte;
        reasons.unless_shown(hellos >= 2, connection, Role::Client, &[QuicForm::Initial], || {
            format!(
                "expected the client to send its ClientHello at least 2 times, because its probe timeout expires \
                 before a response can arrive (RFC 9002 section 6.2.2), found {hellos}"
            )
        });
    }
}
