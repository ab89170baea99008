//! `resumption`: a second connection by the session of the first.

use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, two_connections};
use crate::facts::{ConnectionFacts, Facts};

pub(super) const CASE: Case = Case {
    name: "resumption",
    abbreviation: "R",
    description: "A second connection resumes the TLS session of the first.",
    client_test_case: "resumption",
    files: files(4, 10 * KIB),
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    if let Some([first, second]) = two_connections(facts, reasons) {
        session(first, second, reasons);
    }
}

/// The first connection begins a session, the second one resumes it: RFC 8446 section 2.2.
pub(super) fn session(first: &ConnectionFacts, second: &ConnectionFacts, reasons: &mut Reasons) {
    let resumed = |connection: &ConnectionFacts| connection.tls.choice.map(|choice| choice.pre_shared_key);
    match resumed(first) {
        None => reasons.unless_shown(false, first, Role::Server, &[QuicForm::Initial], || {
            "no ServerHello of the first connection was found".to_owned()
        }),
        Some(true) => reasons.push(
            "the first connection resumes a session that the capture does not show: its ServerHello has a pre_shared_key"
                .to_owned(),
        ),
        Some(false) => {}
    }
    match resumed(second) {
        None => reasons.unless_shown(false, second, Role::Server, &[QuicForm::Initial], || {
            "no ServerHello of the second connection was found".to_owned()
        }),
        Some(false) => {
            let offered = second.tls.offer.as_ref().is_some_and(|offer| offer.pre_shared_key);
            let which = if offered { "the server did not accept it" } else { "the client did not offer it" };
            reasons.push(format!(
                "expected the second connection to resume the session by pre_shared_key (RFC 8446 section 4.2.11); {which}"
            ));
        }
        Some(true) => {}
    }
    match second.tls.certificate_bytes {
        Some(bytes) => reasons.push(format!(
            "expected no certificate on the second connection because its session is resumed (RFC 8446 section 2.2), \
             found one of {bytes} bytes"
        )),
        None => reasons.doubt_if_unread(
            second,
            Role::Server,
            &[QuicForm::Handshake],
            "whether the server sent a certificate on the second connection",
        ),
    }
}
