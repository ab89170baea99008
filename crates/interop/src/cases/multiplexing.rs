//! `multiplexing`: many streams on one connection.

use quiclab_wire::Role;

use crate::case::{Case, PLAIN, files};
use crate::checks::{DATA, HANDSHAKE, Reasons, one_connection};
use crate::facts::Facts;

/// Number of streams that a server may allow from the start at most, as the interop runner has it: a server that allows more leaves nothing
/// to be seen.
const MOST_INITIAL_STREAMS: u64 = 1_000;

pub(super) const CASE: Case = Case {
    name: "multiplexing",
    abbreviation: "M",
    description: "Many small files arrive over one connection, each on a separate stream.",
    files: files(200, 32),
    judge,
    ..PLAIN
};

fn judge(case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let streams = connection.sent(Role::Client).request_streams;
    let files = case.file_count();
    reasons.unless_shown(streams >= files, connection, Role::Client, &DATA, || {
        format!("expected at least {files} streams of requests, one for each file, found {streams}")
    });
    let limit = connection.sent(Role::Server).initial_max_streams_bidi;
    reasons.unless_shown(limit.is_some(), connection, Role::Server, &HANDSHAKE, || {
        "the server's initial_max_streams_bidi (RFC 9000 section 18.2) was not found".to_owned()
    });
    if let Some(limit) = limit {
        reasons.unless(limit <= MOST_INITIAL_STREAMS, || {
            format!(
                "expected the server's initial_max_streams_bidi (RFC 9000 section 18.2) to be at most \
                 {MOST_INITIAL_STREAMS}, found {limit}"
            )
        });
    }
}
