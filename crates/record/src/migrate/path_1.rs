//! `path.json` before it had a schema: what the agent in the guest answered, with the names of Linux. Simulated transfers took its shape.
//!
//! Fields that were added over time have a default.

use std::collections::BTreeMap;

use quiclab_agent_protocol::report::{CpuUse, CpuUser, Offloads, QdiscCounters, StolenTime};
use quiclab_experiment::{TestbedName, quantity, stack::Role};
use quiclab_units::Duration;
use serde::Deserialize;

use crate::{
    HostSeen, LostLog, Observed, Outcome, PathSeen, ProcessEnd, StageSeen, TapRole, TapSeen, linux::stages_on,
};

/// The server's port, which was always the same.
const SERVER_PORT: u16 = 443;
/// What stood in `kernel_release` of simulated transfers.
const NO_KERNEL: &str = "none: simulated";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    outcome: OldOutcome,
    server: Option<OldEnd>,
    client: Option<OldEnd>,
    #[serde(with = "quantity::option")]
    client_lifetime: Option<Duration>,
    busy_share: Option<f64>,
    qdiscs: Vec<QdiscCounters>,
    #[serde(default)]
    dropped_to_server: Option<u64>,
    #[serde(default)]
    thefts: Option<Taken>,
    offloads: BTreeMap<String, Offloads>,
    taps: Vec<OldTap>,
    #[serde(default)]
    send_sizes: Option<BTreeMap<u32, u64>>,
    #[serde(default, alias = "cut_logs")]
    cut: BTreeMap<String, u64>,
    #[serde(default)]
    lost_logs: Vec<String>,
    drained: bool,
    kernel_release: String,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum OldOutcome {
    Done,
    Unsupported { role: Role },
    ServerEnded,
    NeverListened,
    ClientTimeout,
    ClientFailed,
    AgentFailed { error: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldEnd {
    exit_code: Option<i32>,
    signal: Option<i32>,
    #[serde(with = "quantity")]
    user_time: Duration,
    #[serde(with = "quantity")]
    system_time: Duration,
    #[serde(default)]
    processes_left: u32,
    #[serde(default)]
    stray_files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldTap {
    name: String,
    snaplen: Option<u32>,
    packets_seen: u64,
    packets_lost: u64,
    #[serde(rename = "block_bytes")]
    _block_bytes: u64,
    #[serde(rename = "blocks_used")]
    _blocks_used: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    count: u64,
    #[serde(with = "quantity")]
    time: Duration,
}

impl Report {
    pub(super) fn convert(mut self) -> Observed {
        let is_simulated = self.kernel_release == NO_KERNEL;
        if is_simulated {
            // The simulator's bucket counted the drops of the delay line in it, whatever their cause.
            let buckets = self.qdiscs.iter_mut().filter(|qdisc| qdisc.kind == "tbf");
            buckets.for_each(|bucket| bucket.kind = "token_bucket".to_owned());
        }
        let testbed = if is_simulated { TestbedName::Sim } else { TestbedName::Vm };
        let path = self.path();
        let host = |namespace: &str, end: &Option<OldEnd>| HostSeen {
            end: end.as_ref().map(OldEnd::convert),
            cpu_use: self.cpu_use(),
            queues: stages_on(&self.qdiscs, namespace, "eth0", |_, qdisc| qdisc.kind.clone()),
            offloads: self.offloads.get(&format!("{namespace}/eth0")).copied(),
        };
        let (server, client) = (host("server", &self.server), host("client", &self.client));
        Observed {
            kernel_release: (!is_simulated).then_some(self.kernel_release),
            outcome: self.outcome.convert(),
            client_lifetime: self.client_lifetime,
            server,
            client,
            path,
            taps: (0..).zip(self.taps).map(|(interface, tap)| tap.convert(interface)).collect(),
            thefts: self.thefts.map(|taken| StolenTime { count: taken.count, time_ns: taken.time.as_nanos() }),
            send_sizes: self.send_sizes,
            cut_files: self.cut,
            lost_logs: self.lost_logs.iter().map(|text| lost_log(text)).collect(),
            drained: self.drained,
            ..Observed::nothing(testbed.as_str(), SERVER_PORT)
        }
    }

    /// The share was that of the guest's single CPU, or of the busier of two simulated hosts.
    fn cpu_use(&self) -> Option<CpuUse> {
        let (share, lifetime) = (self.busy_share?, self.client_lifetime?);
        let time_ns = (share.max(0.0) * lifetime.as_nanos() as f64).round() as u64;
        Some(CpuUse { of: CpuUser::Machine, time_ns, cpus: 1, share })
    }

    fn path(&self) -> PathSeen {
        let name = |_, qdisc: &QdiscCounters| match qdisc.kind.as_str() {
            "tbf" | "token_bucket" => "rate".to_owned(),
            _ => "delay".to_owned(),
        };
        // A packet passes the innermost discipline first.
        let stages = |interface| stages_on(&self.qdiscs, "wire", interface, name).into_iter().rev().collect::<Vec<_>>();
        let back = stages("to-server");
        let dropped = self.dropped_to_server.map(|count| StageSeen {
            packets_passed: back.first().map_or(0, StageSeen::packets_entered),
            drops: (count > 0).then(|| ("listed".to_owned(), count)).into_iter().collect(),
            ..StageSeen::new("drops", "list")
        });
        let offloads = self.offloads.iter().filter_map(|(name, offloads)| {
            let direction = name.strip_prefix("wire/")?.replace('-', "_");
            Some((direction, *offloads))
        });
        PathSeen {
            to_client: stages("to-client"),
            to_server: dropped.into_iter().chain(back).collect(),
            offloads: offloads.collect(),
            ..PathSeen::default()
        }
    }
}

impl OldOutcome {
    fn convert(self) -> Outcome {
        match self {
            Self::Done => Outcome::Done,
            Self::Unsupported { role } => Outcome::Unsupported { role },
            Self::ServerEnded => Outcome::ServerEnded,
            Self::NeverListened => Outcome::NeverListened,
            Self::ClientTimeout => Outcome::ClientTimeout,
            Self::ClientFailed => Outcome::ClientFailed,
            Self::AgentFailed { error } => Outcome::TestbedFailed { error },
        }
    }
}

impl OldEnd {
    fn convert(&self) -> ProcessEnd {
        ProcessEnd {
            exit_code: self.exit_code,
            signal: self.signal,
            user_time: self.user_time,
            system_time: self.system_time,
            resident_bytes: None,
            processes_left: self.processes_left,
            stray_files: self.stray_files.clone(),
        }
    }
}

impl OldTap {
    fn convert(self, interface: u32) -> TapSeen {
        TapSeen {
            role: if self.name == "sender" { TapRole::Sender } else { TapRole::BehindBottleneck },
            interface,
            snaplen: self.snaplen,
            packets_seen: self.packets_seen,
            packets_lost: self.packets_lost,
            super_packets: None,
            stamps: None,
        }
    }
}

/// They began with the role.
fn lost_log(text: &str) -> LostLog {
    match text.strip_prefix("client: ") {
        Some(what) => LostLog { role: Role::Client, what: what.to_owned() },
        None => LostLog { role: Role::Server, what: text.strip_prefix("server: ").unwrap_or(text).to_owned() },
    }
}
