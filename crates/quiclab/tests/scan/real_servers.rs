//! Real servers: each is classified rightly, with the times of the server's side, and passively the same.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use quiclab_experiment::run::{Certificate, FirstAck};
use quiclab_internet::{Behaviour, Internet, Passed, Truth};
use quiclab_testbed::loopback::ServerSettings;
use quiclab_testing::Wakings;
use quiclab_units::Duration;
use quiclab_wire::{CaptureReader, CaptureWriter, PacketToWrite, TapDescription};
use serde_json::Value;

use crate::{
    Case,
    place::{Place, check, rows},
};

/// Stacks that other tests need too.
pub const FEW: &[&str] = &["ngtcp2-1.25", "quiche", "quic-go"];

/// All stacks with a server, in parts: the file system of each has those of the ones before in it, and the kernel has a limit.
const PACKAGED: &[&str] = &["haproxy", "nginx", "ngtcp2", "aioquic", "x-net-quic"];
const RUST: &[&str] = &["noq", "quinn", "s2n-quic", "tokio-quiche", "tquic", "ngtcp2-1.25"];
const OTHERS: &[&str] = &["quiche", "quiche-0.22", "quiche-0.24", "lsquic", "msquic", "quic-go"];
const IN_C: &[&str] = &["neqo", "openssl", "picoquic"];

pub const CASES: &[Case] = &[
    ("real_servers_are_classified_rightly", FEW, real_servers_are_classified_rightly),
    ("servers_of_packages_are_classified_rightly", PACKAGED, || scan_stacks(PACKAGED)),
    ("servers_in_rust_are_classified_rightly", RUST, || scan_stacks(RUST)),
    ("other_servers_are_classified_rightly", OTHERS, || scan_stacks(OTHERS)),
    ("servers_with_libraries_in_c_are_classified_rightly", IN_C, || scan_stacks(IN_C)),
];

/// How exact times are, by the server's side or by when the Internet let the packets go.
const PRECISION_NS: i64 = 50_000;

/// Hosts of each server.
const HOSTS: usize = 40;

