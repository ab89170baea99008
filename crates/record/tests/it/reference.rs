//! docs/reference/record.md has every file and every key of a record, and no others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::common::{NAME, data};
use quiclab_agent_protocol::{
    forwarder::{Lateness, SuperPackets},
    report::{CpuUse, CpuUser, Offloads, StolenTime},
};
use quiclab_experiment::stack::Role;
use quiclab_record::{
    ClockSeen, ClocksSeen, Contents, CrossTrafficSeen, DropSeen, ForwarderSeen, FrequencySeen, HostActivity,
    HostBatches, HostMissing, HostSeen, HostSeries, LostLog, MachineSeen, MachineWindow, Observed, OffsetSeen, Outcome,
    PathSeen, ProcessEnd, Record, StageSeen, StampsSeen, TapRole, TapSeen, TemperatureSeen, TimekeepingSeen,
    layout::FILES,
};
use quiclab_units::Duration;
use serde_json::Value;

const REFERENCE: &str = include_str!("../../../../docs/reference/record.md");

fn section(heading: &str) -> &'static str {
    REFERENCE.split("\n## ").find(|section| section.lines().next() == Some(heading)).unwrap()
}

/// The names in the first column of a section's table.
fn keys(heading: &str) -> BTreeSet<String> {
    let cells = section(heading).lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.split('`').step_by(2)).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_file_is_in_the_reference_as_the_code_has_it() {
    let row = |file: &quiclab_record::layout::RecordFile| {
        let schema = file.schema.map_or(String::new(), |schema| format!("{schema} "));
        let compared = if file.is_compared { "yes " } else { "" };
        format!("| `{}` | {schema}| {compared}| {} |", file.name, file.what)
    };
    let documented: Vec<_> = section("Files").lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(documented, FILES.iter().map(row).collect::<Vec<_>>());
}

/// What was seen of a run in which everything could be seen.
fn everything() -> Observed {
    let time = Duration::from_nanos(1);
    let window = MachineWindow {
        length: time,
        cpus: 1,
        others: Some(time),
        steal: Some(time),
        waiting: Some(time),
        throttles: Some(1),
    };
    let stage = StageSeen { bytes_passed: Some(1), ..StageSeen::new("rate", "tbf") };
    let offloads = Offloads {
        transmit_checksum: true,
        tcp_segmentation: false,
        generic_segmentation: false,
        udp_segmentation: false,
    };
    let host = HostSeen {
        end: Some(ProcessEnd {
            exit_code: Some(0),
            signal: None,
            user_time: time,
            system_time: time,
            resident_bytes: Some(1),
            processes_left: 0,
            stray_files: Vec::new(),
        }),
        cpu_use: Some(CpuUse { of: CpuUser::Machine, time_ns: 1, cpus: 1, share: 0.5 }),
        queues: vec![stage.clone()],
        offloads: Some(offloads),
    };
    let offset = OffsetSeen { at_ns: 1, server_ahead_ns: 1, uncertainty: time, exchanges: 1 };
    Observed {
        kernel_release: Some("6.1".to_owned()),
        outcome: Outcome::Unsupported { role: Role::Client },
        client_lifetime: Some(time),
        server: host.clone(),
        client: host,
        path: PathSeen {
            to_client: vec![stage.clone()],
            to_server: vec![stage],
            offloads: BTreeMap::from([("to_client".to_owned(), offloads)]),
            forwarder: Some(ForwarderSeen {
                why: "codel".to_owned(),
                is_realtime: true,
                lateness: Some(Lateness { packets: 1, median_ns: 1, percentile_99_ns: 1, largest_ns: 1 }),
                super_packets: Some(SuperPackets { whole: 1, cut: 1, packets: 1 }),
            }),
            dropped: vec![DropSeen {
                time,
                direction: "to_client".to_owned(),
                stage: "rate".to_owned(),
                cause: "early".to_owned(),
                packet: 1,
                bytes: 1,
                connection: Some(1),
                datagram: Some(1),
                held: Some("CRYPTO".to_owned()),
            }],
            dropped_not_listed: 1,
        },
        cross_traffic: Some(CrossTrafficSeen {
            packets_sent: 1,
            bytes_sent: 1,
            packets_received: 1,
            bytes_received: 1,
            retransmissions: Some(1),
            lifetime: time,
            is_complete: true,
        }),
        taps: vec![TapSeen {
            role: TapRole::Sender,
            interface: 0,
            snaplen: None,
            packets_seen: 1,
            packets_lost: 0,
            super_packets: Some(1),
            stamps: Some(StampsSeen { by: "software".to_owned(), why: "x".to_owned() }),
        }],
        machine: Some(MachineSeen {
            started_unix_ms: 1,
            not_quiet: vec!["busy".to_owned()],
            waited: time,
            longest_wait: time,
            load_1_minute: Some(1.0),
            before: window,
            during: Some(window),
            frequency: Some(FrequencySeen {
                lowest_khz: 1,
                highest_khz: 1,
                allowed_khz: Some(1),
                hardware_khz: Some(1),
                governors: vec!["performance".to_owned()],
            }),
            hottest: Some(TemperatureSeen { sensor: "x".to_owned(), millidegrees: 1, limit_millidegrees: None }),
        }),
        clocks: Some(ClocksSeen {
            compared: BTreeMap::from([(
                "client".to_owned(),
                ClockSeen::of(offset, Some(OffsetSeen { at_ns: 2, ..offset }), time),
            )]),
            kept: BTreeMap::from([(
                "server".to_owned(),
                TimekeepingSeen {
                    is_synchronised: true,
                    largest_error: time,
                    kept_by: vec!["ptp4l".to_owned()],
                    ptp_clocks: vec!["ptp0: x".to_owned()],
                },
            )]),
        }),
        thefts: Some(StolenTime { count: 1, time_ns: time.as_nanos() }),
        send_sizes: Some(BTreeMap::new()),
        lost_logs: vec![LostLog { role: Role::Server, what: "all".to_owned() }],
        ..Observed::nothing("vm", 443)
    }
}

