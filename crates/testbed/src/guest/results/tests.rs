use etherparse::PacketBuilder;
use quiclab_agent_protocol::{
    contents::Contents,
    orders::{Listen, Program, Tap, Transfer, Transport},
    report::{self, Report, TapReport},
    slot::{Blob, MANIFEST_ROOM, RESULTS_MAGIC, header},
};
use quiclab_experiment::run::Settings;
use quiclab_units::ByteCount;
use quiclab_wire::Capture;

use super::*;
use crate::contract::{SERVER_PORT, contents_seed, file_names};

const BLOCK_BYTES: usize = 4096;

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
            size_bytes: 8,
            seed: 0,
            zeros: false,
            discard: false,
            timeout_ns: 0,
        },
        files: Vec::new(),
        server: program(),
        client: program(),
        listen: Listen { transport: Transport::Udp, port: 443, timeout_ns: 0 },
        log_limit_bytes: 40 << 20,
        cpus: Default::default(),
        sampling: None,
        profile_period_ns: None,
        cross_traffic: None,
    }
}

/// A slot with these blobs, one behind the other; those named `tap/...` become taps.
fn slot(blobs: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; MANIFEST_ROOM as usize];
    let mut listed = Vec::new();
    for (name, contents) in blobs {
        listed.push(Blob { name: (*name).into(), offset: bytes.len() as u64, length: contents.len() as u64 });
        bytes.extend(*contents);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
    }
    let taps = listed.iter().filter_map(|blob| {
        let name = blob.name.strip_prefix("tap/")?.to_owned();
        let blocks_used = blob.length / BLOCK_BYTES as u64;
        let block_bytes = BLOCK_BYTES as u64;
        Some(TapReport {
            name,
            snaplen: Some(100),
            packets_seen: 0,
            packets_lost: 0,
            block_bytes,
            blocks_used,
            last_block_bytes: None,
            no_hardware_stamps: None,
            has_headers: false,
        })
    });
    let report = Report {
        outcome: report::Outcome::Done,
        server: None,
        client: None,
        client_lifetime_ns: None,
        cpu_use: None,
        qdiscs: Vec::new(),
        drops_to_server: None,
        thefts: None,
        forwarder: None,
        offloads: Default::default(),
        taps: taps.collect(),
        send_sizes: None,
        cut: Default::default(),
        lost_logs: Vec::new(),
        drained: true,
        kernel_release: "6.1".into(),
        cross_traffic: None,
    };
    let json = serde_json::to_vec(&Manifest { report, blobs: listed }).unwrap();
    bytes[..slot::BLOCK].copy_from_slice(&header(RESULTS_MAGIC, json.len() as u64));
    bytes[slot::BLOCK..slot::BLOCK + json.len()].copy_from_slice(&json);
    bytes
}

fn open(bytes: &[u8]) -> Result<Results<&[u8]>, SlotError> {
    Results::open("vm", bytes, &orders(), &StageNames::default())
}

/// A block of a ring with packets of these times, lengths on the wire and captured lengths.
fn ring(packets: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut block = vec![0_u8; BLOCK_BYTES];
    let mut put = |offset: usize, value: u32| block[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    put(12, packets.len() as u32);
    put(16, 48);
    for (number, (seconds, length, captured)) in packets.iter().enumerate() {
        let at = 48 + number * 256;
        for (field, value) in [(0, 256), (4, *seconds), (12, *captured), (16, *length), (24, 82)] {
            put(at + field, value);
        }
    }
    block
}

#[test]
fn captures_and_logs_come_out_of_the_slot() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = slot(&[
        ("tap/sender", &ring(&[(2, 90, 90), (3, 1500, 100)])),
        ("tap/behind-bottleneck", &ring(&[(1, 60, 60)])),
        ("server/qlog/a", b"a log"),
        ("client/keys.log", b"secret\nsecret\n"),
    ]);
    let mut results = open(&bytes).unwrap();
    results.write_endpoint_files(folder.path()).unwrap();
    assert_eq!(fs::read(folder.path().join("server/qlog/a")).unwrap(), b"a log");
    assert_eq!(results.observed().lost_logs, []);
    let mut written = Vec::new();
    results.write_capture(&mut written).unwrap();
    let capture = Capture::read(&written[..]).unwrap();
    assert_eq!(capture.interfaces.len(), 2);
    assert_eq!(capture.skipped.values().sum::<u64>(), 3, "zeros are no packets of QUIC");
    assert!(written.windows(7).any(|window| window == b"secret\n"));
}

/// Why a run of 8 bytes failed whose client has them, where these payloads of the server, in bytes, passed the taps.
fn failure(sender: &[usize], behind: &[usize]) -> Option<RunFailure> {
    let run = {
        let (experiment, label) = ("x".to_owned(), String::new());
        let mut settings = Settings::default();
        settings.workload.size = ByteCount::from_bytes(8);
        Run { experiment, repetition: 1, seed: 1, start_shift: Default::default(), settings, label }
    };
    let name = file_names(&run.settings.workload).remove(0);
    let mut contents = Vec::new();
    Contents::new(contents_seed(&run), 8).read_to_end(&mut contents).unwrap();
    let [sender, behind] = [sender, behind].map(ring_of_server);
    let download = format!("download/{name}");
    let blobs: [(&str, &[u8]); 3] =
        [("tap/sender", &sender), ("tap/behind-bottleneck", &behind), (&download, &contents)];
    let bytes = slot(&blobs);
    let mut orders = orders();
    orders.transfer.names = vec![name];
    Results::open("vm", &bytes[..], &orders, &StageNames::default()).unwrap().failure(&run).unwrap()
}

