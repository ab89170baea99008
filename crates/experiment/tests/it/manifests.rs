//! What a stack's manifest must say, and what plans make of it.

use crate::common;
use std::collections::BTreeMap;

use crate::common::with;
use proptest::prelude::*;
use quiclab_experiment::{Experiment, Overrides, stack::StackManifest};

const MANIFEST: &str = include_str!("../stacks/quic-go.toml");

/// The manifest of quic-go with one text in it replaced.
fn changed(from: &str, to: &str) -> String {
    assert_eq!(MANIFEST.matches(from).count(), 1, "{from}");
    MANIFEST.replace(from, to)
}

fn error(text: &str) -> String {
    StackManifest::parse("stack.toml", text).expect_err(text).to_string()
}

#[test]
fn every_manifest_here_can_be_planned_with() {
    let stacks = common::real_stacks();
    for (name, manifest) in &stacks {
        let peer = manifest.peer.as_ref();
        assert!(peer.is_none_or(|peer| stacks.contains_key(peer)), "{name}: no stack has the name of its peer");
        let relative = manifest.relative_of.as_ref();
        assert!(relative.is_none_or(|relative| stacks.contains_key(relative)), "{name}: no stack is its relative");
        let experiment = Experiment::parse("x.toml", &with(&format!("[stack]\nname = {name:?}\n")), None).unwrap();
        experiment.plan(&stacks, &Overrides::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_default_that_the_stack_does_not_claim_is_refused() {
    for (key, from, to) in [
        ("http", "http = \"h3\"", "http = \"hq\""),
        ("congestion_control", "congestion_control = \"cubic\"", "congestion_control = \"reno\""),
        ("gso", "gso = [\"on\", \"off\"]", "gso = [\"off\"]"),
        ("pacing", "pacing = \"user\"", "pacing = \"off\""),
    ] {
        let expected = format!(
            "stack.toml: default.{key}: found a value that the stack does not claim, expected one that it claims"
        );
        assert_eq!(error(&changed(from, to)), expected);
    }
}

#[test]
fn keys_that_are_missing_or_do_not_exist_are_named_with_their_line() {
    let unknown = error(&changed("licence = ", "license = "));
    assert!(
        unknown.starts_with("stack.toml: ") && unknown.contains("line 3") && unknown.contains("`license`"),
        "{unknown}"
    );
    let missing = error(&changed("qlog = true\n", ""));
    assert!(missing.contains("missing field `qlog`"), "{missing}");
    let value = error(&changed("transport = \"quic\"", "transport = \"sctp\""));
    assert!(value.contains("line 4") && value.contains("`sctp`") && value.contains("`tcp`"), "{value}");
}

#[test]
fn a_command_without_a_word_is_refused() {
    let text = changed("command = [\"/stack/quic-go-endpoint\"]", "command = []");
    assert_eq!(error(&text), "stack.toml: guest.command: found an empty list, expected at least one word");
}

#[test]
fn a_stack_with_one_role_has_a_peer_for_the_other_one() {
    let plan = |peer: &str| {
        let text = changed("roles = [\"server\", \"client\"]", &format!("roles = [\"server\"]\npeer = {peer:?}"));
        let mut stacks = common::stacks();
        stacks.insert("quic-go".to_owned(), StackManifest::parse("stack.toml", &text).unwrap());
        let experiment = Experiment::parse("x.toml", &with("[stack]\nname = \"quic-go\"\n"), None).unwrap();
        experiment.plan(&stacks, &Overrides::default())
    };
    let stack = plan("ngtcp2").unwrap().runs.remove(0).settings.stack;
    assert_eq!([stack.name, stack.server, stack.client], ["quic-go", "quic-go", "ngtcp2"]);
    // Itself is no peer.
    let error = plan("quic-go").unwrap_err().to_string();
    assert_eq!(error, "x.toml:4:8: stack.client: found \"quic-go\", which has no client; expected a stack with one");
}

#[test]
fn a_single_role_without_a_peer_and_no_role_at_all_are_refused() {
    let of = |roles: &str| error(&changed("roles = [\"server\", \"client\"]", &format!("roles = [{roles}]")));
    assert_eq!(
        of("\"server\""),
        "stack.toml: peer: missing; a stack with a single role needs the name of another \
                                  stack"
    );
    assert_eq!(of(""), "stack.toml: roles: found none, expected \"server\", \"client\" or both");
    let both = error(&changed("transport =", "peer = \"quiche\"\ntransport ="));
    assert_eq!(both, "stack.toml: peer: found \"quiche\", expected none for a stack with both roles");
}

#[test]
fn where_there_is_no_stack_at_all_the_error_says_so() {
    let experiment = Experiment::parse("x.toml", &with("[stack]\nname = \"quiche\"\n"), None).unwrap();
    let error = experiment.plan(&BTreeMap::new(), &Overrides::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.toml:4:8: stack.name: found \"quiche\", expected the name of a stack, but there are no \
                       stacks"
    );
}

proptest! {
    #[test]
    fn no_manifest_makes_the_parser_panic(at in 0..MANIFEST.len(), removed in 0..30usize, inserted in ".{0,8}") {
        let start = (0..=at).rev().find(|place| MANIFEST.is_char_boundary(*place)).unwrap_or(0);
        let end = (start + removed..MANIFEST.len()).find(|place| MANIFEST.is_char_boundary(*place));
        let text = format!("{}{inserted}{}", &MANIFEST[..start], &MANIFEST[end.unwrap_or(MANIFEST.len())..]);
        let _ = StackManifest::parse("stack.toml", &text);
    }
}
