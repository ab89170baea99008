//! The experiments of this repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common::real_stacks;
use quiclab_experiment::{
    Experiment, NamedFile, Overrides, Plan,
    scenario::{Scenario, is_scenario},
    setting_text,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// Files beside an experiment.
fn read(named: &NamedFile<'_>) -> Result<String, String> {
    let path = root().join(named.experiment).with_file_name(named.name);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// All experiments below `folder`; `paths` has what they include, and other files are not experiments.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|end| end == "toml");
    let entries = entries.filter(|path| !path.ends_with("paths") && is_one(path));
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn plan(file: &str, profile: Option<&str>) -> Plan {
    let text = fs::read_to_string(root().join(file)).unwrap();
    Experiment::parse_with_includes(file, &text, profile, read)
        .unwrap()
        .plan(&real_stacks(), &Overrides::default())
        .unwrap()
}

#[test]
fn every_file_can_be_planned_in_each_of_its_profiles_and_is_named_after_its_path() {
    let mut planned = 0;
    for path in files(&root()) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let profiles = table.get("profile").and_then(|profiles| profiles.as_table()).cloned().unwrap_or_default();
        for profile in profiles.keys().map(|profile| Some(profile.as_str())).chain([None]) {
            let text = fs::read_to_string(&path).unwrap();
            let own = if is_scenario(&text) {
                let scenario = Scenario::parse(&name, &text, profile).unwrap();
                assert!(!scenario.plan(&Overrides::default()).unwrap().runs.is_empty());
                scenario.common.name
            } else {
                plan(&name, profile).experiment.common.name
            };
            assert_eq!(format!("{own}.toml"), name);
            planned += 1;
        }
    }
    assert!(planned >= 7, "{planned}");
}

#[test]
fn the_baseline_is_what_was_published_and_its_quick_profile_a_tenth_of_it() {
    for (profile, size, repetitions) in [(None, "100 MiB", 20), (Some("quick"), "10 MiB", 3)] {
        let plan = plan("quic-steps/baseline.toml", profile);
        assert_eq!(plan.runs.len(), 4 * repetitions);
        for run in &plan.runs {
            for (key, value) in [
                ("workload.size", size),
                ("path.rate", "40 Mbit/s"),
                ("path.burst", "1535 B"),
                ("path.delay_to_client", "20 ms"),
                ("path.delay_to_server", "20 ms"),
                ("path.queue_limit_packets", "143"),
                ("path.return_limit_packets", "1000"),
                ("hosts.server_qdisc", "none"),
                ("hosts.udp_receive_buffer", "50 MiB"),
                // What quic-go calls CUBIC is Reno.
                ("stack.congestion_control", if run.settings.stack.name == "quic-go" { "reno" } else { "cubic" }),
                ("stack.gso", "on"),
            ] {
                assert_eq!(setting_text(&run.settings, key).as_deref(), Some(value), "{key}");
            }
        }
        // Delay line and queue hold what is under way: rate x 2 x delay in packets of 1392 bytes, rounded down.
        let path = &plan.runs[0].settings.path;
        let round_trip = path.delay_to_client.as_nanos() + path.delay_to_server.as_nanos();
        let bytes = path.rate.as_bits_per_second() / 8 * round_trip / 1_000_000_000;
        assert_eq!(u64::from(path.queue_limit_packets), bytes / 1392);
    }
}

#[test]
fn published_values_say_of_how_much_data_they_are_and_stand_beside_runs_of_any_size() {
    for file in ["quic-steps/baseline.toml", "quic-steps/quiche-releases.toml"] {
        for row in plan(file, None).experiment.published {
            assert_eq!(row.matches.keys().collect::<Vec<_>>(), ["stack.name"]);
            assert!(row.source.unwrap().starts_with("QUIC Steps, 100 MiB, 20 repetitions"));
        }
    }
}

#[test]
fn published_values_are_numbers_of_metrics_that_there_are() {
    let metrics = include_str!("../../../../docs/reference/metrics.md");
    let is_of_transfers = |path: &PathBuf| !is_scenario(&fs::read_to_string(path).unwrap());
    for path in files(&root()).into_iter().filter(is_of_transfers) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        for (metric, value) in plan(&name, None).experiment.published.into_iter().flat_map(|row| row.values) {
            assert!(metrics.contains(&format!("\n| `{metric}` | ")), "{name}: {metric} is no metric");
            let share = metric.contains("_share_");
            assert!(value >= 0.0 && (!share || value <= 1.0), "{name}: {metric} = {value}");
            // Goodput is below the rate of the bottleneck, or of the study's link, and given in bit/s.
            let most = if name.starts_with("throughput/") { 10e9 } else { 40e6 };
            assert!(!metric.ends_with("_bps") || (10e6..most).contains(&value), "{name}: {metric} = {value}");
        }
    }
}

#[test]
fn the_first_example_is_a_single_run() {
    assert_eq!(plan("examples/first.toml", None).runs.len(), 1);
    assert_eq!([None, Some("ngtcp2")].map(|profile| plan("examples/matrix.toml", profile).runs.len()), [8, 4]);
}