/// A block of a ring with a datagram of the server for each payload.
fn ring_of_server(payloads: &[usize]) -> Vec<u8> {
    let packets: Vec<_> = payloads.iter().map(|payload| (1, 42 + *payload as u32, 42)).collect();
    let mut block = ring(&packets);
    for (number, payload) in payloads.iter().enumerate() {
        let at = 48 + number * 256;
        let mut frame = Vec::new();
        let packet = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        packet.udp(SERVER_PORT, 50_000).write(&mut frame, &vec![7; *payload]).unwrap();
        // `PACKET_OUTGOING`, in the address behind the header.
        block[at + 58] = 4;
        // The headers are captured.
        block[at + 82..at + 82 + 42].copy_from_slice(&frame[..42]);
    }
    block
}

#[test]
fn files_that_the_packets_cannot_have_carried_fail_the_run() {
    assert_eq!(failure(&[8], &[8]), None);
    assert_eq!(failure(&[3, 5], &[5, 3]), None);
    let otherwise = |tap: &str, packets, payload_bytes| {
        Some(RunFailure::ArrivedOtherwise { tap: tap.into(), packets, payload_bytes, arrived: 8 })
    };
    assert_eq!(failure(&[7], &[8]), otherwise("sender", 1, 7));
    assert_eq!(failure(&[8], &[3, 4]), otherwise("behind-bottleneck", 2, 7));
    assert_eq!(failure(&[], &[]), otherwise("sender", 0, 0));
}

#[test]
fn a_server_that_sends_past_its_tap_fails_the_run() {
    assert_eq!(failure(&[8], &[4, 4]), Some(RunFailure::HiddenPackets { hidden: 2, behind: 2 }));
    // The bottleneck may drop some.
    assert_eq!(failure(&[4, 4, 8], &[8]), None);
    // As many as were seen, but another one.
    assert_eq!(failure(&[4, 4, 8], &[4, 3, 8]), Some(RunFailure::HiddenPackets { hidden: 1, behind: 3 }));
}

#[test]
fn names_that_a_record_cannot_have_cost_the_log_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("server/{}", "\u{fffd}".repeat(255));
    let deep = format!("server/{}", "d/".repeat(1500));
    let names = [
        "server/fine",
        "server/../../outside",
        "server//absolute",
        "server/nul\0",
        long.as_str(),
        deep.as_str(),
        "server/fine/below a file",
        "client/escape \u{1b}[31m",
    ];
    let bytes = slot(&names.map(|name| (name, &b"x"[..])));
    let mut results = open(&bytes).unwrap();
    results.write_endpoint_files(&folder.path().join("draft")).unwrap();
    let draft = folder.path().join("draft");
    assert!(draft.join("server/fine").is_file() && draft.join("client/escape \u{1b}[31m").is_file());
    assert!(draft.join("server/absolute").is_file());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was written outside");
    let lost: Vec<_> = results.observed().lost_logs.iter().map(|lost| lost.what.as_str()).collect();
    assert_eq!(lost.len(), 5, "{lost:?}");
    assert!(lost.iter().all(|what| what.len() < 500 && what.contains("is not kept")), "{lost:?}");
}

#[test]
fn a_forged_ring_fails_the_run_with_its_place_and_takes_no_memory() {
    let mut forged = ring(&[(1, 60, 60)]);
    forged[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
    forged[48..52].copy_from_slice(&0_u32.to_ne_bytes());
    let bytes = slot(&[("tap/sender", &forged)]);
    let error = open(&bytes).unwrap().write_capture(io::sink()).unwrap_err();
    let why = damaged_capture(&error).unwrap();
    assert_eq!(
        why,
        "capture ring, block 0, packet 0: found the next packet 0 bytes further, expected 142 or more, behind this one"
    );
    // More bytes than the tap says to keep of each packet.
    let bytes = slot(&[("tap/sender", &ring(&[(1, 150, 150)]))]);
    let error = open(&bytes).unwrap().write_capture(io::sink()).unwrap_err();
    assert!(damaged_capture(&error).unwrap().contains("expected at most 100"), "{error}");
}

#[test]
fn a_disk_that_is_full_is_not_taken_for_a_forged_capture() {
    let bytes = slot(&[("tap/sender", &ring(&[(1, 60, 60)]))]);
    let full = BufWriter::with_capacity(8, File::options().write(true).open("/dev/full").unwrap());
    let error = open(&bytes).unwrap().write_capture(full).unwrap_err();
    assert_eq!(damaged_capture(&error), None);
    assert!(error.to_string().contains("No space left"), "{error}");
}

#[test]
fn secrets_that_fit_no_capture_are_cut_at_a_line_and_noted() {
    let lines: String = (0..2_000_000).map(|number| format!("LABEL {number:010}\n")).collect();
    let bytes = slot(&[("tap/sender", &ring(&[])), ("client/keys.log", lines.as_bytes())]);
    let mut results = open(&bytes).unwrap();
    let mut written = Vec::new();
    results.write_capture(&mut written).unwrap();
    let capture = Capture::read(&written[..]).unwrap();
    assert_eq!(capture.secrets.len(), 1);
    let [lost] = &results.observed().lost_logs[..] else { panic!("expected one note") };
    assert!(lost.what.contains("found 34000000 bytes of TLS secrets"), "{}", lost.what);
}

#[test]
fn a_slot_that_ends_early_has_no_results() {
    let whole = slot(&[("server/stderr", b"words")]);
    for length in [0, 1, 4095, 4096, 4100, MANIFEST_ROOM as usize, whole.len() - 4096] {
        assert!(open(&whole[..length]).is_err(), "cut at {length}");
    }
}
