//! Foreign bytes: an error or other facts, never a panic.

use crate::common::{capture, well};
use proptest::prelude::*;
use quiclab_interop::{CASES, Facts, FactsSettings, Verdict, judge};
use quiclab_wire::CaptureReader;

const CAPTURES: [&str; 5] = ["retry", "key-update", "version-2", "zero-rtt", "ipv6"];

/// Reads and judges; whatever comes of it, a failure has a reason.
fn judged(bytes: &[u8], key_log: &[u8], settings: &FactsSettings) {
    let Ok(reader) = CaptureReader::new(bytes) else { return };
    let Ok(facts) = Facts::read(reader, key_log, settings) else { return };
    for case in CASES {
        if let Verdict::Failed { reasons } = judge(case, &facts, &well()) {
            assert!(!reasons.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_capture_with_any_bytes_changed_is_judged(
        name in prop::sample::select(CAPTURES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = capture(name);
        for (index, value) in changes {
            // Most of what matters is in the first packets.
            let length = if value % 2 == 0 { bytes.len() } else { 12_000 };
            bytes[index.index(length)] = value;
        }
        judged(&bytes, b"", &FactsSettings::default());
    }

    #[test]
    fn a_capture_cut_anywhere_is_judged(
        name in prop::sample::select(CAPTURES.to_vec()),
        cut in any::<prop::sample::Index>(),
        tap in prop::option::of(0..3_u32),
        server_port in prop::option::of(prop::sample::select(vec![443_u16, 4433])),
    ) {
        let bytes = capture(name);
        judged(&bytes[..cut.index(bytes.len())], b"no key log", &FactsSettings { server_port, tap });
    }
}

#[test]
fn no_bytes_are_no_capture() {
    judged(b"", b"", &FactsSettings::default());
}
