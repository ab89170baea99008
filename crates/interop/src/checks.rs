//! What several cases ask of packets.

use quiclab_wire::{QuicForm, Role, VERSION_1, VERSION_2};

use crate::facts::{ConnectionFacts, Facts};

/// Packets that carry a handshake.
pub(crate) const HANDSHAKE: [QuicForm; 2] = [QuicForm::Initial, QuicForm::Handshake];
/// Packets that carry streams.
pub(crate) const DATA: [QuicForm; 2] = [QuicForm::ZeroRtt, QuicForm::OneRtt];
/// Share of the packets that could show something which may be unread, for it to count as not there.
const MOST_UNREAD: f64 = 0.01;

/// Why a case failed or cannot be judged, in sentences.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    failures: Vec<String>,
    /// What was looked for in frames and not found, while frames of that sender could not be read.
    doubts: Vec<String>,
    /// Who does not do it, as far as packets show.
    unsupported: Option<Role>,
    /// Who has said in its packets that it does not do it.
    refused: Option<Role>,
}

impl Reasons {
    pub(crate) fn push(&mut self, reason: String) {
        self.failures.push(reason);
    }

    /// Packets show that this end does not do what the case is about, which is optional. The first one counts.
    pub(crate) fn is_not_supported_by(&mut self, role: Role) {
        self.unsupported.get_or_insert(role);
    }

    /// Notes that an end has said in its packets that it does not do what the case is about. Nothing else counts then: neither what else
    /// happened, nor that its peer says "not supported".
    pub(crate) fn is_refused_by(&mut self, role: Role) {
        self.refused.get_or_insert(role);
    }

    /// Who has said that it does not do what the case is about.
    pub(crate) fn refused(&self) -> Option<Role> {
        self.refused
    }

    /// Who does not do what the case is about.
    pub(crate) fn unsupported(&self) -> Option<Role> {
        self.unsupported
    }

    /// Whether something failed for certain.
    pub(crate) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Whether something could not be found out.
    pub(crate) fn has_doubts(&self) -> bool {
        !self.doubts.is_empty()
    }

    pub(crate) fn into_sentences(self) -> Vec<String> {
        [self.failures, self.doubts].concat()
    }

    /// Notes a reason where the frames of `sender` in packets of these forms should have shown something and did not: a failure
    /// where they were read, otherwise a doubt.
    pub(crate) fn unless_shown(
        &mut self,
        holds: bool,
        connection: &ConnectionFacts,
        sender: Role,
        forms: &[QuicForm],
        reason: impl FnOnce() -> String,
    ) {
        if holds {
            return;
        }
        let text = reason() + &unread(connection, sender);
        if connection.sent(sender).unread_share(forms) > MOST_UNREAD {
            self.doubts.push(text);
        } else {
            self.failures.push(text);
        }
    }

    /// Notes a doubt where something must not be in frames of `sender`, and those of such packets were not all read.
    pub(crate) fn doubt_if_unread(
        &mut self,
        connection: &ConnectionFacts,
        sender: Role,
        forms: &[QuicForm],
        what: &str,
    ) {
        if connection.sent(sender).unread_share(forms) > MOST_UNREAD {
            self.doubts.push(format!("{what} is not known{}", unread(connection, sender)));
        }
    }

    /// Notes a reason where something does not hold.
    pub(crate) fn unless(&mut self, holds: bool, reason: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(reason());
        }
    }

    /// What is there, or a note that it is not.
    pub(crate) fn need<T>(&mut self, value: Option<T>, reason: impl FnOnce() -> String) -> Option<T> {
        self.unless(value.is_some(), reason);
        value
    }
}

/// The one connection of a case, complete and of the right version. `None`, with the reason noted, where there is not exactly one.
pub(crate) fn one_connection<'a>(facts: &'a Facts, reasons: &mut Reasons) -> Option<&'a ConnectionFacts> {
    let [connection] = connections(facts, reasons)?;
    version_1_or_compatible(connection, "", reasons);
    Some(connection)
}

/// Both connections of a case that resumes a session.
pub(crate) fn two_connections<'a>(facts: &'a Facts, reasons: &mut Reasons) -> Option<[&'a ConnectionFacts; 2]> {
    let [first, second] = connections(facts, reasons)?;
    version_1_or_compatible(first, " of the first connection", reasons);
    // RFC 9369 section 5: the ticket of a connection that went over to version 2 is for version 2.
    let is_resumed_with_version_2 =
        first.sent(Role::Server).handshake_versions.contains(&VERSION_2) && server_versions(second) == [VERSION_2];
    if !is_resumed_with_version_2 {
        version_1_or_compatible(second, " of the second connection", reasons);
    }
    Some([first, second])
}

