//! What a simulated transfer says of itself, in the words of the agent that would have performed it in the virtual machine.

use std::{collections::BTreeMap, os::unix::process::ExitStatusExt, process::ExitStatus};

use quiclab_experiment::run::{IpVersion, Qdisc, Run};
use quiclab_orders::{
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    report::{CpuUse, CpuUser, Outcome, ProcessEnd, QdiscCounters, Report},
};
use quiclab_path::pipeline::Account;
use quiclab_sim::transfer::{self, End, FRAME_OVERHEAD, IPV6_MORE, Side, Sighting, Tap, host::HostUse};
use quiclab_units::Duration;

use super::process::ProcessError;
use crate::collect::{RunFailure, describe_end};

/// Bytes of frames that came out of the path.
pub(super) struct Passed {
    overhead: u64,
    to_client: u64,
    to_server: u64,
}

impl Passed {
    pub(super) fn new(ip: IpVersion) -> Self {
        let overhead = FRAME_OVERHEAD + if ip == IpVersion::V6 { IPV6_MORE } else { 0 };
        Self { overhead, to_client: 0, to_server: 0 }
    }

    /// Counts what comes out at the other end.
    pub(super) fn add(&mut self, sighting: &Sighting) {
        let bytes = sighting.datagram.payload.len() as u64 + self.overhead;
        match (sighting.tap, sighting.from) {
            (Tap::BehindBottleneck, Side::Server) => self.to_client += bytes,
            (Tap::Sender, Side::Client) => self.to_server += bytes,
            _ => {}
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

/// What an endpoint that gave up makes of a run.
pub(super) fn failure_of(side: Side, error: &ProcessError) -> RunFailure {
    let role = match side {
        Side::Server => "server",
        Side::Client => "client",
    };
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
pub(super) fn report_of_failure(failure: &RunFailure) -> Report {
    let outcome = match failure {
        RunFailure::Unsupported(role) => Outcome::Unsupported { role: role.clone() },
        RunFailure::ServerEnded(_) => Outcome::ServerEnded,
        RunFailure::ClientFailed(_) => Outcome::ClientFailed,
        other => Outcome::AgentFailed { error: other.to_string() },
    };
    Report { outcome, ..empty_report() }
}

fn empty_report() -> Report {
    Report {
        outcome: Outcome::Done,
        server: None,
        client: None,
        client_lifetime_ns: None,
        cpu_use: None,
        qdiscs: Vec::new(),
        dropped_to_server: None,
        thefts: None,
        offloads: BTreeMap::new(),
        taps: Vec::new(),
        send_sizes: None,
        cut: BTreeMap::new(),
        lost_logs: Vec::new(),
        drained: false,
        kernel_release: "none: simulated".to_owned(),
    }
}

/// What is known of a run that came to an end, but for its taps.
pub(super) fn report_of(run: &Run, outcome: &transfer::Outcome, passed: &Passed) -> Report {
    let lifetime = outcome.client_lifetime;
    let wire = |interface: &str, kind: &str, account: &Account, bytes: u64| QdiscCounters {
        packets: account.left as u32,
        bytes,
        drops: account.all_dropped() as u32,
        backlog_packets: account.waiting.packets as u32,
        backlog_bytes: account.waiting.bytes as u32,
        ..counters("wire", interface, kind)
    };
    let mut qdiscs = Vec::new();
    let kind = match &run.settings.hosts.server_qdisc {
        Qdisc::None => None,
        Qdisc::PfifoFast => Some("pfifo_fast"),
        Qdisc::Fq(_) => Some("fq"),
        Qdisc::FqCodel => Some("fq_codel"),
        Qdisc::Etf { .. } => Some("etf"),
    };
    if let Some(kind) = kind {
        let drops = outcome.server.queue_drops as u32;
        qdiscs.push(QdiscCounters {
            packets: outcome.to_client.entered as u32,
            drops,
            ..counters("server", HOST_INTERFACE, kind)
        });
    }
    qdiscs.push(wire(TO_SERVER, "netem", &outcome.to_server, passed.to_server));
    qdiscs.push(wire(TO_CLIENT, "tbf", &outcome.to_client, passed.to_client));
    let end = |used: HostUse| Some(process_end(None, used.busy)).map(|end| ProcessEnd { exit_code: Some(0), ..end });
    let lists_drops = !run.settings.path.drops_to_server.is_empty();
    Report {
        outcome: match outcome.end {
            End::Done => Outcome::Done,
            _ => Outcome::ClientTimeout,
        },
        server: end(outcome.server),
        client: end(outcome.client),
        client_lifetime_ns: Some(lifetime.as_nanos()),
        cpu_use: Some(cpu_use(outcome.server, outcome.client, lifetime)),
        qdiscs,
        dropped_to_server: lists_drops.then_some(outcome.listed_drops),
        drained: outcome.is_silent,
        ..empty_report()
    }
}

/// Of two hosts with a CPU each, that of the busier one: it is what could limit the transfer.
fn cpu_use(server: HostUse, client: HostUse, lifetime: Duration) -> CpuUse {
    let time_ns = server.busy.max(client.busy).as_nanos();
    let share = time_ns as f64 / lifetime.as_nanos().max(1) as f64;
    CpuUse { of: CpuUser::Machine, time_ns, cpus: 1, share }
}

/// Of a discipline at the root of an interface.
fn counters(namespace: &str, interface: &str, kind: &str) -> QdiscCounters {
    QdiscCounters {
        namespace: namespace.to_owned(),
        interface: interface.to_owned(),
        kind: kind.to_owned(),
        handle: "1:0".to_owned(),
        packets: 0,
        bytes: 0,
        drops: 0,
        overlimits: 0,
        backlog_packets: 0,
        backlog_bytes: 0,
        own: BTreeMap::new(),
    }
}

/// How an endpoint ended. Its CPU time is that of its simulated host: this machine's would be another in every run.
fn process_end(status: Option<ExitStatus>, busy: Duration) -> ProcessEnd {
    ProcessEnd {
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        user_time_ns: busy.as_nanos(),
        system_time_ns: 0,
        processes_left: 0,
        stray_files: Vec::new(),
    }
}