/// The dotted keys of a value; where a host, a stage or the offloads of a card occur again, they are left out.
fn walk(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    let occurs_again = [
        "client.",
        "path.to_server[]",
        "server.queues[]",
        "server.offloads.",
        "machine.during.",
        "clocks.compared.*.after.",
    ];
    if occurs_again.iter().any(|prefix| place.starts_with(prefix)) {
        return;
    }
    if !place.is_empty() && !place.ends_with("[]") && !place.ends_with('*') {
        found.insert(place.to_owned());
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name =
                    if ["path.offloads", "clocks.compared", "clocks.kept"].contains(&place) { "*" } else { name };
                let below = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
                walk(member, &below, found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| walk(element, &format!("{place}[]"), found)),
        _ => {}
    }
}

#[test]
fn every_key_of_what_was_seen_is_in_the_reference() {
    let observed = everything();
    let json = observed.to_json();
    assert_eq!(serde_json::from_str::<Observed>(&json).unwrap(), observed);
    let mut found = BTreeSet::new();
    walk(&serde_json::from_str(&json).unwrap(), "", &mut found);
    // Described by their parts.
    for whole in ["outcome", "path"] {
        assert!(found.remove(whole));
    }
    assert_eq!(keys("path.json"), found);
}

#[test]
fn every_key_of_what_the_hosts_did_is_in_the_reference() {
    let text = || "x".to_owned();
    let activity = HostActivity {
        schema: 1,
        times_ns: vec![0],
        series: vec![HostSeries {
            of: text(),
            kind: text(),
            process: Some(1),
            number: Some(1),
            name: Some(text()),
            first_step: 0,
            counters: BTreeMap::new(),
        }],
        system_calls: BTreeMap::new(),
        batches: vec![HostBatches { of: text(), sent: true, packets: BTreeMap::new(), largest_bytes: 1 }],
        missing: vec![HostMissing { what: text(), reason: text() }],
        threads_not_listed: 0,
    };
    let mut found = BTreeSet::new();
    walk(&serde_json::from_str(&activity.to_json()).unwrap(), "", &mut found);
    assert_eq!(keys("host.json"), found);
}

#[test]
fn every_key_of_the_other_files_is_in_the_reference() {
    let record = Record::load(&data("vm").join(NAME)).unwrap();
    let run: toml::Table = record.run.to_toml().unwrap().parse().unwrap();
    assert_eq!(keys("run.toml"), run.keys().cloned().collect());
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x"), "x").unwrap();
    Contents::write(folder.path()).unwrap();
    let contents: Value = serde_json::from_slice(&fs::read(folder.path().join("contents.json")).unwrap()).unwrap();
    let facts = contents["files"]["x"].as_object().unwrap().keys().map(|key| format!("files.*.{key}"));
    let found = contents.as_object().unwrap().keys().cloned().chain(facts);
    assert_eq!(keys("contents.json"), found.collect());
}

#[test]
fn what_stands_in_the_reference_of_schemas_has_a_test_with_a_record_of_it() {
    for file in FILES.iter().filter(|file| file.oldest_schema < file.schema) {
        let rows = section("Schemas").lines().filter(|line| line.starts_with(&format!("| `{}` | 1", file.name)));
        assert_eq!(rows.count(), 1, "{}", file.name);
    }
    assert!((1..quiclab_metrics::SCHEMA).all(|schema| data("metrics").join(format!("{schema}.json")).is_file()));
}
