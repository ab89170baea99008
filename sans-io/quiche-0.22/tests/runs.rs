//! The program against itself, in two processes, with a network between them that loses.

#[path = "../common/network.rs"]
mod network;

use std::{collections::BTreeMap, fs};

use network::{Folder, LOSSY, MILLISECOND, Network, Outcome, Packet, file, logs};
use quiclab_sans_io::wire::ANSWER_LIMIT;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_quiche-sans-io");

const MIB: usize = 1 << 20;

#[test]
fn a_transfer_completes_and_two_runs_give_the_same_bytes() {
    let folder = Folder::new(PROGRAM, "same");
    for (http, pacing) in [("h3", "txtime"), ("hq", "txtime"), ("hq", "off")] {
        let files = [("file1M", file(MIB))];
        let run = |number| {
            let name = format!("{http}-{pacing}-{number}");
            let outcome = LOSSY.transfer(&folder, &name, &files, &[("QUICLAB_HTTP", http), ("QUICLAB_PACING", pacing)]);
            (outcome, logs(&folder.run(&name)))
        };
        let ((first, first_logs), (second, second_logs)) = (run(1), run(2));
        assert!(first.lost > 10, "{http}: found {} lost datagrams", first.lost);
        assert_eq!(first.packets.len(), second.packets.len(), "{http}");
        for (number, (one, other)) in first.packets.iter().zip(&second.packets).enumerate() {
            assert!(one == other, "{http}: datagram {number} differs: {one:?}, {other:?}");
        }
        assert_eq!(first.end_ns, second.end_ns);
        let names: Vec<_> = first_logs.keys().collect();
        assert!(names.iter().any(|name| name.ends_with("-server.sqlog")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("-client.sqlog")), "{names:?}");
        for (name, log) in &first_logs {
            assert!(second_logs.get(name) == Some(log) && !log.is_empty(), "{http}: {name} differs or is empty");
        }
        // Below the least: one round trip of the handshake, one for the request.
        assert!(first.end_ns >= 80 * MILLISECOND, "{http}: done after {} ns", first.end_ns);
        let sent: usize = first.from("server").map(|packet| packet.payload.len()).sum();
        assert!((MIB..MIB * 5 / 4).contains(&sent), "{http}: the server sent {sent} bytes");
        assert_eq!(first_logs.contains_key("planned.csv"), pacing == "txtime");
    }
}

#[test]
fn another_seed_gives_other_bytes() {
    let folder = Folder::new(PROGRAM, "seeds");
    let files = [("file", file(100))];
    let run = |name, seed: &str| {
        let outcome = LOSSY.transfer(&folder, name, &files, &[("QUICLAB_SEED", &seed.repeat(64))]);
        outcome.packets
    };
    let (one, other) = (run("one", "1"), run("other", "2"));
    assert_eq!(one[0].payload.len(), other[0].payload.len(), "an Initial is padded");
    assert!(one.iter().all(|packet| other.iter().all(|other| packet.payload != other.payload)));
}

#[test]
fn connections_of_one_process_have_handshakes_and_random_bytes_of_their_own() {
    let folder = Folder::new(PROGRAM, "anew");
    let network = Network { delay_ns: 20 * MILLISECOND, lost_every: usize::MAX };
    let run = |name, count| network.connections(&folder, name, &[("file", file(1000))], count);
    let (alone, three) = (run("alone", 1), run("three", 3));
    assert!(alone[0] == three[0], "the first one is not that of a process with one connection");
    assert!(run("again", 3) == three, "two processes differ");
    let bytes = |packets: &[Packet]| packets.iter().map(|packet| packet.payload.len()).sum::<usize>();
    for later in &three[1..] {
        assert!(later[0].payload != three[0][0].payload);
        // A signature's length may differ by some bytes. Without certificate, as in resumption, several hundred would be missing.
        assert!(bytes(later).abs_diff(bytes(&three[0])) < 20, "{} and {}", bytes(later), bytes(&three[0]));
    }
    let keys = fs::read_to_string(folder.run("three").join("keys-client")).unwrap();
    assert_eq!(keys.lines().filter(|line| line.starts_with("CLIENT_HANDSHAKE_TRAFFIC_SECRET")).count(), 3);
}

#[test]
fn what_the_processor_can_do_is_not_seen() {
    let folder = Folder::new(PROGRAM, "processor");
    let files = [("file", file(100_000))];
    // For BoringSSL: an Intel processor, whose RDRAND it would use, with SSE and AES but without AVX.
    let intel = [("OPENSSL_ia32cap", "0x4218020257000000")];
    let [one, other] = [("own", &[][..]), ("intel", &intel)].map(|(name, variables)| {
        let outcome = LOSSY.transfer(&folder, name, &files, variables);
        (outcome.packets, logs(&folder.run(name)))
    });
    assert!(one == other);
}

/// Planned times of the server's packets, with when they were handed over.
fn planned(outcome: &Outcome) -> Vec<(u64, u64)> {
    outcome.from("server").map(|packet| (packet.sent_ns, packet.planned_ns.unwrap())).collect()
}

