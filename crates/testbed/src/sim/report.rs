//! What was seen of a simulated transfer.

use std::{collections::BTreeMap, os::unix::process::ExitStatusExt, process::ExitStatus};

use quiclab_agent_protocol::report::{CpuUse, CpuUser};
use quiclab_experiment::{
    run::{IpVersion, QdiscKind, Run},
    stack::Role,
};
use quiclab_path::{
    content::{Content, Direction},
    stage::DropCause,
};
use quiclab_record::{DropSeen, HostSeen, Observed, Outcome, PathSeen, ProcessEnd, StageSeen};
use quiclab_sim::transfer::{
    self, End, FRAME_OVERHEAD, IPV6_MORE, Side, StageOutcome, Tap, TapEvent,
    contents::{Losses, LostDatagram},
    host::HostUse,
};
use quiclab_units::Duration;

use super::process::ProcessError;
use crate::{
    collect::{RunFailure, describe_end},
    contract::SERVER_PORT,
};

/// Its name in records.
const TESTBED: &str = "sim";

/// Bytes of frames that came out of the path.
pub(super) struct Passed {
    overhead: u64,
    to_client: u64,
    to_server: u64,
    /// Packets that the server sent.
    sent: u64,
}

impl Passed {
    pub(super) fn new(ip: IpVersion) -> Self {
        let overhead = FRAME_OVERHEAD + if ip == IpVersion::V6 { IPV6_MORE } else { 0 };
        Self { overhead, to_client: 0, to_server: 0, sent: 0 }
    }

    /// Counts what comes out at the other end.
    pub(super) fn add(&mut self, tap_event: &TapEvent) {
        let bytes = tap_event.datagram.payload.len() as u64 + self.overhead;
        match (tap_event.tap, tap_event.from) {
            (Tap::BehindBottleneck, Side::Server) => self.to_client += bytes,
            (Tap::Sender, Side::Client) => self.to_server += bytes,
            (Tap::Sender, Side::Server) => self.sent += 1,
            (Tap::BehindBottleneck, Side::Client) => {}
        }
    }

    /// Lengths of what the hosts' kernels were given to send, with one header each, and how often.
    pub(super) fn lengths(&self, buffers: [&BTreeMap<usize, u64>; 2]) -> BTreeMap<u32, u64> {
        let mut lengths = BTreeMap::new();
        for (length, count) in buffers.into_iter().flatten() {
            *lengths.entry((*length as u64 + self.overhead) as u32).or_default() += count;
        }
        lengths
    }
}

/// The role of a side, in words.
pub(super) fn name_of(side: Side) -> &'static str {
    match side {
        Side::Server => "server",
        Side::Client => "client",
    }
}

/// The first rule of the path that lost fewer or more datagrams than the experiment allows.
pub(super) fn loss_fault(losses: &Losses) -> Option<RunFailure> {
    losses.rules.iter().find_map(|rule| {
        let fault = rule.report.fault()?;
        Some(RunFailure::LossRule { direction: rule.to.name(), stage: rule.stage.clone(), fault })
    })
}

/// What an endpoint that gave up makes of a run.
pub(super) fn failure_of(side: Side, error: &ProcessError) -> RunFailure {
    let role = name_of(side);
    match error {
        ProcessError::Ended(status) if status.code() == Some(127) => RunFailure::Unsupported(role.to_owned()),
        ProcessError::Ended(status) if side == Side::Client => {
            RunFailure::ClientFailed(describe_end(&process_end(Some(*status), Duration::default())))
        }
        ProcessError::Ended(status) => {
            RunFailure::ServerEnded(describe_end(&process_end(Some(*status), Duration::default())))
        }
        other => RunFailure::Simulation(format!("the {role}: {other}")),
    }
}

/// What is known of a run whose endpoint gave up.
pub(super) fn observed_of_failure(failure: &RunFailure) -> Observed {
    let outcome = match failure {
        RunFailure::Unsupported(role) => {
            Outcome::Unsupported { role: if role == "client" { Role::Client } else { Role::Server } }
        }
        RunFailure::ServerEnded(_) => Outcome::ServerEnded,
        RunFailure::ClientFailed(_) => Outcome::ClientFailed,
        other => Outcome::TestbedFailed { error: other.to_string() },
    };
    Observed { outcome, ..Observed::nothing(TESTBED, SERVER_PORT) }
}

