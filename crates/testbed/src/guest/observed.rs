//! From what the agent in the guest answered to what a record says of a run.

use quiclab_agent_protocol::{
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    cross_traffic::CrossTrafficReport,
    report::{self, ListedDrops, Report, TapReport},
};
use quiclab_experiment::stack::Role;
use quiclab_record::{
    CrossTrafficSeen, HostSeen, LostLog, Observed, Outcome, PathSeen, ProcessEnd, StageSeen, StampsSeen, TapRole,
    TapSeen, linux::stages_on,
};
use quiclab_units::Duration;

use super::{forwarded, path::StageNames};
use crate::contract::SERVER_PORT;

/// What was seen of a run on `testbed` whose path has stages of these names.
pub fn observed(testbed: &str, report: &Report, names: &StageNames) -> Observed {
    let host = |namespace: &str, end: &Option<report::ProcessEnd>| HostSeen {
        end: end.as_ref().map(process_end),
        // Both hosts are the one guest.
        cpu_use: report.cpu_use,
        queues: nested(report, namespace, HOST_INTERFACE, &[]),
        offloads: report.offloads.get(&format!("{namespace}/{HOST_INTERFACE}")).copied(),
    };
    Observed {
        kernel_release: Some(report.kernel_release.clone()),
        outcome: outcome(&report.outcome),
        client_lifetime: report.client_lifetime_ns.map(Duration::from_nanos),
        server: host("server", &report.server),
        client: host("client", &report.client),
        path: path(report, names),
        cross_traffic: report.cross_traffic.as_ref().map(|seen| cross_traffic(seen, report.drained)),
        taps: (0..).zip(&report.taps).map(|(interface, report)| tap(interface, report)).collect(),
        thefts: report.thefts,
        send_sizes: report.send_sizes.clone(),
        cut_files: report.cut.clone(),
        lost_logs: report.lost_logs.iter().map(|text| lost_log(text)).collect(),
        drained: report.drained,
        ..Observed::nothing(testbed, SERVER_PORT)
    }
}

fn path(report: &Report, names: &StageNames) -> PathSeen {
    let by_kernel = path_of_kernel(report, names);
    match &report.forwarder {
        Some(forwarder) => forwarded::path(forwarder, names.why_in_user_space.as_deref(), by_kernel),
        None => by_kernel,
    }
}

fn path_of_kernel(report: &Report, names: &StageNames) -> PathSeen {
    let stages = |interface, direction, of_disciplines| {
        let mut seen = nested(report, "wire", interface, of_disciplines);
        for stage in &mut seen {
            // These have room for any number of packets, so all that netem drops is lost by chance.
            if let Some(cause) = names.chances.get(&(direction, stage.name.clone()))
                && let Some(count) = stage.drops.remove("queue_full")
            {
                stage.drops.insert((*cause).to_owned(), count);
            }
        }
        seen.sort_by_key(|stage| names.order.iter().position(|name| *name == stage.name));
        seen
    };
    let back = stages(TO_SERVER, "to_server", &names.to_server);
    let listed = report.drops_to_server.map(|counted| listed(counted, names));
    let cards = [("to_client", TO_CLIENT), ("to_server", TO_SERVER)];
    let found = cards.into_iter().filter_map(|(direction, interface)| {
        Some((direction.to_owned(), *report.offloads.get(&format!("wire/{interface}"))?))
    });
    PathSeen {
        to_client: stages(TO_CLIENT, "to_client", &names.to_client),
        to_server: listed.into_iter().chain(back).collect(),
        offloads: found.collect(),
        ..PathSeen::default()
    }
}

fn listed(ListedDrops { seen, dropped }: ListedDrops, names: &StageNames) -> StageSeen {
    StageSeen {
        packets_passed: seen.saturating_sub(dropped),
        drops: (dropped > 0).then(|| ("listed".to_owned(), dropped)).into_iter().collect(),
        ..StageSeen::new(names.drops.as_deref().unwrap_or("drops"), "list")
    }
}