#[test]
fn planned_times_increase_and_are_not_over_where_a_burst_begins() {
    let folder = Folder::new(PROGRAM, "planned");
    let files = [("file1M", file(MIB))];
    for (name, gso, clock) in [("on", "on", "monotonic"), ("off", "off", "monotonic"), ("tai", "on", "tai")] {
        let variables = [
            ("QUICLAB_GSO", gso),
            ("QUICLAB_TXTIME_CLOCK", clock),
            ("QUICLAB_HTTP", "hq"),
            ("QUICLAB_PACING", "txtime"),
        ];
        let times = planned(&LOSSY.transfer(&folder, name, &files, &variables));
        assert!(times.is_sorted_by_key(|(_, planned)| *planned), "{name}");
        // A burst that was cut short goes on with the time it began with, which may be over; with ETF that would be a drop.
        let lead = if clock == "tai" { 250_000 } else { 0 };
        for pair in times.windows(2) {
            let ((_, before), (sent, planned)) = (pair[0], pair[1]);
            assert!(planned >= sent + lead || (clock != "tai" && planned == before), "{name}: {planned} at {sent}");
        }
        // Most of the file is planned to leave later than at once.
        let ahead = times.iter().filter(|(sent, planned)| *planned > sent + MILLISECOND).count();
        assert!(ahead > times.len() / 2, "{name}: {ahead} of {}", times.len());
        let list = fs::read_to_string(folder.run(name).join("logs/planned.csv")).unwrap();
        assert_eq!((list.lines().count(), list.lines().next()), (times.len() + 1, Some("crc32c,planned_ns")));
        // Each packet has a line in the order of sending, and the first of a buffer has the time of the buffer.
        let listed: Vec<u64> =
            list.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
        assert!(listed.iter().zip(&times).all(|(listed, (_, planned))| listed >= planned));
        assert_eq!(listed.first(), times.first().map(|(_, planned)| planned));
    }
}

#[test]
fn what_is_asked_for_is_done() {
    let folder = Folder::new(PROGRAM, "settings");
    let files = [("a", file(300_000)), ("b", file(0)), ("c", file(70_000))];
    for (name, variables) in [
        ("cubic", [("QUICLAB_CCA", "cubic"), ("QUICLAB_STREAMS", "1")]),
        ("reno", [("QUICLAB_CCA", "reno"), ("QUICLAB_HTTP", "hq")]),
        ("bbr2", [("QUICLAB_CCA", "bbr2"), ("QUICLAB_IP", "6")]),
        ("gso", [("QUICLAB_GSO", "off"), ("QUICLAB_STREAMS", "2")]),
        ("segments", [("QUICLAB_GSO_SEGMENTS", "2"), ("QUICLAB_HTTP", "hq")]),
        ("at once", [("QUICLAB_PACING", "off"), ("QUICLAB_HYSTART", "off")]),
        ("handshake", [("TESTCASE", "handshake"), ("QUICLAB_PORT", "443")]),
    ] {
        let outcome = LOSSY.transfer(&folder, name, &files, &variables);
        let algorithm = match name {
            "reno" => "Reno",
            "bbr2" => "BBR2",
            _ => "CUBIC",
        };
        let log = fs::read_to_string(folder.run(name).join("stderr-server")).unwrap();
        assert!(log.contains(&format!("congestion control: {algorithm}\n")), "{name}: {log}");
        let is_batched = outcome.from("server").any(|packet| packet.is_part);
        assert_eq!(is_batched, name != "gso", "{name}");
        let is_planned = outcome.from("server").any(|packet| packet.planned_ns.is_some());
        assert_eq!(is_planned, name != "at once", "{name}");
    }
}

#[test]
fn a_flight_that_is_too_long_for_one_answer_takes_several() {
    let folder = Folder::new(PROGRAM, "long");
    let files = [("a", file(24 * MIB)), ("b", file(24 * MIB))];
    let network = Network { delay_ns: 20 * MILLISECOND, lost_every: usize::MAX };
    let outcome = network.transfer(&folder, "long", &files, &[("QUICLAB_PACING", "off")]);
    let mut flights = BTreeMap::<u64, usize>::new();
    for packet in outcome.from("server") {
        *flights.entry(packet.sent_ns).or_default() += packet.payload.len();
    }
    let longest = flights.values().max().unwrap();
    assert!(*longest > ANSWER_LIMIT / 2, "the longest flight has {longest} bytes, which fit one answer");
}

#[test]
fn a_client_waits_for_its_turn_with_streams() {
    let folder = Folder::new(PROGRAM, "streams");
    let files: Vec<_> = ["a", "b", "c", "d"].map(|name| (name, file(10))).into();
    let time = |name, streams| {
        let variables = [("QUICLAB_STREAMS", streams), ("QUICLAB_PACING", "off")];
        LOSSY.transfer(&folder, name, &files, &variables).end_ns
    };
    let (one, four) = (time("one", "1"), time("four", "4"));
    assert_eq!(one, four + 3 * 40 * MILLISECOND, "one round trip for each but the first");
}

#[test]
fn a_run_that_fails_ends_with_1_and_what_is_not_supported_with_127() {
    let folder = Folder::new(PROGRAM, "failing");
    let run = folder.run("failing");
    let request = ("REQUESTS", "https://server:443/no-such-file");
    let network = Network { delay_ns: MILLISECOND, lost_every: 1_000_000 };
    assert_eq!(network.statuses(&folder, &run, &[request])[0], 1);
    let log = fs::read_to_string(run.join("stderr-client")).unwrap();
    assert!(log.contains("/no-such-file: found status 404, expected 200"), "{log}");
    let deaf = Network { delay_ns: MILLISECOND, lost_every: 1 };
    assert_eq!(deaf.statuses(&folder, &run, &[request])[0], 1);
    let log = fs::read_to_string(run.join("stderr-client")).unwrap();
    assert!(log.contains("handshake: not there within 10s"), "{log}");
    for (name, value, expected) in [
        ("TESTCASE", "retry", 127),
        ("QUICLAB_PACING", "user", 127),
        ("QUICLAB_NO_SUCH_SETTING", "1", 127),
        ("QUICLAB_SEED", "", 1),
        ("CERTS", "/no/such/folder", 1),
    ] {
        assert_eq!(folder.exit_status(&run, &[request, (name, value)]), expected, "{name}");
    }
}
