//! `zerortt`: requests before the handshake.

use quiclab_units::ByteCount;
use quiclab_wire::{QuicForm, Role};

use super::resumption::session;
use crate::case::{Case, Files, PLAIN};
use crate::checks::{HANDSHAKE, Reasons, two_connections};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "zerortt",
    abbreviation: "Z",
    description: "The requests of a second connection are sent as 0-RTT data, and the server accepts it.",
    client_test_case: "zerortt",
    // With names of this length they are about 10 kB: they take many packets, and fit into the first congestion window
    // (RFC 9002 section 7.2).
    files: Files { count: 40, size: ByteCount::from_bytes(32), name_bytes: 250 },
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some([first, second]) = two_connections(facts, reasons) else { return };
    session(first, second, reasons);
    let client = second.sent(Role::Client);
    // What could not be read held requests, where the server took it and few came later.
    let early = client.zero_rtt_stream_bytes + client.zero_rtt_bytes_unread;
    let late = client.one_rtt_stream_bytes;
    reasons.unless_shown(early > 0, second, Role::Client, &[QuicForm::ZeroRtt], || {
        format!(
            "expected requests in 0-RTT packets on the second connection, found none in {} 0-RTT packets",
            client.packets(QuicForm::ZeroRtt)
        )
    });
    reasons.unless(late <= early, || {
        format!(
            "expected most bytes of the second connection's requests in 0-RTT packets, found {early} there and {late} in 1-RTT \
             packets"
        )
    });
    if late <= early {
        let what = "how many bytes of the second connection's requests are in 1-RTT packets";
        reasons.doubt_if_unread(second, Role::Client, &[QuicForm::OneRtt], what);
    }
    match second.tls.accepts_early_data {
        None => reasons.unless_shown(false, second, Role::Server, &HANDSHAKE, || {
            "it is not known whether the server accepted the 0-RTT data: its EncryptedExtensions were not \
             found"
                .to_owned()
        }),
        Some(false) => reasons.push(
            "the server did not accept the 0-RTT data: its EncryptedExtensions have no early_data (RFC 8446 section \
             4.2.10)"
                .to_owned(),
        ),
        Some(true) => {}
    }
}
