//! `amplificationlimit`: a server sends no more than three times what it got, until it knows whom it talks to.

use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, KIB, PLAIN, PathNeeds, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

/// Bytes of CRYPTO data in the server's Handshake packets at least, as the interop runner has it. With less, the server has not sent the
/// chain it was given.
const LEAST_HANDSHAKE_BYTES: u64 = 7_500;

/// The ClientHello passes, what the client sends next does not: the server has to wait with its certificate.
pub(super) const CASE: Case = Case {
    name: "amplificationlimit",
    abbreviation: "A",
    description: "The server sends at most three times what it received until the client's address is validated.",
    files: files(1, 5 * KIB),
    path: PathNeeds { drops_to_server: &[2, 3, 4, 5, 6, 7], ..PathNeeds::DEFAULT },
    large_certificate: true,
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    let server = connection.sent(Role::Server);
    let negotiations = server.packets(QuicForm::VersionNegotiation);
    reasons.unless(negotiations == 0, || format!("expected no Version Negotiation packet, found {negotiations}"));
    let bytes = server.handshake_crypto_bytes;
    reasons.unless_shown(bytes >= LEAST_HANDSHAKE_BYTES, connection, Role::Server, &[QuicForm::Handshake], || {
        format!(
            "expected at least {LEAST_HANDSHAKE_BYTES} bytes of CRYPTO data in the server's Handshake packets because \
             its certificate chain is long, found {bytes}"
        )
    });
    let amplification = &connection.amplification;
    reasons.unless(amplification.validated.is_some(), || {
        "the client's address was never validated, by a Handshake packet of the client, a token, or a connection ID \
         that the server chose (RFC 9000 section 8.1)"
            .to_owned()
    });
    reasons.unless(amplification.excess_bytes() == 0, || {
        format!(
            "the server had sent {} bytes when it had received {} and the client's address was not validated: {} more \
             than three times as many (RFC 9000 section 8.1), in {} datagrams beyond the limit",
            amplification.server_bytes,
            amplification.client_bytes,
            amplification.excess_bytes(),
            amplification.datagrams_beyond_limit
        )
    });
}
