//! No text makes the parser panic.

mod common;

use proptest::prelude::*;
use quiclab_experiment::{Experiment, Overrides};

const VALID: &str = include_str!("../../../experiments/quic-steps/baseline.toml");

fn try_it(text: &str) {
    if let Ok(experiment) = Experiment::parse("x.toml", text, Some("quick")) {
        let _ = experiment.plan(&common::stacks(), &Overrides::default());
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in ".{0,200}") {
        try_it(&text);
    }

    #[test]
    fn a_valid_file_with_anything_in_it_is_parsed_or_refused(
        at in 0..VALID.len(),
        removed in 0..40usize,
        inserted in "(.{0,6}|[\\[\\]{}=\"'#\\n0-9.]{0,8})",
    ) {
        let start = (0..=at).rev().find(|place| VALID.is_char_boundary(*place)).unwrap_or(0);
        let end = (start + removed..VALID.len()).find(|place| VALID.is_char_boundary(*place)).unwrap_or(VALID.len());
        try_it(&format!("{}{inserted}{}", &VALID[..start], &VALID[end.max(start)..]));
    }
}
