//! `perf`: the protocol of draft-banks-quic-performance, which the QUIC Interop Runner does not have.

use quiclab_units::ByteCount;
use quiclab_wire::Role;

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{DATA, HANDSHAKE, Reasons, one_connection};
use crate::facts::{ConnectionFacts, Facts, StreamFacts};

/// Name in ALPN, draft-banks-quic-performance section 2.1.
const APPLICATION_PROTOCOL: &str = "perf";

/// A request is longer than a packet, because what comes behind its first 8 bytes has to arrive too.
pub(super) const CASE: Case = Case {
    name: "perf",
    abbreviation: "P",
    description: "Two streams of draft-banks-quic-performance: 100,000 bytes go to the server on each, 1 MiB comes back.",
    client_test_case: "perf",
    files: files(2, MIB),
    request_size: ByteCount::from_bytes(100_000),
    judge,
    ..PLAIN
};

fn judge(case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let protocol = connection.tls.application_protocol.as_deref();
    reasons.unless_shown(protocol == Some(APPLICATION_PROTOCOL), connection, Role::Server, &HANDSHAKE, || {
        format!("expected the server to choose the application protocol \"perf\" (ALPN), found {protocol:?}")
    });
    let streams = connection.sent(Role::Client).streams.len() as u64;
    reasons.unless_shown(streams == case.file_count(), connection, Role::Client, &DATA, || {
        format!("expected {} bidirectional streams of the client, found {streams}", case.file_count())
    });
    for (&stream, request) in &connection.sent(Role::Client).streams {
        judge_stream(case, connection, stream, *request, reasons);
    }
}

/// Both directions are as long as they should be and end, and the request says how long the response is.
fn judge_stream(case: &Case, connection: &ConnectionFacts, stream: u64, request: StreamFacts, reasons: &mut Reasons) {
    let response = connection.sent(Role::Server).streams.get(&stream).copied().unwrap_or_default();
    let asked = case.files.size.as_bytes();
    reasons.unless_shown(request.head == Some(asked), connection, Role::Client, &DATA, || {
        format!("expected the first 8 bytes of stream {stream} to be the number {asked}, found {:?}", request.head)
    });
    for (sender, found, expected) in
        [(Role::Client, request, case.request_size.as_bytes()), (Role::Server, response, asked)]
    {
        reasons.unless_shown(found.bytes == expected, connection, sender, &DATA, || {
            format!("expected {expected} bytes of the {} on stream {stream}, found {}", sender.name(), found.bytes)
        });
        reasons.unless_shown(found.has_end, connection, sender, &DATA, || {
            format!("the {} did not end stream {stream} (the FIN bit, RFC 9000 section 19.8)", sender.name())
        });
    }
}
