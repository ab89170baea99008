//! Whether a pair passed a case.

use quiclab_wire::Role;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::checks::Reasons;
use crate::facts::Facts;

/// Exit status by which an endpoint says that it does not do what was asked.
pub const EXIT_NOT_SUPPORTED: i32 = 127;

/// How an endpoint ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The endpoint was never started.
    NotStarted,
    /// The endpoint ended with an exit status.
    Status(i32),
    /// The endpoint was ended by a signal, as is usual for a server.
    Signal,
}

/// What is known of the endpoints besides their packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointFacts {
    /// The client's end.
    pub client: End,
    /// The server's end.
    pub server: End,
    /// Whether the client stored every file that it was asked for, byte by byte; otherwise what is wrong, in a sentence.
    pub files_ok: Result<(), String>,
}

/// What came of a case. In JSON, `result` is `succeeded`, `failed`, `cannot_be_judged` or `unsupported`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Verdict {
    /// The packets and the files show that it passed.
    Succeeded,
    /// The packets or the files show that it failed.
    Failed {
        /// Sentences that say what was found, and what was expected; at least one.
        reasons: Vec<String>,
    },
    /// What would decide is in packets that could not be read.
    CannotBeJudged {
        /// Sentences that say what was looked for, and what could not be read; at least one.
        reasons: Vec<String>,
    },
    /// An endpoint does not do it: it said so, or its packets show it.
    Unsupported {
        /// Which one; the server where neither does it.
        role: Role,
    },
}

impl Verdict {
    /// The word in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Succeeded => "succeeded",
            Verdict::Failed { .. } => "failed",
            Verdict::CannotBeJudged { .. } => "cannot_be_judged",
            Verdict::Unsupported { .. } => "unsupported",
        }
    }
}

/// Judges a pair by its capture and the files that the client stored. The only word of an endpoint that counts is "not
/// supported"; that it says "done" proves nothing, and that it says "failed" explains a failure and does not make one.
pub fn judge(case: &Case, facts: &Facts, endpoints: &EndpointFacts) -> Verdict {
    let mut reasons = Reasons::default();
    case.judge(facts, &mut reasons);
    let ends = [(Role::Server, endpoints.server), (Role::Client, endpoints.client)];
    let said = ends.into_iter().find(|(_, end)| *end == End::Status(EXIT_NOT_SUPPORTED)).map(|(role, _)| role);
    if let Some(role) = reasons.refused().or(said) {
        return Verdict::Unsupported { role };
    }
    if let Err(what) = &endpoints.files_ok {
        reasons.push(format!("files: {what}"));
    }
    if let Some(role) = reasons.unsupported().filter(|_| !reasons.has_failures()) {
        return Verdict::Unsupported { role };
    }
    match (reasons.has_failures(), reasons.has_doubts()) {
        (false, false) => Verdict::Succeeded,
        (false, true) => Verdict::CannotBeJudged { reasons: reasons.into_sentences() },
        (true, _) => {
            explain(facts, endpoints, &mut reasons);
            Verdict::Failed { reasons: reasons.into_sentences() }
        }
    }
}

/// What is no failure by itself, but may say why there is one.
fn explain(facts: &Facts, endpoints: &EndpointFacts, reasons: &mut Reasons) {
    match endpoints.client {
        End::Status(0) => {}
        End::Status(status) => reasons.push(format!("the client ended with status {status}")),
        End::Signal => reasons.push("the client was killed by a signal".to_owned()),
        End::NotStarted => reasons.push("the client was not started because the server did not listen".to_owned()),
    }
    if let End::Status(status @ 1..) = endpoints.server {
        reasons.push(format!("the server ended with status {status}"));
    }
    for sender in Role::BOTH {
        let closes = facts.connections.iter().flat_map(|connection| &connection.sent(sender).closes);
        for close in closes.filter(|close| close.error != 0 && !close.by_application) {
            let name = sender.name();
            reasons.push(format!("the {name} closed with error {:#x} (RFC 9000 section 20.1)", close.error));
        }
    }
    let failed: u64 = Role::BOTH.iter().map(|sender| not_authentic(facts, *sender)).sum();
    if failed > 0 {
        reasons.push(format!("packets that the keys of the key log do not decrypt: {failed}"));
    }
    if let Some(offset) = facts.capture_cut_at_byte {
        reasons.push(format!(
            "the capture is truncated in the middle of a record at byte {offset}: packets after it are missing"
        ));
    }
    if facts.frames_not_understood > 0 {
        reasons.push(format!("{} frames of the capture could not be read", facts.frames_not_understood));
    }
}

fn not_authentic(facts: &Facts, sender: Role) -> u64 {
    facts.connections.iter().map(|connection| connection.sent(sender).packets_not_authentic).sum()
}