/// What is known of a run that came to an end, except its taps.
pub(super) fn observed_of(run: &Run, outcome: &transfer::Outcome, passed: &Passed) -> Observed {
    let lifetime = outcome.client_lifetime;
    let host = |used: &HostUse, queues| HostSeen {
        end: Some(ProcessEnd { exit_code: Some(0), ..process_end(None, used.busy) }),
        cpu_use: Some(CpuUse {
            of: CpuUser::Machine,
            time_ns: used.busy.as_nanos(),
            cpus: 1,
            share: used.busy.as_nanos() as f64 / lifetime.as_nanos().max(1) as f64,
        }),
        queues,
        offloads: None,
    };
    Observed {
        outcome: match outcome.end {
            End::Done => Outcome::Done,
            _ => Outcome::ClientTimeout,
        },
        client_lifetime: Some(lifetime),
        server: host(&outcome.server, server_queue(run, outcome, passed).into_iter().collect()),
        client: host(&outcome.client, Vec::new()),
        path: PathSeen {
            to_client: stages(outcome, Direction::ToClient, passed.to_client),
            to_server: stages(outcome, Direction::ToServer, passed.to_server),
            dropped: outcome.losses.datagrams.iter().map(drop_seen).collect(),
            dropped_not_listed: outcome.losses.not_listed,
            ..PathSeen::default()
        },
        drained: outcome.is_silent,
        ..Observed::nothing(TESTBED, SERVER_PORT)
    }
}

/// What the model of the server's queueing discipline did; `None` where it has none.
fn server_queue(run: &Run, outcome: &transfer::Outcome, passed: &Passed) -> Option<StageSeen> {
    let (kind, cause) = match run.settings.hosts.server_qdisc {
        QdiscKind::None => return None,
        QdiscKind::PfifoFast => ("pfifo_fast", "queue_full"),
        QdiscKind::Fq => ("fq", "horizon"),
        QdiscKind::FqCodel => ("fq_codel", "queue_full"),
        QdiscKind::Etf => ("etf", "send_time"),
    };
    Some(StageSeen {
        packets_passed: passed.sent,
        drops: by_cause([(cause, outcome.server.queue_drops)]),
        ..StageSeen::new(kind, kind)
    })
}

/// The stages of a direction, out of which `bytes` of frames came in the end.
fn stages(outcome: &transfer::Outcome, to: Direction, bytes: u64) -> Vec<StageSeen> {
    let outcomes = match to {
        Direction::ToClient => &outcome.to_client,
        Direction::ToServer => &outcome.to_server,
    };
    let seen = |(index, StageOutcome { name, kind, account }): (usize, &StageOutcome)| {
        let rule = outcome.losses.rules.iter().find(|rule| rule.to == to && rule.stage == *name);
        let rule = rule.map(|rule| rule.report.counts).unwrap_or_default();
        let counts = [
            ("asked", rule.asked),
            ("copied", account.copied),
            ("corrupted", account.corrupted),
            ("marked", account.marked),
            ("undecided", rule.undecided),
        ];
        StageSeen {
            packets_passed: account.left,
            bytes_passed: (index + 1 == outcomes.len()).then_some(bytes),
            drops: by_cause(DropCause::ALL.map(|cause| (cause.name(), account.dropped(cause)))),
            packets_waiting: account.waiting.packets,
            bytes_waiting: account.waiting.bytes,
            counts: by_cause(counts),
            ..StageSeen::new(name, &kind.replace('-', "_"))
        }
    };
    outcomes.iter().enumerate().map(seen).collect()
}

/// A datagram that was dropped, in the words of a record.
fn drop_seen(lost: &LostDatagram) -> DropSeen {
    DropSeen {
        time: Duration::from_nanos(lost.time.as_nanos()),
        direction: lost.to.name().to_owned(),
        stage: lost.stage.clone(),
        cause: lost.cause.name().to_owned(),
        packet: lost.packet,
        bytes: lost.bytes,
        connection: lost.content.as_ref().map(|content| content.connection),
        datagram: lost.content.as_ref().map(|content| content.datagram),
        held: lost.content.as_ref().map(Content::describe),
    }
}

fn by_cause<const COUNT: usize>(drops: [(&str, u64); COUNT]) -> BTreeMap<String, u64> {
    drops.into_iter().filter(|(_, count)| *count > 0).map(|(cause, count)| (cause.to_owned(), count)).collect()
}

/// How an endpoint ended. Its CPU time is that of its simulated host: this machine's would be another in every run.
fn process_end(status: Option<ExitStatus>, busy: Duration) -> ProcessEnd {
    ProcessEnd {
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        user_time: busy,
        system_time: Duration::default(),
        resident_bytes: None,
        processes_left: 0,
        stray_files: Vec::new(),
    }
}
