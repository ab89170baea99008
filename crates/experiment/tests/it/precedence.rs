//! What wins over what: default, stack, file, matrix, profile, command line; and in which order runs stand.

use crate::common::{stacks, with};
use quiclab_experiment::{Experiment, Overrides, Plan, setting_text};

fn plan(lines: &str, profile: Option<&str>, overrides: &Overrides) -> Plan {
    Experiment::parse("x.toml", &with(lines), profile).unwrap().plan(&stacks(), overrides).unwrap()
}

/// One setting of each run, in the order of the plan.
fn values(lines: &str, profile: Option<&str>, key: &str) -> Vec<String> {
    let plan = plan(lines, profile, &Overrides::default());
    plan.runs.iter().map(|run| setting_text(&run.settings, key).unwrap()).collect()
}

#[test]
fn runs_stand_by_repetition_then_by_the_axes_in_the_order_of_their_names_the_last_changing_fastest() {
    let lines = "seed = 7\n[workload]\nrepetitions = 2\n[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n\
                 \"path.rate\" = [\"20 Mbit/s\", \"10 Mbit/s\"]\n";
    let order: Vec<_> = plan(lines, None, &Overrides::default())
        .runs
        .into_iter()
        .map(|run| (run.repetition, run.seed, run.settings.path.rate.to_string(), run.settings.stack.name))
        .collect();
    let expected = |repetition, seed| {
        [("20", "quiche"), ("20", "ngtcp2"), ("10", "quiche"), ("10", "ngtcp2")]
            .map(|(rate, stack)| (repetition, seed, format!("{rate} Mbit/s"), stack.to_owned()))
    };
    assert_eq!(order, [expected(1, 7), expected(2, 8)].concat());
}

#[test]
fn a_setting_wins_over_the_stacks_own_default() {
    assert_eq!(values("[stack]\nname = \"quic-go\"\n", None, "stack.gso"), ["on"]);
    assert_eq!(values("[stack]\nname = \"quic-go\"\ngso = \"off\"\n", None, "stack.gso"), ["off"]);
}

#[test]
fn a_profile_wins_over_values_and_axes_of_the_file() {
    let base = "[stack]\nname = \"quiche\"\n[path]\nrate = \"1 Mbit/s\"\n[matrix]\n\"path.burst\" = [\"2000 B\", \"3000 B\"]\n";
    let of = |profile: &str, key: &str| values(&format!("{base}{profile}"), Some("p"), key);
    // A value over a value, a value over an axis, an axis over a value, an axis over an axis.
    assert_eq!(of("[profile.p.path]\nrate = \"2 Mbit/s\"\n", "path.rate"), ["2 Mbit/s", "2 Mbit/s"]);
    assert_eq!(of("[profile.p.path]\nburst = \"4000 B\"\n", "path.burst"), ["4 kB"]);
    let axis = "[profile.p.matrix]\n\"path.rate\" = [\"3 Mbit/s\", \"4 Mbit/s\"]\n";
    assert_eq!(of(axis, "path.rate"), ["3 Mbit/s", "4 Mbit/s", "3 Mbit/s", "4 Mbit/s"]);
    let axis = "[profile.p.matrix]\n\"path.burst\" = [\"5000 B\"]\n";
    assert_eq!(of(axis, "path.burst"), ["5 kB"]);
}

#[test]
fn profiles_know_nothing_of_each_other() {
    let lines = "[stack]\nname = \"quiche\"\n[profile.a.path]\nrate = \"1 Mbit/s\"\n[profile.b.path]\nburst = \"2000 B\"\n\
                 [profile.c.matrix]\n\"path.rate\" = [\"2 Mbit/s\"]\n";
    assert_eq!(values(lines, None, "path.rate"), ["40 Mbit/s"]);
    assert_eq!(values(lines, Some("a"), "path.burst"), ["1535 B"]);
    assert_eq!(values(lines, Some("b"), "path.rate"), ["40 Mbit/s"]);
    assert_eq!(values(lines, Some("c"), "path.rate"), ["2 Mbit/s"]);
}

#[test]
fn a_mistake_in_a_profile_is_told_whichever_is_chosen() {
    let text = with("[stack]\nname = \"quiche\"\n[profile.a.path]\nrate = \"1 Mbit/s\"\n[profile.b.path]\nrate = 3\n");
    for profile in [None, Some("a"), Some("b")] {
        let error = Experiment::parse("x.toml", &text, profile).unwrap_err().to_string();
        assert!(error.starts_with("x.toml:8:8: path.rate: found 3, expected a rate"), "{error}");
    }
}

#[test]
fn a_command_line_wins_over_the_profile() {
    let lines = "[stack]\nname = \"quiche\"\n[workload]\nrepetitions = 20\n[profile.quick.workload]\nrepetitions = 3\n";
    let runs =
        |profile, repetitions| plan(lines, profile, &Overrides { repetitions, ..Overrides::default() }).runs.len();
    assert_eq!([runs(None, None), runs(Some("quick"), None), runs(Some("quick"), Some(2))], [20, 3, 2]);
}

#[test]
fn a_filter_understands_every_unit_of_a_quantity() {
    let lines = "[stack]\nname = \"quiche\"\n[matrix]\n\"path.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n\
                 \"tap.snaplen\" = [\"full\", \"200 B\"]\n";
    let count = |key: &str, value: &str| {
        plan(lines, None, &Overrides { filters: vec![(key.into(), value.into())], ..Overrides::default() }).runs.len()
    };
    assert_eq!(
        [count("path.rate", "1 Mbit/s"), count("path.rate", "1000 kbit/s"), count("tap.snaplen", "full")],
        [2; 3]
    );
}

#[test]
fn the_same_text_gives_the_same_plan() {
    let text = include_str!("../../../../experiments/quic-steps/baseline.toml");
    let runs = || Experiment::parse("x.toml", text, None).unwrap().plan(&stacks(), &Overrides::default()).unwrap().runs;
    assert_eq!(runs(), runs());
}
