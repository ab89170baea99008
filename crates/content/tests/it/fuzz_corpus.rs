//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::Path;

use proptest::prelude::*;
use quiclab_testing::{files::repository, replay};

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn every_input_of_the_corpora_is_survived() {
    replay::every_input(Path::new(CORPORA), &targets::ALL);
    replay::every_input_of(&repository().join("crates/wire/fuzz/corpus/quic"), targets::datagrams);
}

#[test]
fn every_corpus_has_a_target() {
    replay::every_corpus_has_a_target(Path::new(CORPORA), &targets::ALL, &[]);
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