/// A server: its name, stack, first answer, and what it is told.
type Kind = (&'static str, &'static str, &'static str, ServerSettings);

fn late(port: u16, first_ack: Option<FirstAck>, delay_ms: u64) -> ServerSettings {
    ServerSettings { first_ack, certificate_delay: Duration::from_millis(delay_ms), ..ServerSettings::at(port) }
}

fn real_servers_are_classified_rightly() {
    let large = ServerSettings {
        certificate: Certificate::Size(quiclab_units::ByteCount::from_bytes(5_113)),
        ..ServerSettings::at(4_444)
    };
    scan(vec![
        ("instant", "ngtcp2-1.25", "instant", late(4_441, Some(FirstAck::Instant), 20)),
        ("waits", "ngtcp2-1.25", "coalesced", late(4_442, Some(FirstAck::Wait), 20)),
        ("padded", "quiche", "instant", late(4_443, Some(FirstAck::Padded), 10)),
        ("large", "quiche", "coalesced", ServerSettings { first_ack: Some(FirstAck::Wait), ..large }),
        (
            "retry",
            "quic-go",
            "coalesced",
            ServerSettings { test_case: "retry".to_owned(), ..ServerSettings::at(4_445) },
        ),
    ]);
}

fn scan_stacks(stacks: &[&'static str]) {
    let kinds = stacks.iter().zip(5_000..).map(|(stack, port)| (*stack, *stack, "", ServerSettings::at(port)));
    scan(kinds.collect());
}

fn scan(kinds: Vec<Kind>) {
    let mut place = Place::enter();
    let mut stacks = BTreeMap::new();
    let mut list = String::new();
    for (number, (name, stack, answer, settings)) in kinds.iter().enumerate() {
        place.serve(name, stack, *answer == "instant", settings);
        for host in 0..HOSTS {
            let network = ["64", "80", "96"][host % 3];
            let address = format!("100.{network}.{number}.{}", host + 1);
            let rtt_ms = [1, 9, 20, 100][host % 4];
            place.host(&address, rtt_ms, Behaviour::Serve { server: (*name).to_owned() });
            list.push_str(&format!("{address} server.example\n"));
            stacks.insert(address, (*stack, *answer, settings.clone(), rtt_ms));
        }
    }
    let (prefixes, list) = (place.file("prefixes", &place.description.prefix2as()), place.file("list", &list));
    let out = place.path("out");
    let internet = Internet::start(&place.description).expect("an Internet");
    let wakings = Wakings::watch();
    let protocols = "h3,hq-interop";
    let prefixes = prefixes.display().to_string();
    check(&place.scan(&list, &out, &["--alpn", protocols, "--capture-every", "1", "--prefixes", &prefixes]));
    let late = wakings.delays();
    let truth = internet.stop().unwrap();
    let rows = rows(&out);
    assert_eq!(rows.len(), stacks.len());
    for (address, (stack, answer, settings, rtt_ms)) in &stacks {
        let row = &rows[address];
        assert_eq!(row["outcome"], "completed", "{stack}: {row}");
        if !answer.is_empty() {
            assert_eq!(row["first_answer"], *answer, "{stack}: {row}");
        }
        assert_eq!(row["stack"], family(stack), "{row}");
        assert_eq!(row["has_retry"], settings.test_case == "retry", "{stack}");
        if settings.first_ack == Some(FirstAck::Padded) {
            assert_eq!(row["is_ack_padded"], true, "{row}");
        }
        let rtt = row["first_rtt_ns"].as_u64().unwrap();
        assert!(rtt >= rtt_ms * 1_000_000, "{stack}: {rtt} ns over {rtt_ms} ms");
        let origin = if address.starts_with("100.64.") { "13335" } else { "" };
        assert!(origin.is_empty() || row["origin_as"] == origin && row["cdn"] == "Cloudflare", "{row}");
    }
    times_are_those_of_the_server(&rows, &truth, &late);
    // Somebody in the middle, without keys, says the same.
    passively_the_same(&place, &rows);
    place.leave();
}

/// Name of the stack's family as the classifier calls it.
fn family(stack: &str) -> &str {
    match stack {
        "quiche-0.22" | "quiche-0.24" | "tokio-quiche" => "quiche",
        "ngtcp2-1.25" => "ngtcp2",
        "quinn" | "noq" => "quinn or noq",
        other => other,
    }
}

/// Checks the times from the first datagram of the server to the one with its ServerHello, as the kernel at the server saw them leave.
/// `late`: by how much this machine woke a thread late meanwhile, from the least to the most.
fn times_are_those_of_the_server(rows: &BTreeMap<String, Value>, truth: &Truth, late: &[std::time::Duration]) {
    let mut errors = Vec::new();
    for flow in &truth.flows {
        let Some(row) = rows.get(&flow.host.ip().to_string()) else { continue };
        let (Some(wait), false) = (row["ack_to_hello_ns"].as_i64(), row["has_retry"] == true) else { continue };
        if row["first_answer"] != "instant" {
            assert_eq!(wait, 0, "{row}");
            continue;
        }
        // An instant ACK is the first datagram. Probes of the client are acknowledged before the ServerHello too.
        let [ack, others @ ..] = &flow.to_client[..] else { panic!("{flow:?}") };
        let error = |other: &Passed| {
            let at_host = other.at_host_ns as i64 - ack.at_host_ns as i64;
            // On a busy machine the Internet lets a packet go when it has time, and knows when that was.
            let let_go = other.at_client_ns.zip(ack.at_client_ns).map(|(other, ack)| other as i64 - ack as i64);
            let error = |expected: i64| (wait - expected).abs();
            let_go.map_or(error(at_host), |let_go| error(let_go).min(error(at_host)))
        };
        errors.push(others.iter().map(error).min().unwrap());
    }
    errors.sort_unstable();
    if let Some(median) = errors.get(errors.len() / 2) {
        eprintln!("{} waits, error: median {median} ns, most {} ns", errors.len(), errors[errors.len() - 1]);
        let late_ns = |tenths: usize| late[late.len() * tenths / 10].as_nanos() as i64;
        assert!(*median <= PRECISION_NS + late_ns(5), "{errors:?}");
        // Each by itself depends on when this machine has time.
        assert!(errors[errors.len() * 9 / 10] <= PRECISION_NS * 20 + 4 * late_ns(9), "{errors:?}");
    }
}

/// The same frames, as a tap writes them that has no keys.
fn without_secrets(from: &Path, to: &Path) {
    let mut reader = CaptureReader::new(fs::File::open(from).unwrap()).unwrap();
    let tap = [TapDescription { name: "tap", snap_length: None }];
    let mut writer = CaptureWriter::new(fs::File::create(to).unwrap(), &tap, None).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        let (time, frame_length, captured) = (frame.time, frame.length, frame.captured);
        writer.write_packet(&PacketToWrite { time, interface: 0, frame_length, captured, direction: None }).unwrap();
    }
    assert!(!reader.summary().secrets.is_empty(), "the scan keeps the keys");
    writer.finish().unwrap();
}

/// The columns that need no keys.
const WITHOUT_KEYS: [&str; 14] = [
    "first_answer",
    "first_ack_ns",
    "first_ack_bytes",
    "is_ack_padded",
    "server_hello_ns",
    "ack_to_hello_ns",
    "first_rtt_ns",
    "unvalidated_received_bytes",
    "unvalidated_sent_bytes",
    "first_flight_datagrams",
    "first_flight_bytes",
    "has_retry",
    "connection_id_bytes",
    "is_complete",
];

fn passively_the_same(place: &Place, active: &BTreeMap<String, Value>) {
    let (capture, blind, found) =
        (place.path("out/packets-00001.pcapng"), place.path("blind.pcapng"), place.path("found.jsonl"));
    without_secrets(&capture, &blind);
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiclab"));
    check(&command.args(["scan", "--from"]).arg(&blind).arg("--rows").arg(&found).output().unwrap());
    let text = fs::read_to_string(&found).unwrap();
    let passive: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(passive.len(), active.len());
    for row in &passive {
        let other = &active[row["server"].as_str().unwrap()];
        for column in WITHOUT_KEYS {
            assert_eq!(row[column], other[column], "{column}\n{row}\n{other}");
        }
    }
}
