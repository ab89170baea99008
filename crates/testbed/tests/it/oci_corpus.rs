//! Every archive that the fuzzer found worth keeping, on the stable compiler: no panic, and nothing outside of the tree.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus/oci`.

#[path = "../fuzz_corpus/oci.rs"]
mod target;

use std::path::Path;

use quiclab_testing::replay;

#[test]
fn archives_are_survived() {
    replay::every_input_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/oci"), target::oci);
}
