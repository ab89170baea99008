//! `rebind-port`: a connection survives that an address translator gives the client another port.

use quiclab_units::Duration;
use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, no_retry, one_connection};
use crate::facts::{ConnectionFacts, Facts, PathFacts};

/// Twice the delay of the path, without queues.
const ROUND_TRIP: Duration = Duration::from_millis(30);

/// The case with changes of the port. At 10 Mbit/s the file takes 2.6 s, so that a change falls into it whenever the client begins: changes
/// count from the start of the path, and a client in Java sends its first datagram when the first one is over.
pub(super) const CASE: Case = Case {
    name: "rebind-port",
    abbreviation: "BP",
    description: "A file of 3 MiB arrives complete over one connection although the client's port changes on the way.",
    files: files(1, 3 * MIB),
    scenario: Some("rebind --delay=15ms --bandwidth=10Mbps --queue=25 --first-rebind=1s --rebind-freq=2s"),
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
    // A server answers a client that closes with nothing but its own CONNECTION_CLOSE (RFC 9000 section 10.2).
    let is_used = |path: &&PathFacts| path.server_datagrams > 0 && path.client_datagrams_before_close > 0;
    let used: Vec<&PathFacts> = connection.paths.iter().filter(is_used).collect();
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
    // The address changes every 2 s, so the last change can come when the client has all it wants: one that closed before the challenge
    // could reach it cannot answer.
    let has_closed = path.challenge_to_close.is_some_and(|time| time < ROUND_TRIP);
    if path.challenges > 0 && !has_closed {
        reasons.unless_shown(path.challenges_answered > 0, connection, Role::Client, &one_rtt, || {
            format!(
                "expected a PATH_RESPONSE frame of the client to one of {} challenges to {} (RFC 9000 section 8.2.2), found none",
                path.challenges, path.client
            )
        });
    }
}
