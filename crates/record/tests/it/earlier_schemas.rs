//! Records of every earlier schema are read.
//!
//! `data/vm` holds a record as the first schemas had it. `data/path` and `data/metrics` hold the forms that `path.json` and `metrics.json` had
//! over time, with the values of that record.

use std::{collections::BTreeMap, fs, path::Path};

use crate::common::{NAME, copy_of_record, data};
use quiclab_experiment::stack::Role;
use quiclab_metrics::{MetricsFileError, RunMetrics};
use quiclab_record::{LostLog, Outcome, Record, StageSeen, TapRole, layout::RUN_SCHEMA, read_observed};

fn drops(stage: &StageSeen) -> Vec<(&str, u64)> {
    stage.drops.iter().map(|(cause, count)| (cause.as_str(), *count)).collect()
}

#[test]
fn a_record_of_the_first_schemas_is_read_with_its_meaning() {
    let folder = data("vm").join(NAME);
    let record = Record::load(&folder).unwrap();
    assert_eq!((record.run.schema, record.run.kind.as_str()), (RUN_SCHEMA, "transfer"));
    assert_eq!(record.run.id, "2b01485dbc44d56e");
    assert_eq!(record.run.run.settings.stack.client, "quic-go");
    assert_eq!(record.run.versions["testbed"], "vm");
    let seen = &record.observed;
    assert_eq!((seen.testbed.as_str(), seen.kernel_release.as_deref()), ("vm", Some("6.1.0-56-cloud-amd64")));
    assert_eq!((&seen.outcome, seen.server_port), (&Outcome::Done, 443));
    assert_eq!(seen.client_lifetime.unwrap().as_nanos(), 147_742_199);
    assert_eq!(seen.server.end.as_ref().unwrap().signal, Some(15));
    assert_eq!(seen.client.end.as_ref().unwrap().system_time.as_nanos(), 30_471_000);
    let names: Vec<_> = seen.path.to_client.iter().map(|stage| (stage.name.as_str(), stage.kind.as_str())).collect();
    assert_eq!(names, [("delay", "netem"), ("rate", "tbf")], "in the order in which packets pass them");
    assert_eq!(seen.path.to_client[1].counts["overlimits"], 18);
    assert_eq!(seen.path.to_server[0].packets_passed, 16);
    assert_eq!((seen.drops_to_receiver(Role::Server), seen.server.queues.len()), (Some(0), 0));
    assert_eq!(seen.interface_of(TapRole::BehindBottleneck), Some(1));
    assert!(!seen.server.offloads.unwrap().udp_segmentation && seen.path.offloads["to_client"].transmit_checksum);
    // The metrics are of an earlier schema than the current one: they were measured again from the capture.
    let text = fs::read_to_string(folder.join("metrics.json")).unwrap();
    assert!(matches!(RunMetrics::from_json(&text), Err(MetricsFileError::Schema { found: 5 })));
    assert_eq!(record.metrics.metrics.packets_sent, Some(23));
}

#[test]
fn metrics_of_every_earlier_schema_are_measured_again_from_the_capture() {
    let current = Record::load(&data("vm").join(NAME)).unwrap().metrics.metrics;
    assert!(current.packets_sent == Some(23) && current.cpu_busy_share.is_some() && current.drops_packets == Some(0));
    for schema in 1..quiclab_metrics::SCHEMA {
        let copy = copy_of_record();
        let record = copy.path().join(NAME);
        let older = fs::read(data("metrics").join(format!("{schema}.json"))).unwrap();
        fs::write(record.join("metrics.json"), &older).unwrap();
        assert_eq!(Record::load(&record).unwrap().metrics.metrics, current, "schema {schema}");
        assert_eq!(fs::read(record.join("metrics.json")).unwrap(), older, "the record stays as it is");
    }
}

/// `path.json` in one of its earlier forms.
fn earlier(form: &str) -> quiclab_record::Observed {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(data("path").join(form), folder.path().join("path.json")).unwrap();
    read_observed(folder.path(), None).unwrap_or_else(|error| panic!("{form}: {error}"))
}

#[test]
fn every_earlier_form_of_what_was_seen_is_read() {
    let current = earlier("../vm/ngtcp2-01-2b01485dbc44d56e/path.json");
    let first = earlier("first.json");
    assert_eq!(first.path, current.path);
    assert_eq!(first.client.end, current.client.end);
    let two_stacks = earlier("two-stacks.json");
    assert_eq!(two_stacks.cut_files, BTreeMap::from([("client/stdout".to_owned(), 1_951_424)]));
    assert_eq!(two_stacks.send_sizes, Some(BTreeMap::from([(1294, 12)])));
    let last = earlier("last.json");
    assert_eq!(drops(&last.path.to_client[0]), [("queue_full", 7)]);
    assert_eq!(drops(&last.path.to_client[1]), [], "the bucket counts the drops of the delay line in it");
    assert_eq!(last.drops_to_receiver(Role::Server), Some(7));
    assert_eq!(drops(&last.path.to_server[0]), [("listed", 2)]);
    assert_eq!(last.path.to_server[0].packets_passed, 16);
    assert_eq!(drops(&last.server.queues[0]), [("horizon", 3)]);
    assert_eq!(last.server.queues[0].counts["throttled"], 9);
    assert_eq!(last.thefts.unwrap().time_ns, 5_000_000);
    assert_eq!(last.client.end.unwrap().processes_left, 1);
    let lost = |role, what: &str| LostLog { role, what: what.to_owned() };
    assert_eq!(
        last.lost_logs,
        [
            lost(Role::Server, "the folder of logs is full at 16 MiB, and what came later is missing"),
            lost(Role::Client, "502 of 1502 log files are not kept")
        ]
    );
    let simulated = earlier("simulated.json");
    assert_eq!((simulated.testbed.as_str(), simulated.kernel_release), ("sim", None));
    assert_eq!(simulated.path.to_client[0].kind, "token_bucket");
    assert_eq!(drops(&simulated.path.to_client[0]), [("unspecified", 4)], "it did not tell causes apart");
}

#[test]
fn a_newer_schema_is_refused_with_the_version_that_reads_it() {
    let newer = |file: &str, from: &str, to: &str| {
        let copy = copy_of_record();
        let record = copy.path().join(NAME);
        let run = fs::read_to_string(record.join("run.toml")).unwrap();
        fs::write(record.join("run.toml"), run.replace("quiclab = \"0.1.0\"", "quiclab = \"7.8.9\"")).unwrap();
        let text = fs::read_to_string(record.join(file)).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(record.join(file), text.replacen(from, to, 1)).unwrap();
        Record::load(&record).unwrap_err().to_string()
    };
    for (file, from, to) in [
        ("run.toml", "id = ", "schema = 99\nid = "),
        ("path.json", "{", "{\"schema\": 99,"),
        ("metrics.json", "\"schema\": 5", "\"schema\": 99"),
    ] {
        let error = newer(file, from, to);
        for part in [file, "found schema 99", "reads schemas 1 to", "use quiclab 7.8.9"] {
            assert!(error.contains(part), "lacks {part:?}: {error}");
        }
    }
}

#[test]
fn a_record_of_another_kind_is_no_transfer() {
    let copy = copy_of_record();
    let record = copy.path().join(NAME);
    let run = fs::read_to_string(record.join("run.toml")).unwrap();
    fs::write(record.join("run.toml"), format!("schema = 2\nkind = \"scenario\"\n{run}")).unwrap();
    let error = Record::load(Path::new(&record)).unwrap_err().to_string();
    assert!(error.contains("found a record of a scenario, expected one of a transfer"), "{error}");
}
