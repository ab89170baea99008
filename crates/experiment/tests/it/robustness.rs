//! No text makes the parser panic.

use crate::common;
use std::{collections::BTreeMap, sync::LazyLock};

use proptest::prelude::*;
use quiclab_experiment::{Experiment, Overrides, run::Run, stack::StackManifest};

static STACKS: LazyLock<BTreeMap<String, StackManifest>> = LazyLock::new(common::stacks);

/// Every kind of table and value there is, the baseline of this repository before it.
const VALID: &str = concat!(
    include_str!("../../../../experiments/quic-steps/baseline.toml"),
    "[profile.other]\nkernel = \"6.12\"\n[profile.other.matrix]\n\"tap.snaplen\" = [\"full\", \"128 B\"] # \u{b5}\n"
);

fn try_it(text: &str) {
    for profile in [None, Some("quick"), Some("other")] {
        match Experiment::parse("x.toml", text, profile) {
            Ok(experiment) => {
                let _ = experiment.plan(&STACKS, &Overrides::default());
            }
            // An error says more than where.
            Err(error) => assert!(error.to_string().len() > "x.toml: ".len()),
        }
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

    #[test]
    fn text_in_place_of_any_value_is_parsed_or_refused(line in 0..VALID.lines().count(), value in "[^\n]{0,20}") {
        let replaced = |(number, text): (usize, &str)| match text.split_once('=') {
            Some((key, _)) if number == line => format!("{key}= {value}\n"),
            _ => format!("{text}\n"),
        };
        try_it(&VALID.lines().enumerate().map(replaced).collect::<String>());
    }

    #[test]
    fn any_setting_of_a_command_line_is_taken_or_refused(
        key in "(path\\.rate|path\\.drops_to_server|kernel|stack|workload\\.repetitions|.{0,12})",
        value in "(.{0,20}|[\\[\\]{}=\"'#, \\n0-9a-z.\u{b5}]{0,20})",
    ) {
        let experiment = Experiment::parse("x.toml", VALID, None).unwrap();
        let overrides = Overrides { settings: vec![(key, value)], ..Overrides::default() };
        if let Err(error) = experiment.plan(&STACKS, &overrides) {
            assert!(error.to_string().len() > "x.toml: ".len());
        }
    }

    #[test]
    fn no_text_makes_the_reader_of_runs_panic(text in ".{0,200}") {
        let _ = Run::from_toml(&text);
    }
}

#[test]
fn the_text_that_is_changed_can_be_planned_before() {
    for (profile, runs) in [(None, 80), (Some("quick"), 12), (Some("other"), 160)] {
        let plan = Experiment::parse("x.toml", VALID, profile).unwrap().plan(&STACKS, &Overrides::default()).unwrap();
        assert_eq!(plan.runs.len(), runs);
    }
}
