//! What the fuzzer runs (`crates/experiment/fuzz`), and what `tests/fuzz_corpus.rs` replays: one function for each target.
//! A wrong result panics as a crash does.
#![allow(dead_code)]

use std::{collections::BTreeMap, sync::LazyLock};

use quiclab_experiment::{
    Experiment, Overrides,
    run::{Run, Versions},
    scenario::{Scenario, ScenarioRun, is_scenario},
    stack::StackManifest,
};

type Target = fn(&[u8]);

/// All targets by the names of their corpora.
pub const ALL: [(&str, Target); 2] = [("experiment", experiment), ("manifest", manifest)];

/// Runs of a plan that are written and read again: a plan may have 100,000, which would find nothing more.
const MOST_RUNS: usize = 4;

static STACKS: LazyLock<BTreeMap<String, StackManifest>> = LazyLock::new(|| {
    let texts = [
        include_str!("../stacks/ngtcp2.toml"),
        include_str!("../stacks/quiche.toml"),
        include_str!("../stacks/tcp-tls.toml"),
    ];
    let manifests = texts.map(|text| StackManifest::parse("stack.toml", text).expect("a manifest of the tests"));
    manifests.into_iter().map(|manifest| (manifest.name.clone(), manifest)).collect()
});

/// An experiment file or a scenario file, with and without a profile, to its plan.
pub fn experiment(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for profile in [None, Some("quick")] {
        if is_scenario(text) { scenario_of(text, profile) } else { experiment_of(text, profile) }
    }
}

fn experiment_of(text: &str, profile: Option<&str>) {
    let plan = Experiment::parse("x.toml", text, profile).and_then(|file| file.plan(&STACKS, &overrides()));
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return check_message(&error.to_string()),
    };
    for run in plan.runs.iter().take(MOST_RUNS) {
        let text = run.to_toml();
        let again = Run::from_toml(&text).expect("a run can be read again");
        assert_eq!(&again, run);
        assert_eq!(again.to_toml(), text);
        check_name(&run.folder_name(&versions()), &run.id(&versions()));
    }
}

fn scenario_of(text: &str, profile: Option<&str>) {
    let plan = Scenario::parse("x.toml", text, profile).and_then(|file| file.plan(&overrides()));
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return check_message(&error.to_string()),
    };
    for run in plan.runs.iter().take(MOST_RUNS) {
        let text = toml::to_string(run).expect("a run can be written");
        let again: ScenarioRun = toml::from_str(&text).expect("a run can be read again");
        assert_eq!(again.id(&versions()), run.id(&versions()), "{text}");
        assert_eq!(toml::to_string(&again).expect("a run can be written"), text);
        check_name(&run.folder_name(&versions()), &run.id(&versions()));
    }
}

/// The manifest of a stack, with all variants of its build.
pub fn manifest(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match StackManifest::parse("stack.toml", text) {
        Ok(manifest) => {
            for (_, variant) in manifest.variants() {
                assert!(variant.name.starts_with(&manifest.name));
            }
        }
        Err(error) => assert!(error.to_string().len() > "stack.toml: ".len()),
    }
}

fn overrides() -> Overrides {
    Overrides { repetitions: Some(2), ..Overrides::default() }
}

fn versions() -> Versions {
    Versions::from([("quiclab".to_owned(), "0".to_owned())])
}

/// An error names the file and says more than where.
fn check_message(message: &str) {
    assert!(message.starts_with("x.toml:") && message.len() > "x.toml: ".len(), "{message}");
}

/// The name of a record is one folder below that of the results.
fn check_name(name: &str, id: &str) {
    assert!(name.ends_with(id) && id.len() == 16, "{name}");
    assert!(name.len() <= 255 && !name.starts_with('.') && !name.contains(['/', '\0']), "{name:?}");
}
