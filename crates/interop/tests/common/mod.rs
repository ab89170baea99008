//! Facts of the captures of real stacks; crates/wire/tests/data/captures/README.md describes them.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

use quiclab_interop::{EndpointFacts, Facts, FactsSettings, Verdict, case_named, judge};
use quiclab_wire::CaptureReader;

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data/captures")
}

pub fn capture(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.pcapng"))).unwrap()
}

pub fn read(bytes: &[u8]) -> Facts {
    Facts::read(CaptureReader::new(bytes).unwrap(), &[], &FactsSettings::default()).unwrap()
}

pub fn facts(name: &str) -> Facts {
    read(&capture(name))
}

/// Both endpoints did what they should, as far as they say.
pub fn well() -> EndpointFacts {
    EndpointFacts { client_exit: Some(0), server_exit: None, files_ok: Ok(()) }
}

pub fn verdict(case: &str, facts: &Facts) -> Verdict {
    judge(case_named(case).unwrap(), facts, &well())
}
