//! `retry`: the client proves its address with a token.

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "retry",
    abbreviation: "S",
    description: "The server sends a Retry, and the client completes the handshake with its token.",
    client_test_case: "retry",
    files: files(1, 10 * KIB),
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let retry = &connection.retry;
    if retry.packets == 0 {
        let forged = match retry.packets_not_authentic {
            0 => String::new(),
            count => format!(", and {count} whose integrity tag is wrong (RFC 9001 section 5.8)"),
        };
        reasons.push(format!("expected a Retry packet (RFC 9000 section 17.2.5), found none{forged}"));
        return;
    }
    reasons.unless(retry.token_came_back, || {
        format!(
            "expected an Initial packet of the client with the token of the Retry (RFC 9000 section 8.1.2), found none after \
             {} Retry packets",
            retry.packets
        )
    });
    reasons.unless(!retry.packet_number_was_reset, || {
        "the client's packet numbers began again after the Retry, which RFC 9000 section 17.2.5.3 forbids".to_owned()
    });
}
