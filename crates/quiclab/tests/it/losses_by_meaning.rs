//! Rules that lose datagrams by what they hold, in the simulator, as a user would write them.

use std::{collections::BTreeSet, path::Path};

use crate::common::{Bench, CommandOutput, output_of, records};
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, QuicForm, QuicFrame, Role};
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../../../experiments/examples/lost-flight.toml");
/// The stacks that the simulator calls.
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");
const DROP: &str = "path.to_server.loss.drop";

fn run(bench: &Bench, out: &str, more: &[&str]) -> CommandOutput {
    output_of(bench.run(SANS_IO, out, &["--testbed", "sim"]).args(more))
}

fn bytes(folder: &Path, file: &str) -> Vec<u8> {
    let path = folder.join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(folder: &Path, file: &str) -> Value {
    serde_json::from_slice(&bytes(folder, file)).unwrap()
}

/// The codes of a record's warnings about rules.
fn rule_warnings(folder: &Path) -> Vec<String> {
    let metrics = json(folder, "metrics.json");
    let codes = metrics["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].as_str().unwrap());
    codes.filter(|code| code.starts_with("rule_")).map(str::to_owned).collect()
}

/// A datagram that the client sent.
struct FromClient {
    /// Whether it was sent before any data of the server's handshake had arrived.
    is_first_flight: bool,
    has_arrived: bool,
    has_finished: bool,
    has_stream: bool,
    /// It only searches for the path MTU.
    is_search: bool,
}

/// What the client sent, seen at both taps, read apart from the code under test.
fn from_client(folder: &Path) -> Vec<FromClient> {
    let capture = bytes(folder, "wire.pcapng");
    let mut arrived = BTreeSet::new();
    let mut reader = CaptureReader::new(&capture[..]).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        // At the server's tap.
        if let (0, Ok(segment)) = (frame.interface, frame.segment()) {
            arrived.insert(segment.payload.to_vec());
        }
    }
    let mut reader = CaptureReader::new(&capture[..]).unwrap();
    let mut dissector = Dissector::new(DissectorSettings { server_port: Some(443), interfaces_are_one_tap: false });
    for file in ["client/keys.log", "server/keys.log"] {
        dissector.add_keys(&bytes(folder, file));
    }
    let mut has_server_data = false;
    let mut datagrams = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        let (1, Ok(segment)) = (frame.interface, frame.segment()) else { continue };
        let observed = dissector.on_segment(&segment).unwrap();
        let is_crypto = |frame: &QuicFrame| matches!(frame, QuicFrame::Crypto { .. });
        if observed.sender == Role::Server {
            has_server_data |= observed.frames.iter().any(is_crypto);
            continue;
        }
        let finished = observed.packets.iter().filter(|packet| packet.form == QuicForm::Handshake);
        let has_finished = finished.clone().any(|packet| observed.frames[packet.frames.clone()].iter().any(is_crypto));
        datagrams.push(FromClient {
            is_first_flight: !has_server_data,
            has_arrived: arrived.contains(segment.payload),
            has_finished,
            is_search: observed
                .frames
                .iter()
                .all(|frame| matches!(frame, QuicFrame::Ping | QuicFrame::Padding { .. } | QuicFrame::ImmediateAck)),
            has_stream: observed.frames.iter().any(|frame| matches!(frame, QuicFrame::Stream { .. })),
        });
    }
    datagrams
}

