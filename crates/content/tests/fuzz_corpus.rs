//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "fuzz_corpus/targets.rs"]
mod targets;

use std::{
    fs,
    path::{Path, PathBuf},
};

use proptest::prelude::*;

fn replay(folder: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut inputs: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder.display());
    for path in inputs {
        let input = fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn datagrams_are_survived() {
    replay("fuzz/corpus/datagrams", targets::datagrams);
    replay("../wire/fuzz/corpus/quic", targets::datagrams);
}

#[test]
fn rules_are_survived() {
    replay("fuzz/corpus/rule", targets::rule);
}

#[test]
fn every_corpus_has_a_target() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(targets::ALL.iter().any(|(target, _)| *target == name), "{name}");
    }
}

/// Datagrams with packets that can be opened, in any order.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let packet = (any::<u8>(), any::<u8>(), 0u32..8, prop::collection::vec(any::<u8>(), 0..40)).prop_map(
        |(flags, of_packet, number, frames)| {
            let plain = [&[of_packet & 0x13], &number.to_le_bytes()[..], &frames].concat();
            [&[flags], &(plain.len() as u16).to_le_bytes()[..], &plain].concat()
        },
    );
    (any::<u8>(), prop::collection::vec(packet, 0..12))
        .prop_map(|(settings, packets)| [vec![settings], packets.concat()].concat())
}

proptest! {
    #[test]
    fn any_datagrams_are_survived(input in input()) {
        targets::datagrams(&input);
    }

    #[test]
    fn any_bytes_are_survived(input in prop::collection::vec(any::<u8>(), 0..400)) {
        targets::datagrams(&input);
        targets::rule(&input);
    }
}
