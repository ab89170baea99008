use serde_json::json;

use super::*;
use crate::{
    forwarder::{Drop, Forwarder, ForwarderReport, MOST_DROPS},
    orders::{Listen, Program, Tap, Transfer, Transport},
    report::{Outcome, Report, TapReport},
    slot::{ORDERS_MAGIC, header},
    stage::StageSeen,
};

const AVAILABLE: u64 = 128 << 20;
const FIRST: u64 = MANIFEST_ROOM;

fn orders() -> Orders {
    let program = || Program {
        command: vec!["/bin/true".into()],
        environment: Default::default(),
        folder: "/".into(),
        awaits_simulator: false,
        host: None,
    };
    Orders {
        machine: None,
        start_shift_ns: 0,
        network: Default::default(),
        has_ipv6: true,
        timer_slack_ns: 0,
        tap: Some(Tap { snaplen_bytes: None, bottleneck_snaplen_bytes: None, room_bytes: 0, of_client: false }),
        transfer: Transfer {
            names: vec!["file".into()],
            size_bytes: 5000,
            seed: 0,
            zeros: false,
            discard: false,
            timeout_ns: 0,
        },
        files: Vec::new(),
        server: program(),
        client: program(),
        listen: Listen { transport: Transport::Udp, port: 443, timeout_ns: 0 },
        log_limit_bytes: 10_000,
        cpus: Default::default(),
        sampling: None,
        profile_period_ns: None,
        cross_traffic: None,
    }
}

fn tap(name: &str, blocks_used: u64) -> TapReport {
    TapReport {
        name: name.into(),
        snaplen: None,
        packets_seen: 0,
        packets_lost: 0,
        block_bytes: 4096,
        blocks_used,
        last_block_bytes: None,
        no_hardware_stamps: None,
        has_headers: false,
    }
}

fn blob(name: &str, offset: u64, length: u64) -> Blob {
    Blob { name: name.into(), offset, length }
}

/// Two captures, the download and a log of each role.
fn good() -> Manifest {
    let report = Report {
        outcome: Outcome::Done,
        server: None,
        client: None,
        client_lifetime_ns: None,
        cpu_use: None,
        qdiscs: Vec::new(),
        drops_to_server: None,
        forwarder: None,
        thefts: None,
        offloads: Default::default(),
        taps: vec![tap("sender", 2), tap("behind-bottleneck", 0)],
        send_sizes: None,
        cut: Default::default(),
        lost_logs: Vec::new(),
        drained: true,
        kernel_release: "6.1".into(),
        cross_traffic: None,
    };
    let blobs = vec![
        blob("tap/sender", FIRST, 8192),
        blob("tap/behind-bottleneck", FIRST + 8192, 0),
        blob("download/file", FIRST + 8192, 5000),
        blob("server/stderr", FIRST + 16_384, 10_000),
        blob("client/qlog/a.sqlog", AVAILABLE - 4096, 4096),
    ];
    Manifest { report, blobs }
}

/// What is wrong with the good results after `change`.
fn error_of(change: impl FnOnce(&mut Manifest)) -> String {
    let mut manifest = good();
    change(&mut manifest);
    check(&manifest, AVAILABLE, &orders()).unwrap_err().to_string()
}

#[test]
fn results_of_an_honest_agent_are_accepted() {
    assert_eq!(check(&good(), AVAILABLE, &orders()), Ok(()));
}

#[test]
fn forty_blobs_with_the_same_bytes_are_refused() {
    let error = error_of(|manifest| {
        manifest.blobs = (0..40).map(|number| blob(&format!("server/{number}"), FIRST, 250)).collect();
    });
    assert!(error.contains("inside \"server/0\", which ends at"), "{error}");
}

#[test]
fn overlaps_are_found_behind_empty_blobs_and_inside_long_ones() {
    let error = error_of(|manifest| {
        manifest.blobs[0].length = 3 * 4096;
        manifest.blobs[1].offset = FIRST + 4096;
    });
    assert!(error.contains("\"download/file\""), "{error}");
}

#[test]
fn blobs_lie_in_their_part_of_the_slot() {
    for (offset, length, part) in [
        (0, 1, "expected them between 2097152 and 134217728"),
        (FIRST - 4096, 1, "expected them between"),
        (AVAILABLE, 1, "found 1 bytes at offset 134217728"),
        (FIRST + 16_384, u64::MAX, "found 18446744073709551615 bytes"),
        (FIRST + 1, 1, "expected a multiple of 4096"),
    ] {
        let error = error_of(|manifest| manifest.blobs[3] = blob("server/stderr", offset, length));
        assert!(error.contains(part) && error.contains("server/stderr"), "{error}");
    }
}

#[test]
fn nothing_but_what_was_ordered_is_taken_out() {
    for name in ["", "server", "metrics.json", "../server/x", "tap/third", "download/other", "download/../file"] {
        let error = error_of(|manifest| manifest.blobs[2].name = name.into());
        assert!(error.contains("expected tap/"), "{error}");
    }
    let error = error_of(|manifest| manifest.blobs[4].name = "server/stderr".into());
    assert!(error.contains("found twice"), "{error}");
    let long = error_of(|manifest| manifest.blobs[2].name = "\u{1b}x".repeat(5000));
    assert!(long.len() < 700 && !long.contains('\u{1b}'), "{long}");
}

#[test]
fn lengths_are_bounded_by_what_was_ordered() {
    let error = error_of(|manifest| manifest.blobs[2].length = 5001);
    assert_eq!(error, "download/file: found 5001 bytes, expected at most 5000");
    let error = error_of(|manifest| manifest.blobs.push(blob("server/more", FIRST + 32_768, 1)));
    assert_eq!(error, "server/: found 10001 bytes, expected at most 10000");
    let error = error_of(|manifest| {
        manifest.blobs = (0..2100).map(|number| blob(&format!("server/{number}"), FIRST, 0)).collect();
    });
    assert_eq!(error, "found 2100 files, expected at most 2003");
}

