//! `connectionmigration`: the client moves a connection to another path by itself.

use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, no_retry, one_connection};
use crate::facts::{ConnectionFacts, Facts, PathFacts};

/// The transfer goes on over a path if the server sends so many datagrams on it.
const TRANSFER_DATAGRAMS: u64 = 100;

pub(super) const CASE: Case = Case {
    name: "connectionmigration",
    abbreviation: "CM",
    description: "A file of 2 MiB arrives complete over one connection, which the client moves to another path on the way.",
    client_test_case: "connectionmigration",
    files: files(1, 2 * MIB),
    server_can_move: true,
    judge: |_, facts, reasons| judge(facts, reasons),
    ..PLAIN
};

/// RFC 9000 section 9: the new path has another address of the client, or the server's preferred address (section 9.6).
fn judge(facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    no_retry(connection, reasons);
    let Some((first, later)) = connection.paths.split_first() else { return };
    // The parameter is about the address of the handshake: its own preferred address the server wants to be used.
    let is_preferred = later.iter().any(|path| path.server != first.server);
    if connection.sent(Role::Server).disables_active_migration == Some(true) && !is_preferred {
        return reasons.is_refused_by(Role::Server);
    }
    let used = later.iter().filter(|path| path.server_datagrams >= TRANSFER_DATAGRAMS);
    let Some(path) = used.max_by_key(|path| path.server_datagrams) else {
        let most = later.iter().map(|path| path.server_datagrams).max().unwrap_or(0);
        reasons.unless_shown(false, connection, Role::Client, &[QuicForm::OneRtt], || {
            format!(
                "expected the transfer to go on over another path than {} to {}: at least {TRANSFER_DATAGRAMS} datagrams of the \
                 server, found {most} on any of {} others",
                first.server,
                first.client,
                later.len()
            )
        });
        return;
    };
    moved_well(connection, first, path, reasons);
}

fn moved_well(connection: &ConnectionFacts, first: &PathFacts, path: &PathFacts, reasons: &mut Reasons) {
    let one_rtt = [QuicForm::OneRtt];
    reasons.unless_shown(path.client_begins_with_new_id != Some(false), connection, Role::Client, &one_rtt, || {
        format!(
            "expected a new destination connection ID in the client's first datagram from {} to {} (RFC 9000 section 9.5), \
             found one that it had used before",
            path.client, path.server
        )
    });
    // An end validates the address of its peer that is new to it.
    if path.client != first.client {
        reasons.unless_shown(path.challenges_answered > 0, connection, Role::Server, &one_rtt, || {
            format!(
                "expected the server to validate {} (RFC 9000 section 9.3), found {} PATH_CHALLENGE frames to it and no answer \
                 to one of them",
                path.client, path.challenges
            )
        });
    } else {
        reasons.unless_shown(path.client_challenges_answered > 0, connection, Role::Client, &one_rtt, || {
            format!(
                "expected the client to validate the server's preferred address {} (RFC 9000 section 9.6.2), found {} \
                 PATH_CHALLENGE frames to it and no answer to one of them",
                path.server, path.client_challenges
            )
        });
    }
}
