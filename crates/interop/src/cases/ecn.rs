//! `ecn`: both ends mark their packets for Explicit Congestion Notification, and report the marks that they receive.

use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, no_retry, one_connection};
use crate::facts::{Facts, SenderFacts};

/// The file is long enough for stacks that begin with ECN after the handshake.
pub(super) const CASE: Case = Case {
    name: "ecn",
    abbreviation: "E",
    description: "Both endpoints mark packets as ECN-capable and report the marks that they receive.",
    files: files(1, 100 * KIB),
    judge,
    ..PLAIN
};

/// Places in [`SenderFacts::ecn_datagrams`].
const ECT_1: usize = 1;
const ECT_0: usize = 2;
const CONGESTION_EXPERIENCED: usize = 3;

/// RFC 9000 section 13.4: ECN is optional, so an end that neither marks nor reports does not support it. The path marks nothing.
fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    no_retry(connection, reasons);
    let marked = |sent: &SenderFacts| sent.ecn_datagrams[ECT_0] + sent.ecn_datagrams[ECT_1];
    for role in [Role::Server, Role::Client] {
        let sent = connection.sent(role);
        let may_have_reported = sent.unread_share(&[QuicForm::Initial, QuicForm::Handshake, QuicForm::OneRtt]) > 0.0;
        if marked(sent) == 0 && sent.acks_with_ecn_counts == 0 && !may_have_reported {
            reasons.is_not_supported_by(role);
            return;
        }
    }
    for sender in Role::BOTH {
        let (sent, peer) = (connection.sent(sender), sender.peer());
        reasons.unless(marked(sent) > 0, || {
            format!(
                "expected ECT(0) or ECT(1) in the IP headers of the {} (RFC 9000 section 13.4), found neither in {} datagrams",
                sender.name(),
                sent.datagrams
            )
        });
        let experienced = sent.ecn_datagrams[CONGESTION_EXPERIENCED];
        reasons.unless(experienced == 0, || {
            format!(
                "expected no datagram of the {} that says \"congestion experienced\" because the path marks none, found {experienced}",
                sender.name()
            )
        });
        if marked(sent) > 0 {
            let forms = [QuicForm::Initial, QuicForm::Handshake, QuicForm::OneRtt];
            reasons.unless_shown(connection.sent(peer).acks_with_ecn_counts > 0, connection, peer, &forms, || {
                format!(
                    "expected ACK frames of the {} with ECN counts (RFC 9000 section 13.4.1) because the {} marked {} of {} \
                     datagrams, found none",
                    peer.name(),
                    sender.name(),
                    marked(sent),
                    sent.datagrams
                )
            });
        }
    }
}
