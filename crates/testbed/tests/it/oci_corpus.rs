//! Every archive that the fuzzer found worth keeping, on the stable compiler: no panic, and nothing outside of the tree.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus/oci`.

// Shared with the code that it calls, by its name in the crate.
use quiclab_testbed::hash;

#[path = "../fuzz_corpus/oci.rs"]
mod target;

use std::{fs, path::Path};

#[test]
fn archives_are_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/oci");
    let mut inputs: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder.display());
    for path in inputs {
        let input = fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| target::oci(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}