/// What the disciplines on an interface did, the outermost first; those without a name are called by their kind.
fn nested(report: &Report, namespace: &str, interface: &str, names: &[String]) -> Vec<StageSeen> {
    stages_on(&report.qdiscs, namespace, interface, |index, queue| names.get(index).unwrap_or(&queue.kind).clone())
}

fn outcome(outcome: &report::Outcome) -> Outcome {
    match outcome {
        report::Outcome::Done => Outcome::Done,
        report::Outcome::Unsupported { role } => Outcome::Unsupported { role: role_of(role) },
        report::Outcome::ServerEnded => Outcome::ServerEnded,
        report::Outcome::NeverListened => Outcome::NeverListened,
        report::Outcome::ClientTimeout => Outcome::ClientTimeout,
        report::Outcome::ClientFailed => Outcome::ClientFailed,
        report::Outcome::InterfaceGone { role } => Outcome::InterfaceGone { role: role_of(role) },
        report::Outcome::AgentFailed { error } => Outcome::TestbedFailed { error: error.clone() },
    }
}

fn role_of(name: &str) -> Role {
    if name == "client" { Role::Client } else { Role::Server }
}

fn process_end(end: &report::ProcessEnd) -> ProcessEnd {
    ProcessEnd {
        exit_code: end.exit_code,
        signal: end.signal,
        user_time: Duration::from_nanos(end.user_time_ns),
        system_time: Duration::from_nanos(end.system_time_ns),
        resident_bytes: None,
        processes_left: end.processes_left,
        stray_files: end.stray_files.clone(),
    }
}

fn cross_traffic(seen: &CrossTrafficReport, drained: bool) -> CrossTrafficSeen {
    CrossTrafficSeen {
        packets_sent: seen.packets_sent,
        bytes_sent: seen.bytes_sent,
        packets_received: seen.packets_received,
        bytes_received: seen.bytes_received,
        retransmissions: seen.retransmissions,
        lifetime: Duration::from_nanos(seen.lifetime_ns),
        is_complete: seen.is_complete && drained,
    }
}

fn tap(interface: u32, tap: &TapReport) -> TapSeen {
    let is_sender = tap.name == TapRole::Sender.interface_name();
    TapSeen {
        role: if is_sender { TapRole::Sender } else { TapRole::BehindBottleneck },
        interface,
        snaplen: tap.snaplen,
        packets_seen: tap.packets_seen,
        packets_lost: tap.packets_lost,
        super_packets: None,
        stamps: tap.no_hardware_stamps.as_ref().map(|why| StampsSeen {
            by: if why.is_empty() { "hardware" } else { "software" }.to_owned(),
            why: why.clone(),
        }),
    }
}

/// The agent's sentences begin with the role, or with the name of a file in the role's folder.
fn lost_log(text: &str) -> LostLog {
    let role = if text.starts_with("client") || text.starts_with("download/") { Role::Client } else { Role::Server };
    let what = ["server: ", "client: "].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    LostLog { role, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_drops_passes_what_it_saw_and_did_not_drop_even_without_a_discipline_behind_it() {
        let report = serde_json::json!({
            "outcome": { "kind": "done" }, "server": null, "client": null, "client_lifetime_ns": null, "cpu_use": null,
            "qdiscs": [], "offloads": {}, "taps": [], "kernel_release": "6.1", "send_sizes": null, "drained": true,
            "drops_to_server": { "seen": 40, "dropped": 2 }
        });
        let report: Report = serde_json::from_value(report).unwrap();
        let names = StageNames { drops: Some("loss".to_owned()), ..StageNames::default() };
        let [seen] = &path(&report, &names).to_server[..] else { panic!("expected the list alone") };
        assert_eq!((seen.name.as_str(), seen.packets_passed), ("loss", 38));
        assert_eq!(seen.drops, [("listed".to_owned(), 2)].into());
    }
}