/// Exactly so many handshakes, all of them complete.
pub(crate) fn connections<'a, const COUNT: usize>(
    facts: &'a Facts,
    reasons: &mut Reasons,
) -> Option<[&'a ConnectionFacts; COUNT]> {
    counted(facts, COUNT as u64, reasons)?.try_into().ok()
}

/// Expects so many handshakes, all of them complete and of the right version.
pub(crate) fn version_1_connections(facts: &Facts, count: u64, reasons: &mut Reasons) {
    let connections = counted(facts, count, reasons).unwrap_or_default();
    for (number, connection) in connections.iter().enumerate() {
        version_1_or_compatible(connection, &format!(" of connection {}", number + 1), reasons);
    }
}

fn counted<'a>(facts: &'a Facts, count: u64, reasons: &mut Reasons) -> Option<Vec<&'a ConnectionFacts>> {
    let found: Vec<&ConnectionFacts> = facts.handshakes().collect();
    for (number, connection) in found.iter().enumerate() {
        let whose = if found.len() == 1 { String::new() } else { format!(" of connection {}", number + 1) };
        // Early data can be answered before the client's Finished, so that the server has nothing left to say behind it.
        let is_answered_early = connection.tls.accepts_early_data == Some(true)
            && connection.sent(Role::Client).packets(QuicForm::OneRtt) > 0;
        reasons.unless(connection.completed.is_some() || is_answered_early, || {
            format!(
                "the handshake{whose} did not complete: neither a HANDSHAKE_DONE frame (RFC 9000 section 19.20) nor 1-RTT \
                 packets of both ends; the client sent {} 1-RTT packets, the server {}",
                connection.sent(Role::Client).packets(QuicForm::OneRtt),
                connection.sent(Role::Server).packets(QuicForm::OneRtt)
            )
        });
    }
    let handshakes = found.len() as u64;
    let unanswered = facts.connections.len() as u64 - handshakes;
    reasons.need((handshakes == count).then_some(found), || {
        let others = match unanswered {
            0 => String::new(),
            count => format!("; {count} more were not answered with an Initial packet"),
        };
        format!("expected {count} {}, found {handshakes}{others}", if count == 1 { "handshake" } else { "handshakes" })
    })
}

/// Every Initial and Handshake packet of the server is of version 1; or the client began with version 1, and both went over to
/// version 2 by compatible version negotiation (RFC 9368), which no case but `v2` is about.
fn version_1_or_compatible(connection: &ConnectionFacts, whose: &str, reasons: &mut Reasons) {
    let server = connection.sent(Role::Server);
    let versions = server_versions(connection);
    let began_with_version_1 = connection.sent(Role::Client).initial_versions.contains(&VERSION_1);
    let is_compatible = began_with_version_1
        && server.initial_versions.contains(&VERSION_2)
        && server.handshake_versions.iter().eq([&VERSION_2]);
    reasons.unless(versions == [VERSION_1] || is_compatible, || {
        format!(
            "expected version 1 (RFC 9000 section 15) in the server's Initial and Handshake \
             packets{whose}, or version 2 in all Handshake packets if the client began with version 1 (RFC 9368), found {}",
            version_names(versions.iter().copied())
        )
    });
}

/// Versions of the server's Initial and Handshake packets.
fn server_versions(connection: &ConnectionFacts) -> Vec<u32> {
    let server = connection.sent(Role::Server);
    server.initial_versions.union(&server.handshake_versions).copied().collect()
}

/// No Retry packet on a connection.
pub(crate) fn no_retry(connection: &ConnectionFacts, reasons: &mut Reasons) {
    let retries = connection.retry.packets;
    reasons.unless(retries == 0, || format!("expected no Retry packet (RFC 9000 section 17.2.5), found {retries}"));
}

/// Names of the versions, for messages.
pub(crate) fn version_names(versions: impl Iterator<Item = u32>) -> String {
    let names: Vec<String> = versions
        .map(|version| match version {
            VERSION_1 => "version 1".to_owned(),
            VERSION_2 => "version 2".to_owned(),
            other => format!("version {other:#010x}"),
        })
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" and ") }
}

/// Says how much of what an end sent could not be read, where that may be why something was not found.
pub(crate) fn unread(connection: &ConnectionFacts, sender: Role) -> String {
    let sent = connection.sent(sender);
    let mut text = String::new();
    if sent.packets_unread > 0 {
        text += &format!(
            "; {} packets of the {} could not be read because keys or captured bytes are missing",
            sent.packets_unread,
            sender.name()
        );
    }
    if let Some(frame) = &sent.unread_frame {
        text += &format!(
            "; {} packets of the {} could not be read to the end ({frame})",
            sent.unread_frames_by_form.values().sum::<u64>(),
            sender.name()
        );
    }
    text
}
