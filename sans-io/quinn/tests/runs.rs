//! The program against itself, in two processes, with a network between them that loses.

#[path = "../common/network.rs"]
mod network;

use std::fs;

use network::{Folder, LOSSY, MILLISECOND, Network, Packet, file};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_quinn-sans-io");

const MIB: usize = 1 << 20;

#[test]
fn a_transfer_completes_and_two_runs_give_the_same_bytes() {
    let folder = Folder::new(PROGRAM, "same");
    for http in ["h3", "hq"] {
        let files = [("file1M", file(MIB))];
        let run = |number| {
            let name = format!("{http}-{number}");
            let outcome = LOSSY.transfer(&folder, &name, &files, &[("QUICLAB_HTTP", http)]);
            let logs = ["keys-client", "keys-server", "qlog/quinn-client-1.sqlog", "qlog/quinn-server-1.sqlog"];
            (outcome, logs.map(|log| fs::read(folder.run(&name).join(log)).unwrap()))
        };
        let ((first, first_logs), (second, second_logs)) = (run(1), run(2));
        assert!(first.lost > 10, "{http}: found {} lost datagrams", first.lost);
        assert_eq!(first.packets.len(), second.packets.len(), "{http}");
        for (number, (one, other)) in first.packets.iter().zip(&second.packets).enumerate() {
            assert!(one == other, "{http}: datagram {number} differs: {one:?}, {other:?}");
        }
        assert_eq!(first.end_ns, second.end_ns);
        assert!(first_logs == second_logs, "{http}: key logs or qlogs differ");
        assert!(first_logs.iter().all(|log| !log.is_empty()));

        // Below the least: one round trip of the handshake, one for the request.
        assert!(first.end_ns >= 80 * MILLISECOND, "{http}: done after {} ns", first.end_ns);
        let sent: usize = first.from("server").map(|packet| packet.payload.len()).sum();
        assert!((MIB..MIB * 5 / 4).contains(&sent), "{http}: the server sent {sent} bytes");
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
fn what_is_asked_for_is_done() {
    let folder = Folder::new(PROGRAM, "settings");
    let files = [("a", file(300_000)), ("b", file(0)), ("c", file(70_000))];
    for (name, variables) in [
        ("cubic", [("QUICLAB_CCA", "cubic"), ("QUICLAB_STREAMS", "1")]),
        ("reno", [("QUICLAB_CCA", "reno"), ("QUICLAB_HTTP", "hq")]),
        ("bbr", [("QUICLAB_CCA", "bbr"), ("QUICLAB_IP", "6")]),
        ("gso", [("QUICLAB_GSO", "off"), ("QUICLAB_STREAMS", "2")]),
        ("handshake", [("TESTCASE", "handshake"), ("QUICLAB_PORT", "443")]),
    ] {
        let outcome = LOSSY.transfer(&folder, name, &files, &variables);
        let algorithm = if matches!(name, "reno" | "bbr") { name } else { "cubic" };
        let log = fs::read_to_string(folder.run(name).join("stderr-server")).unwrap();
        assert!(log.contains(&format!("congestion control: {algorithm}\n")), "{name}: {log}");
        let is_batched = outcome.from("server").any(|packet| packet.is_part);
        assert_eq!(is_batched, name != "gso", "{name}");
        assert!(outcome.from("server").any(|packet| packet.ecn == 2), "{name}: nothing with ECT(0)");
    }
}

#[test]
fn a_client_waits_for_its_turn_with_streams() {
    let folder = Folder::new(PROGRAM, "streams");
    let files: Vec<_> = ["a", "b", "c", "d"].map(|name| (name, file(10))).into();
    let time = |name, streams| LOSSY.transfer(&folder, name, &files, &[("QUICLAB_STREAMS", streams)]).end_ns;
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
    assert!(log.contains("handshake: not done within 10s"), "{log}");
    for (name, value, expected) in [
        ("TESTCASE", "retry", 127),
        ("QUICLAB_PACING", "txtime", 127),
        ("QUICLAB_NO_SUCH_SETTING", "1", 127),
        ("QUICLAB_SEED", "", 1),
        ("CERTS", "/no/such/folder", 1),
    ] {
        assert_eq!(folder.exit_status(&run, &[request, (name, value)]), expected, "{name}");
    }
}