#[test]
fn a_capture_is_taken_out_once_for_each_tap_that_was_ordered() {
    for names in [&["sender", "sender"][..], &["behind-bottleneck"], &["sender", "behind-bottleneck", "sender"]] {
        let error = error_of(|manifest| manifest.report.taps = names.iter().map(|name| tap(name, 2)).collect());
        assert!(error.contains("found the taps"), "{error}");
    }
    let error = error_of(|manifest| manifest.report.taps[0].blocks_used = 1);
    assert_eq!(error, "tap/sender: found 8192 bytes, expected those of 1 blocks of 4096 bytes");
    let error = error_of(|manifest| manifest.report.taps[0].block_bytes = u64::MAX);
    assert!(error.contains("expected those of 2 blocks of 18446744073709551615 bytes"), "{error}");
    let mut without_taps = orders();
    without_taps.tap = None;
    assert!(check(&good(), AVAILABLE, &without_taps).is_err());
}

fn slot(magic: [u8; 8], length: u64, json: &[u8]) -> Vec<u8> {
    let mut bytes = header(magic, length).to_vec();
    bytes.extend(json);
    bytes
}

#[test]
fn a_manifest_is_read_within_its_room_only() {
    let json = serde_json::to_vec(&good()).unwrap();
    let read = |bytes: &[u8]| read_manifest(&mut &bytes[..], AVAILABLE, &orders());
    assert_eq!(read(&slot(RESULTS_MAGIC, json.len() as u64, &json)).unwrap(), good());
    for length in [MANIFEST_ROOM - BLOCK as u64 + 1, AVAILABLE, u64::MAX] {
        let error = read(&slot(RESULTS_MAGIC, length, &json)).unwrap_err().to_string();
        assert!(error.contains(&format!("found {length} bytes at offset 4096")), "{error}");
    }
    let error = read(&slot(RESULTS_MAGIC, 4, b"{}[]")).unwrap_err().to_string();
    assert!(error.contains("offset 4096 of the slot"), "{error}");
}

#[test]
fn a_slot_without_results_is_described_in_words() {
    let read = |bytes: &[u8]| read_manifest(&mut &bytes[..], AVAILABLE, &orders()).unwrap_err().to_string();
    let error = read(&slot(ORDERS_MAGIC, 2, b"{}"));
    assert_eq!(error, "the slot still holds the orders, so the agent has not handed over any results");
    let error = read(&slot(*b"\x1b[31m\0\0\xff", 2, b"{}"));
    assert_eq!(error, r#"offset 0 of the slot: found the bytes "\x1b[31m\x00\x00\xff", expected "QLRESLT1""#);
}

/// A stage that the forwarder was told, and what it says of it.
fn with_forwarder(change: impl FnOnce(&mut ForwarderReport)) -> Result<(), BlobError> {
    let mut orders = orders();
    let stage =
        |name: &str| serde_json::from_value(json!({ "stage": "delay", "name": name, "delay": "1 ms" })).unwrap();
    orders.network.forwarder = Some(Forwarder {
        to_client: vec![stage("one"), stage("other")],
        to_server: Vec::new(),
        seed: 0,
        reads_packets_of_port: None,
        real_time: None,
    });
    let stage = StageSeen {
        packets_passed: 1,
        bytes_passed: Some(100),
        drops: [("early".to_owned(), 1)].into(),
        ..StageSeen::new("rate", "token_bucket")
    };
    let drop = Drop {
        time_ns: 0,
        to_client: true,
        stage: 0,
        cause: "early".into(),
        packet: 1,
        bytes: 100,
        connection: Some(1),
        datagram: Some(1),
        words: Some("Initial: CRYPTO".into()),
    };
    let mut report = ForwarderReport {
        to_client: vec![stage],
        to_server: Vec::new(),
        drops: vec![drop],
        drops_not_listed: 0,
        lateness: None,
        is_realtime: true,
        super_packets: None,
    };
    change(&mut report);
    let mut manifest = good();
    manifest.report.forwarder = Some(report);
    check(&manifest, AVAILABLE, &orders)
}

#[test]
fn a_forwarders_report_is_bounded_by_its_order() {
    assert_eq!(with_forwarder(|_| ()), Ok(()));
    let refused = |change: fn(&mut ForwarderReport), words: &str| {
        let error = with_forwarder(change).unwrap_err().to_string();
        assert!(error.starts_with("the forwarder's report: ") && error.contains(words), "{error}");
    };
    refused(|report| report.to_client = vec![report.to_client[0].clone(); 3], "found 3");
    refused(|report| report.to_server = report.to_client.clone(), "expected at most 0");
    refused(|report| report.to_client[0].name = "\u{1b}[31m".into(), "expected letters");
    refused(|report| report.to_client[0].drops = [("x".repeat(41), 1)].into(), "expected letters");
    refused(|report| report.to_client[0].counts = [("a b".into(), 1)].into(), "count of a stage");
    refused(|report| report.drops[0].stage = 1, "found 1");
    refused(|report| report.drops[0].cause = "a b".into(), "expected letters");
    refused(|report| report.drops[0].words = Some("x".repeat(401)), "found 401 bytes");
    refused(|report| report.drops = vec![report.drops[0].clone(); MOST_DROPS + 1], "found 10001");
    let mut manifest = good();
    with_forwarder(|report| manifest.report.forwarder = Some(report.clone())).unwrap();
    let error = check(&manifest, AVAILABLE, &orders()).unwrap_err().to_string();
    assert!(error.contains("expected none"), "{error}");
}
