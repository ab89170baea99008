//! `keyupdate`: both ends go on with new keys.

use quiclab_wire::{QuicForm, Role};

use crate::case::{Case, MIB, PLAIN, files};
use crate::checks::{Reasons, one_connection};
use crate::facts::Facts;

pub(super) const CASE: Case = Case {
    name: "keyupdate",
    abbreviation: "U",
    description: "One endpoint updates its keys during a transfer, and the other follows.",
    client_test_case: "keyupdate",
    files: files(1, 3 * MIB),
    judge,
    ..PLAIN
};

fn judge(_case: &Case, facts: &Facts, reasons: &mut Reasons) {
    let Some(connection) = one_connection(facts, reasons) else { return };
    for sender in Role::BOTH {
        let sent = connection.sent(sender);
        let [before, after] = sent.key_phase_packets;
        reasons.unless_shown(sent.key_updates > 0 && after > 0, connection, sender, &[QuicForm::OneRtt], || {
            format!(
                "expected 1-RTT packets of the {} with a new key (RFC 9001 section 6), found {} key updates, {before} packets \
                 with key phase 0 and {after} with key phase 1, of {}",
                sender.name(),
                sent.key_updates,
                sent.packets(QuicForm::OneRtt)
            )
        });
    }
}
