//! Writes the inputs that the fuzzer began with into `fuzz/corpus`: `cargo run -p quiclab-wire --example write_fuzz_seeds`.

#[path = "../tests/it/common/mod.rs"]
mod common;
#[allow(dead_code, reason = "its check is a test")]
#[path = "../tests/fuzz_corpus/seeds.rs"]
mod seeds;
#[path = "../tests/fuzz_corpus/targets.rs"]
mod targets;

use std::path::Path;

fn main() {
    seeds::write(Path::new(env!("CARGO_MANIFEST_DIR")));
}
