//! `v2`: QUIC version 2.

use quiclab_wire::{Role, VERSION_2};

use crate::case::{Case, KIB, PLAIN, files};
use crate::checks::{Reasons, connections, version_names};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "v2",
    abbreviation: "V2",
    description: "Both endpoints end up with version 2, by compatible version negotiation from version 1 or from the start.",
    client_test_case: "v2",
    files: files(1, KIB),
    judge,
    ..PLAIN
};

/// The server may send Initial packets of version 1 before it has the client's whole offer (RFC 9368 section 2.3); from its
/// choice on, both ends use version 2 (RFC 9369 section 4.1).
fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some([connection]) = connections(facts, reasons) else { return };
    let server = connection.sent(Role::Server);
    reasons.unless(server.initial_versions.contains(&VERSION_2), || {
        format!(
            "expected the server to choose version 2 (RFC 9369), found {} in its Initial packets and {} in the client's",
            version_names(server.initial_versions.iter().copied()),
            version_names(connection.sent(Role::Client).initial_versions.iter().copied())
        )
    });
    for sender in Role::BOTH {
        let versions = &connection.sent(sender).handshake_versions;
        reasons.unless(versions.iter().eq([&VERSION_2]), || {
            format!(
                "expected only version 2 in the Handshake packets of the {}, found {}",
                sender.name(),
                version_names(versions.iter().copied())
            )
        });
    }
}
