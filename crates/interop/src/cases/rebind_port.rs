//! `rebind-port`: a connection survives that an address translator gives the client another port.

use quiclab_wire::{QuicForm, Role};

use crate::cases::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, no_retry, one_connection};
use crate::facts::{ConnectionFacts, Facts, PathFacts};

/// At 10 Mbit/s the file takes longer than the second after which the port changes.
pub(super) const CASE: Case = Case {
    name: "rebind-port",
    abbreviation: "BP",
    description: "A file of 3 MiB arrives complete over one connection although the client's port changes on the way.",
    files: files(1, 3 * MIB),
    scenario: Some("rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=5s"),
    judge: |_, facts, reasons| judge(facts, reasons, "port", |one, other| one.client.port() != other.client.port()),
    ..PLAIN
};

/// RFC 9000 section 9.3: a server validates the new address of a client.
pub(super) fn judge(
    facts: &Facts,
    reasons: &mut Reasons,
    what: &str,
    differs: impl Fn(&PathFacts, &PathFacts) -> bool,
) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    no_retry(connection, reasons);
    let used: Vec<&PathFacts> = connection.paths.iter().filter(|path| path.server_datagrams > 0).collect();
    let [first, later @ ..] = &used[..] else { return };
    let one_rtt = [QuicForm::OneRtt];
    // Without keys, packets with a new connection ID belong to nobody.
    reasons.unless_shown(later.iter().any(|path| differs(first, path)), connection, Role::Server, &one_rtt, || {
        format!(
            "expected the server to send to more than one {what} of the client, found only {}: the transfer ended before, or the \
             server ignored the new one",
            first.client
        )
    });
    for path in later {
        validated(connection, path, reasons);
    }
}

fn validated(connection: &ConnectionFacts, path: &PathFacts, reasons: &mut Reasons) {
    let one_rtt = [QuicForm::OneRtt];
    let begins_with_challenge = path.server_begins_with_challenge == Some(true);
    reasons.unless_shown(begins_with_challenge, connection, Role::Server, &one_rtt, || {
        format!(
            "expected a PATH_CHALLENGE frame in the server's first datagram to {} (RFC 9000 section 9.3), found none there and {} \
             on this path",
            path.client, path.challenges
        )
    });
    if path.challenges > 0 {
        reasons.unless_shown(path.challenges_answered > 0, connection, Role::Client, &one_rtt, || {
            format!(
                "expected a PATH_RESPONSE frame of the client to one of {} challenges to {} (RFC 9000 section 8.2.2), found none",
                path.challenges, path.client
            )
        });
    }
}
