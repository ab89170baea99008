//! The classifier on captures of real stacks: without keys it says the same as with them, and tshark agrees.

use std::ops::ControlFlow;

use quiclab_metrics::{AnalysisSettings, FirstAnswer, HandshakeClass, HandshakeStream, SeenHandshake, analyze};
use quiclab_testing::files::capture;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings};

/// The handshake of each connection, with the secrets that are in the file.
fn with_keys(name: &str) -> Vec<HandshakeClass> {
    let file = std::fs::read(capture(name)).unwrap();
    let dissector = Dissector::new(DissectorSettings::default());
    let reader = CaptureReader::new(file.as_slice()).unwrap();
    let analysis = analyze(reader, dissector, AnalysisSettings::default(), &mut |_, _, _| {}).unwrap();
    analysis.flows.into_iter().filter_map(|flow| flow.handshake.map(|class| *class)).collect()
}

/// The handshake of each connection, as somebody in the middle sees it.
fn without_keys(name: &str) -> Vec<SeenHandshake> {
    let file = std::fs::read(capture(name)).unwrap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let mut stream = HandshakeStream::default();
    let mut seen = Vec::new();
    reader
        .for_each_segment(None, &mut |_, segment, _| {
            stream.on_segment(segment, &mut |handshake| seen.push(handshake));
            ControlFlow::Continue(())
        })
        .unwrap();
    stream.finish(&mut |handshake| seen.push(handshake));
    seen.sort_by_key(|handshake| handshake.time);
    seen
}

/// What nobody can know without keys.
fn blind(class: &HandshakeClass) -> HandshakeClass {
    HandshakeClass {
        // Its unit is a transport parameter.
        initial_ack_delay_ns: None,
        handshake_ack_delay_ns: None,
        transport_parameters: None,
        application_protocol: None,
        certificate_bytes: None,
        blocked_ns: None,
        closes: Vec::new(),
        stack: None,
        unread: Vec::new(),
        ..class.clone()
    }
}

const QUIC: [&str; 14] = [
    "aes256",
    "chacha20",
    "ipv6",
    "key-update",
    "lsquic",
    "migration",
    "ngtcp2",
    "quic-go",
    "quiche-0.24",
    "quiche",
    "retry",
    "version-2",
    "version-negotiation",
    "zero-rtt",
];

#[test]
fn without_keys_the_classes_are_those_with_keys_but_for_what_is_encrypted() {
    for name in QUIC {
        let (with, without) = (with_keys(name), without_keys(name));
        assert!(!with.is_empty(), "{name}");
        assert_eq!(with.len(), without.len(), "{name}");
        for (with, without) in with.iter().zip(&without) {
            assert_eq!(blind(with), blind(&without.class), "{name}");
            assert_eq!(without.class.transport_parameters, None, "{name}: these are encrypted");
        }
    }
}

#[test]
fn with_keys_the_transport_parameters_and_the_certificate_are_known() {
    for name in ["quiche", "quic-go", "ngtcp2", "lsquic"] {
        let class = &with_keys(name)[0];
        let parameters = class.transport_parameters.as_ref().unwrap();
        // RFC 9000 section 7.3: a server always sends these two.
        assert!(parameters.contains(&0x00) && parameters.contains(&0x0f), "{name}: {parameters:?}");
        assert!(class.certificate_bytes.is_some_and(|bytes| bytes > 100), "{name}");
        assert!(class.is_complete, "{name}");
    }
}

#[test]
fn what_a_server_does_first_has_a_name() {
    let first = |name: &str| with_keys(name)[0].first_answer;
    assert_eq!(first("quiche"), Some(FirstAnswer::Coalesced));
    assert!(with_keys("retry")[0].has_retry);
    let negotiated = with_keys("version-negotiation");
    assert!(negotiated.iter().any(|class| !class.offered_versions.is_empty()), "{negotiated:?}");
}

#[test]
fn the_stacks_of_these_servers_are_recognised() {
    for (name, stack) in [
        ("quiche", "quiche"),
        ("quiche-0.24", "quiche"),
        ("quic-go", "quic-go"),
        ("ngtcp2", "ngtcp2"),
        ("lsquic", "lsquic"),
        ("retry", "ngtcp2"),
        ("zero-rtt", "ngtcp2"),
    ] {
        for class in with_keys(name) {
            if class.transport_parameters.is_some() {
                assert_eq!(class.stack.as_deref(), Some(stack), "{name}: {class:?}");
            }
        }
    }
}
