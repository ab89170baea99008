//! docs/reference/record.md has every file and every key of a record, and no others.

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use common::{NAME, data};
use quiclab_experiment::stack::Role;
use quiclab_record::{
    Contents, CpuUse, CpuUser, DropSeen, ForwarderSeen, HostSeen, LatenessSeen, LostLog, Observed, Offloads, Outcome,
    PathSeen, ProcessEnd, Record, StageSeen, TapRole, TapSeen, Thefts, layout::FILES,
};
use quiclab_units::Duration;
use serde_json::Value;

const REFERENCE: &str = include_str!("../../../docs/reference/record.md");

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
        cpu_use: Some(CpuUse { of: CpuUser::Machine, time, cpus: 1, share: 0.5 }),
        queues: vec![stage.clone()],
        offloads: Some(offloads),
    };
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
                lateness: Some(LatenessSeen { packets: 1, median: time, percentile_99: time, largest: time }),
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
        taps: vec![TapSeen { role: TapRole::Sender, interface: 0, snaplen: None, packets_seen: 1, packets_lost: 0 }],
        thefts: Some(Thefts { count: 1, time }),
        send_sizes: Some(BTreeMap::new()),
        lost_logs: vec![LostLog { role: Role::Server, what: "all".to_owned() }],
        ..Observed::nothing("vm", 443)
    }
}

/// The dotted keys of a value; where a host, a stage or the offloads of a card occur again, they are left out.
fn walk(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    let occurs_again = ["client.", "path.to_server[]", "server.queues[]", "server.offloads."];
    if occurs_again.iter().any(|prefix| place.starts_with(prefix)) {
        return;
    }
    if !place.is_empty() && !place.ends_with("[]") && !place.ends_with('*') {
        found.insert(place.to_owned());
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = if place == "path.offloads" { "*" } else { name };
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
