//! A transfer between two processes, over a wire with delay and loss.

mod harness;

use std::collections::BTreeMap;

use harness::{Folder, exchange, transfer};

const MIB: usize = 1024 * 1024;

/// Longest datagram without segmentation.
const LONGEST: usize = 1500;

#[test]
fn a_file_arrives_and_two_runs_give_the_same_bytes() {
    for http in ["h3", "hq"] {
        let folder = Folder::new(&format!("same-{http}"), &[("file", MIB)]);
        let variables = [("QUICLAB_HTTP", http)];
        let first = transfer(&folder, &["file"], &variables);
        // A round trip for the handshake, one for the request, and what slow start takes from 10 packets on.
        assert!(first.end_ns() > 160_000_000 && first.end_ns() < 5_000_000_000, "{http}: {} ns", first.end_ns());
        assert!(first.datagrams.iter().all(|sent| sent.payload.len() <= LONGEST));
        assert!(first.largest_batch > 1, "{http}: nothing was batched");
        let second = transfer(&folder, &["file"], &variables);
        assert!(first == second, "{http}: {} and {} datagrams", first.datagrams.len(), second.datagrams.len());
    }
}

#[test]
fn another_seed_gives_other_bytes() {
    let folder = Folder::new("seed", &[("file", 1000)]);
    let first = transfer(&folder, &["file"], &[]);
    let second = transfer(&folder, &["file"], &[("QUICLAB_SEED", &"9".repeat(64))]);
    assert!(first != second);
}

#[test]
fn every_congestion_control_gets_there_with_and_without_batches() {
    let folder = Folder::new("control", &[("file", MIB)]);
    for control in ["cubic", "reno", "bbr"] {
        for gso in ["on", "off"] {
            let trace = transfer(&folder, &["file"], &[("QUICLAB_CCA", control), ("QUICLAB_GSO", gso)]);
            assert_eq!(trace.largest_batch > 1, gso == "on", "{control} {gso}");
        }
    }
}

#[test]
fn many_files_come_over_few_streams() {
    let names = ["a", "b", "c", "d", "e"];
    let folder = Folder::new("streams", &names.map(|name| (name, 50_000)));
    for http in ["h3", "hq"] {
        for streams in ["1", "2", "200"] {
            transfer(&folder, &names, &[("QUICLAB_HTTP", http), ("QUICLAB_STREAMS", streams)]);
        }
    }
    let empty = Folder::new("empty", &[("nothing", 0)]);
    for http in ["h3", "hq"] {
        transfer(&empty, &["nothing"], &[("QUICLAB_HTTP", http), ("TESTCASE", "handshake"), ("QUICLAB_IP", "6")]);
    }
}

#[test]
fn qlogs_and_key_logs_are_written_repeat_and_change_no_packet() {
    let folder = Folder::new("logs", &[("file", 100_000)]);
    let (qlog, keys) = (folder.0.join("qlog"), folder.0.join("keys"));
    let plain = transfer(&folder, &["file"], &[]);
    let logs = [("QLOGDIR", qlog.to_str().unwrap()), ("SSLKEYLOGFILE", keys.to_str().unwrap())];
    let mut runs = Vec::new();
    for _ in 0..2 {
        assert!(plain == transfer(&folder, &["file"], &logs));
        let paths = std::fs::read_dir(&qlog).unwrap().map(|entry| entry.unwrap().path());
        runs.push(paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<BTreeMap<_, _>>());
        let lines = std::fs::read_to_string(&keys).unwrap();
        for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0"] {
            assert_eq!(lines.lines().filter(|line| line.starts_with(label)).count(), 2 * runs.len(), "{label}");
        }
    }
    assert!(runs[0].len() == 2 && runs[0].values().all(|text| text.len() > 1000));
    assert!(runs[0] == runs[1]);
}

#[test]
fn a_file_that_is_not_there_fails_the_client_only() {
    let folder = Folder::new("missing", &[]);
    for http in ["h3", "hq"] {
        let (_, statuses) = exchange(&folder, &["file"], &[("QUICLAB_HTTP", http)]);
        assert_eq!(statuses, [Some(1), Some(0)], "{http}");
    }
}

#[test]
fn a_certificate_of_somebody_else_fails_the_client_only() {
    let (folder, other) = (Folder::new("mine", &[("file", 1)]), Folder::new("other", &[]));
    std::fs::copy(other.0.join("certs/ca.pem"), folder.0.join("certs/ca.pem")).unwrap();
    let (_, statuses) = exchange(&folder, &["file"], &[]);
    assert_eq!(statuses, [Some(1), Some(0)]);
}

#[test]
fn what_it_cannot_do_is_127() {
    for (name, value) in [("QUICLAB_PACING", "txtime"), ("TESTCASE", "retry"), ("QUICLAB_CCA", "bbr3")] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ngtcp2-sans-io"));
        let seed = "0".repeat(64);
        command.env_clear().envs([("ROLE", "server"), ("TESTCASE", "transfer"), ("QUICLAB_SEED", seed.as_str())]);
        assert_eq!(command.env(name, value).status().unwrap().code(), Some(127), "{name}={value}");
    }
}
