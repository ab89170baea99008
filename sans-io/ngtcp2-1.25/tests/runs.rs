//! The program against itself, in two processes, with a network between them that loses.

#[path = "../common/network.rs"]
mod network;

use std::fs;

use network::{Folder, LOSSY, MILLISECOND, Network, Packet, file, logs};

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ngtcp2-sans-io");

const MIB: usize = 1 << 20;

/// Longest datagram without segmentation.
const LONGEST: usize = 1500;

#[test]
fn a_transfer_completes_and_two_runs_give_the_same_bytes() {
    let folder = Folder::new(PROGRAM, "same");
    for http in ["h3", "hq"] {
        let files = [("file", file(MIB))];
        let run = |number| {
            let name = format!("{http}-{number}");
            let outcome = LOSSY.transfer(&folder, &name, &files, &[("QUICLAB_HTTP", http)]);
            (outcome, logs(&folder.run(&name)))
        };
        let ((first, first_logs), (second, second_logs)) = (run(1), run(2));
        // A round trip for the handshake, one for the request, and what slow start takes from 10 packets on.
        assert!(first.end_ns > 160 * MILLISECOND && first.end_ns < 5000 * MILLISECOND, "{http}: {} ns", first.end_ns);
        assert!(first.packets.iter().all(|packet| packet.payload.len() <= LONGEST));
        assert!(first.from("server").any(|packet| packet.is_part), "{http}: nothing was batched");
        assert!(first.packets == second.packets, "{http}: {} and {}", first.packets.len(), second.packets.len());
        assert!(first_logs == second_logs, "{http}: found {:?} and {:?}", first_logs.keys(), second_logs.keys());
        assert!(["keys-client", "keys-server"].iter().all(|log| first_logs[*log].len() > 500), "{http}");
        let qlogs: Vec<_> = first_logs.iter().filter(|(log, _)| log.ends_with("qlog")).collect();
        assert!(qlogs.len() == 2 && qlogs.iter().all(|(_, text)| text.len() > 1000), "{http}: {:?}", first_logs.keys());
    }
}

#[test]
fn another_seed_gives_other_bytes() {
    let folder = Folder::new(PROGRAM, "seeds");
    let files = [("file", file(1000))];
    let run = |name, seed: &str| LOSSY.transfer(&folder, name, &files, &[("QUICLAB_SEED", &seed.repeat(64))]).packets;
    assert!(run("one", "1") != run("other", "2"));
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
fn every_congestion_control_gets_there_with_and_without_batches() {
    let folder = Folder::new(PROGRAM, "control");
    let files = [("file", file(MIB))];
    for control in ["cubic", "reno", "bbr"] {
        for gso in ["on", "off"] {
            let name = format!("{control}-{gso}");
            let variables = [("QUICLAB_CCA", control), ("QUICLAB_GSO", gso)];
            let outcome = LOSSY.transfer(&folder, &name, &files, &variables);
            assert_eq!(outcome.from("server").any(|packet| packet.is_part), gso == "on", "{name}");
        }
    }
}

#[test]
fn many_files_come_over_few_streams() {
    let folder = Folder::new(PROGRAM, "streams");
    let files = ["a", "b", "c", "d", "e"].map(|name| (name, file(50_000)));
    for http in ["h3", "hq"] {
        for streams in ["1", "2", "200"] {
            let variables = [("QUICLAB_HTTP", http), ("QUICLAB_STREAMS", streams)];
            LOSSY.transfer(&folder, &format!("{http}-{streams}"), &files, &variables);
        }
        let variables = [("QUICLAB_HTTP", http), ("TESTCASE", "handshake"), ("QUICLAB_IP", "6")];
        LOSSY.transfer(&folder, &format!("{http}-empty"), &[("nothing", file(0))], &variables);
    }
}

#[test]
fn logs_change_no_packet() {
    let folder = Folder::new(PROGRAM, "logs");
    let files = [("file", file(100_000))];
    let logged = LOSSY.transfer(&folder, "logged", &files, &[]);
    let plain = LOSSY.transfer(&folder, "plain", &files, &[("QLOGDIR", ""), ("SSLKEYLOGFILE", "")]);
    assert!(logged.packets == plain.packets);
    let keys = fs::read_to_string(folder.run("logged").join("keys-server")).unwrap();
    for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_TRAFFIC_SECRET_0"] {
        assert_eq!(keys.lines().filter(|line| line.starts_with(label)).count(), 1, "{label}");
    }
    assert!(logs(&folder.run("plain")).keys().all(|log| !log.ends_with("qlog") && !log.starts_with("keys")));
}

#[test]
fn what_goes_wrong_fails_the_client_only() {
    let (folder, other) = (Folder::new(PROGRAM, "wrong"), Folder::new(PROGRAM, "other"));
    let request = ("REQUESTS", "https://server:443/no-such-file");
    for http in ["h3", "hq"] {
        let run = folder.run(http);
        assert_eq!(LOSSY.statuses(&folder, &run, &[request, ("QUICLAB_HTTP", http)]), [1, 0], "{http}");
    }
    // A certificate of somebody else.
    let run = folder.run("stranger");
    fs::write(run.join("www/no-such-file"), "there, but from whom?").unwrap();
    fs::copy(other.certificates().join("ca.pem"), folder.certificates().join("ca.pem")).unwrap();
    assert_eq!(LOSSY.statuses(&folder, &run, &[request]), [1, 0]);
}

#[test]
fn what_it_cannot_do_is_127() {
    let folder = Folder::new(PROGRAM, "cannot");
    let run = folder.run("cannot");
    let request = ("REQUESTS", "https://server:443/file");
    for (name, value) in [("QUICLAB_PACING", "txtime"), ("TESTCASE", "retry"), ("QUICLAB_CCA", "bbr3")] {
        for role in ["client", "server"] {
            let variables = [request, (name, value), ("ROLE", role)];
            assert_eq!(folder.exit_status(&run, &variables), 127, "{role}: {name}={value}");
        }
    }
}
