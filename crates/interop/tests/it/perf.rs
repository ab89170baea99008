//! The judge of `perf`, on exchanges of picoquic's and quinn's own programs.

use crate::common::{ALL, NO_KEYS, assert_cannot_be_judged, facts, read, remade, well};
use quiclab_interop::{Case, Facts, Files, StreamFacts, Verdict, case_named, judge};
use quiclab_units::ByteCount;
use quiclab_wire::Role;

fn case(streams: u32, request: u64, response: u64) -> Case {
    let mut case = case_named("perf").unwrap().clone();
    case.files = Files { count: streams, size: ByteCount::from_bytes(response), name_bytes: 1 };
    case.request_size = ByteCount::from_bytes(request);
    case
}

/// picoquic's exchange with stream 4 alone, which asks for 300,000 bytes in 8.
fn plain() -> Facts {
    let mut facts = facts("picoquic-perf");
    for sender in &mut facts.connections[0].senders {
        sender.streams.retain(|stream, _| *stream == 4);
    }
    facts
}

fn reasons(case: &Case, facts: &Facts) -> String {
    match judge(case, facts, &well()) {
        Verdict::Failed { reasons } => reasons.join("\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_streams_of_picoquic_are_read() {
    let facts = facts("picoquic-perf");
    let [connection] = &facts.connections[..] else { panic!("{}", facts.connections.len()) };
    assert_eq!(connection.tls.application_protocol.as_deref(), Some("perf"));
    for (stream, request, response) in [(0, 397, 200_000), (4, 8, 300_000), (8, 100_000, 8)] {
        let [asked, answered] = Role::BOTH.map(|role| connection.sent(role).streams[&stream]);
        assert_eq!(asked, StreamFacts { bytes: request, head: Some(response), has_end: true }, "{stream}");
        assert_eq!((answered.bytes, answered.has_end), (response, true), "{stream}");
    }
    assert_eq!(connection.sent(Role::Client).streams.len(), 3);
}

#[test]
fn quinn_asks_in_the_same_way() {
    let facts = facts("quinn-perf");
    let [connection] = &facts.connections[..] else { panic!("{}", facts.connections.len()) };
    assert_eq!(connection.tls.application_protocol.as_deref(), Some("perf"));
    let asked = &connection.sent(Role::Client).streams;
    assert_eq!(asked.len(), 2);
    // quinn counts the 1,000 bytes that it uploads without the 8 before them.
    for request in asked.values() {
        assert_eq!(*request, StreamFacts { bytes: 1_008, head: Some(20_000_000), has_end: true });
    }
    // The capture ends long before the responses do.
    let found = reasons(&case(2, 1_008, 20_000_000), &facts);
    assert!(found.contains("expected 20000000 bytes of the server on stream 0"), "{found}");
    assert!(found.contains("the server did not end stream 4"), "{found}");
}

#[test]
fn an_exchange_as_it_was_asked_for_passes() {
    assert_eq!(judge(&case(1, 8, 300_000), &plain(), &well()), Verdict::Succeeded);
    // All three have other lengths.
    let found = reasons(&case(3, 8, 300_000), &facts("picoquic-perf"));
    assert!(found.contains("expected the first 8 bytes of stream 8 to be the number 300000, found Some(8)"), "{found}");
}

#[test]
fn each_difference_fails() {
    type Change = fn(&mut Facts);
    let changes: [(Change, &str); 6] = [
        (|facts| facts.connections[0].tls.application_protocol = Some("h3".to_owned()), "found Some(\"h3\")"),
        (|facts| facts.connections[0].senders[0].streams.clear(), "expected 1 bidirectional streams"),
        (|facts| facts.connections[0].senders[0].streams.get_mut(&4).unwrap().head = Some(1), "found Some(1)"),
        (
            |facts| facts.connections[0].senders[0].streams.get_mut(&4).unwrap().bytes = 9,
            "expected 8 bytes of the client",
        ),
        (|facts| facts.connections[0].senders[1].streams.get_mut(&4).unwrap().bytes -= 1, "found 299999"),
        (
            |facts| facts.connections[0].senders[1].streams.get_mut(&4).unwrap().has_end = false,
            "the server did not end",
        ),
    ];
    for (change, words) in changes {
        let mut facts = plain();
        change(&mut facts);
        let found = reasons(&case(1, 8, 300_000), &facts);
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn without_keys_nothing_is_known() {
    let facts = read(&remade("picoquic-perf", NO_KEYS, |_| 1));
    assert_cannot_be_judged("perf", &facts, &["expected 2 bidirectional streams"]);
    assert_eq!(read(&remade("picoquic-perf", ALL, |_| 1)).connections[0].sent(Role::Client).streams.len(), 3);
}
