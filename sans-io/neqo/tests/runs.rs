//! The program against itself, in two processes, with a network between them that loses.

#[path = "../common/network.rs"]
mod network;

use std::fs;

use network::{Folder, LOSSY, MILLISECOND, Network, file, logs};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_neqo-sans-io");

const MIB: usize = 1 << 20;

#[test]
fn two_runs_give_the_same_bytes_and_another_seed_gives_others() {
    let folder = Folder::new(PROGRAM, "same");
    let files = [("file1M", file(MIB))];
    for http in ["h3", "hq"] {
        let run = |name: &str, seed: &str| {
            let name = format!("{http}-{name}");
            let outcome = LOSSY.transfer(&folder, &name, &files, &[("QUICLAB_HTTP", http), ("QUICLAB_SEED", seed)]);
            (outcome.packets, outcome.lost, outcome.end_ns, logs(&folder.run(&name)))
        };
        let seeds = ["1", "2"].map(|digit| digit.repeat(64));
        let (first, again, other) = (run("first", &seeds[0]), run("again", &seeds[0]), run("other", &seeds[1]));
        assert!(first.1 > 10, "{http}: found {} lost datagrams", first.1);
        for (number, (one, same)) in first.0.iter().zip(&again.0).enumerate() {
            assert!(one == same, "{http}: datagram {number} differs: {one:?}, {same:?}");
        }
        assert!(first == again, "{http}: the numbers of datagrams, the ends or the logs differ");
        assert!(first.3.keys().any(|name| name.ends_with(".sqlog")), "{http}: {:?}", first.3.keys());
        assert!(first.0.iter().all(|one| other.0.iter().all(|other| one.payload != other.payload)), "{http}");
        // One round trip of the handshake, one for the request.
        assert!(first.2 >= 80 * MILLISECOND, "{http}: done after {} ns", first.2);
    }
}

#[test]
fn connections_of_one_process_have_handshakes_and_random_bytes_of_their_own() {
    let folder = Folder::new(PROGRAM, "anew");
    let network = Network { delay_ns: 20 * MILLISECOND, lost_every: usize::MAX };
    let run = |name, count| network.connections(&folder, name, &[("file", file(1000))], count);
    let (alone, three) = (run("alone", 1), run("three", 3));
    assert!(alone[0] == three[0], "the first one is not that of a process with one connection");
    assert!(run("again", 3) == three, "two processes differ");
    assert!(three[1..].iter().all(|later| later[0].payload != three[0][0].payload));
    let keys = fs::read_to_string(folder.run("three").join("keys-client")).unwrap();
    assert_eq!(keys.lines().filter(|line| line.starts_with("CLIENT_HANDSHAKE_TRAFFIC_SECRET")).count(), 3);
}

#[test]
fn what_is_asked_for_is_done() {
    let folder = Folder::new(PROGRAM, "settings");
    let files = [("a", file(300_000)), ("b", file(0)), ("c", file(70_000))];
    // The most datagrams of a server that leave at one time.
    let mut most = Vec::new();
    for (name, congestion_control, variables) in [
        ("paced", "cubic", [("QUICLAB_IP", "6"), ("QUICLAB_STREAMS", "1")]),
        ("hq", "reno", [("QUICLAB_CCA", "reno"), ("QUICLAB_HTTP", "hq")]),
        ("bursts", "cubic", [("QUICLAB_CCA", "cubic"), ("QUICLAB_PACING", "off")]),
    ] {
        let outcome = LOSSY.transfer(&folder, name, &files, &variables);
        let log = fs::read_to_string(folder.run(name).join("stderr-server")).unwrap();
        assert_eq!(log, format!("congestion control handed to neqo: {congestion_control}\n"));
        let times: Vec<_> = outcome.from("server").map(|packet| packet.sent_ns).collect();
        most.push(times.chunk_by(|one, other| one == other).map(<[_]>::len).max());
        assert!(outcome.from("server").any(|packet| packet.ecn == 2), "{name}: nothing with ECT(0)");
    }
    assert!(most[2] > most[0], "datagrams that leave at one time: found {most:?}");
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
    assert!(log.contains("no handshake within 10s"), "{log}");
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