#[test]
fn the_clients_second_flight_is_lost_whole_and_each_stack_recovers() {
    let bench = Bench::new(&format!("{EXAMPLE}\n[tap]\nbottleneck_snaplen = \"full\"\n"));
    for (out, more) in [
        ("lost", vec![]),
        ("again", vec![]),
        ("whole", vec!["--set", "path.to_server=[{ stage = \"delay\", delay = \"10 ms\" }]"]),
    ] {
        let result = run(&bench, out, &more);
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let names = records(&bench.out("lost"));
    assert_eq!((names.len(), &names), (3, &records(&bench.out("again"))));
    let whole = records(&bench.out("whole"));
    for (name, without) in names.iter().zip(&whole) {
        let folder = bench.out("lost").join(name);
        let datagrams = from_client(&folder);
        let lost: Vec<usize> = (0..datagrams.len()).filter(|place| !datagrams[*place].has_arrived).collect();
        let first = datagrams.iter().position(|datagram| !datagram.is_first_flight).unwrap();
        // All of it, from its first datagram to the first request, and nothing else.
        let behind = (first..datagrams.len()).filter(|place| !datagrams[*place].is_search);
        assert_eq!(lost, behind.take(lost.len()).collect::<Vec<_>>(), "{name}");
        assert!(lost.iter().any(|place| datagrams[*place].has_finished), "{name}");
        let next = lost[lost.len() - 1] + 1;
        assert!(datagrams[next..].iter().any(|datagram| datagram.has_finished), "{name}: Finished is repeated");
        // The stage's own counts say the same.
        let stage = json(&folder, "path.json")["path"]["to_server"][0].clone();
        assert_eq!(stage["drops"], serde_json::json!({ "content": lost.len() }), "{name}");
        assert_eq!(stage["counts"], serde_json::json!({ "asked": datagrams.len() }), "{name}");
        assert_eq!(rule_warnings(&folder), [""; 0], "{name}");
        // Each drop is listed with what it held.
        let dropped = json(&folder, "path.json")["path"]["dropped"].clone();
        let held = dropped.as_array().unwrap().iter().map(|drop| drop["held"].as_str().unwrap());
        for (number, held) in (1..).zip(held.clone()) {
            assert!(held.contains(&format!("(flight 2, datagram {number}): ")), "{held}");
        }
        assert_eq!(held.clone().count(), lost.len(), "{name}");
        assert!(held.clone().any(|held| held.contains("Handshake 0 [") && held.contains("CRYPTO 0..")), "{dropped}");
        // The first request waits for a probe timeout of the client.
        let lifetime =
            |out: &str, name: &str| json(&bench.out(out).join(name), "path.json")["client_lifetime_ns"].as_u64();
        assert!(lifetime("lost", name) > lifetime("whole", without), "{name}");
        assert!(
            from_client(&bench.out("whole").join(without)).iter().all(|datagram| datagram.has_arrived),
            "{without}"
        );
        assert!(datagrams.iter().any(|datagram| datagram.has_stream), "{name}");
        for file in ["wire.pcapng", "path.json", "metrics.json"] {
            let other = bench.out("again").join(name);
            assert!(bytes(&folder, file) == bytes(&other, file), "{name}/{file} differs");
        }
    }
}

#[test]
fn a_rule_that_never_matches_is_a_warning_or_a_failure() {
    let bench = Bench::new(&EXAMPLE.replace("at_least_drops = 1\n", ""));
    let quinn = ["--set", "stack.name=quinn", "--set"];
    let result = run(&bench, "warned", &[&quinn[..], &["path.to_server.loss.drop=datagram 1000"]].concat());
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.output.contains("drop = \"datagram 1000\" never matched; it was asked about"), "{}", result.output);
    let folder = bench.out("warned").join(records(&bench.out("warned")).remove(0));
    assert_eq!(rule_warnings(&folder), ["rule_never_matched"]);
    for (key, rule, expected) in
        [("at_least_drops=1", "datagram 1000", "dropped 0 of"), ("at_most_drops=1", "datagram 2..3", "dropped 2 of")]
    {
        let key = format!("path.to_server.loss.{key}");
        let drop = format!("{DROP}={rule}");
        let result = run(&bench, rule, &[&quinn[..], &[&drop, "--set", &key]].concat());
        assert_ne!(result.status, Some(0), "{}", result.errors);
        let message = format!("path.to_server.loss: drop = {rule:?}: {expected}");
        assert!(result.errors.contains(&message) && result.errors.contains("expected at "), "{}", result.errors);
    }
}

#[test]
fn a_rule_that_is_none_is_refused_with_the_place() {
    let bench = Bench::new(&EXAMPLE.replace("flight 2", "flihgt 2"));
    let result = run(&bench, "out", &[]);
    assert_ne!(result.status, Some(0));
    let expected = "drop: at character 1: found \"flihgt\", expected a condition such as flight, datagram";
    assert!(result.errors.contains(expected), "{}", result.errors);
}
