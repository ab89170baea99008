//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[allow(dead_code, reason = "examples/write_fuzz_seeds.rs writes them")]
#[path = "../fuzz_corpus/seeds.rs"]
mod seeds;
#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

fn replay(target: &str) {
    let (_, run) = targets::ALL.into_iter().find(|(name, _)| *name == target).expect("a target of this name");
    let mut inputs: Vec<PathBuf> =
        std::fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder(target).display());
    for path in inputs {
        let input = std::fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn captures_are_survived() {
    replay("capture");
}

#[test]
fn datagrams_are_survived() {
    replay("quic");
}

#[test]
fn connections_are_read_as_they_were_built() {
    replay("connection");
}

#[test]
fn frames_are_survived() {
    replay("frames");
}

#[test]
fn qlogs_are_survived() {
    replay("qlog");
}

#[test]
fn key_logs_are_survived() {
    replay("key_log");
}

#[test]
fn every_corpus_has_a_target() {
    for entry in std::fs::read_dir(folder("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(targets::ALL.iter().any(|(target, _)| *target == name), "{name}");
    }
}

/// The plaintext of an input is of use only if the dissector opens what is made of it.
#[test]
fn a_packet_protected_here_is_opened() {
    seeds::assert_sealed_packets_are_opened();
}
