//! Settings from a command line instead of those of the file.

use crate::common::{stacks, with};
use quiclab_experiment::{Experiment, Overrides, scenario::Scenario, setting_text};

const FILE: &str = "[stack]\nname = \"quiche\"\n[path]\nrate = \"1 Mbit/s\"\n[matrix]\n\"path.burst\" = [\"2000 B\", \"3000 B\"]\n\
                    [profile.p.path]\nrate = \"2 Mbit/s\"\n[profile.p.matrix]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n";

fn overrides(settings: &[(&str, &str)]) -> Overrides {
    let settings = settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    Overrides { settings, ..Overrides::default() }
}

/// The values of `key` in all runs.
fn values(lines: &str, profile: Option<&str>, settings: &[(&str, &str)], key: &str) -> Vec<String> {
    let experiment = Experiment::parse("x.toml", &with(lines), profile).unwrap();
    let plan = experiment.plan(&stacks(), &overrides(settings)).unwrap_or_else(|error| panic!("{error}"));
    plan.runs.iter().map(|run| setting_text(&run.settings, key).unwrap()).collect()
}

fn error(lines: &str, settings: &[(&str, &str)]) -> String {
    let experiment = Experiment::parse("x.toml", &with(lines), None).unwrap();
    experiment.plan(&stacks(), &overrides(settings)).unwrap_err().to_string()
}

#[test]
fn a_setting_replaces_the_files_value_its_profiles_and_its_axis() {
    let of = |profile, key, text| values(FILE, profile, &[(key, text)], key);
    assert_eq!(of(None, "path.rate", "3 Mbit/s"), ["3 Mbit/s"; 2]);
    assert_eq!(of(Some("p"), "path.rate", "3 Mbit/s"), ["3 Mbit/s"; 4]);
    assert_eq!(of(None, "path.burst", "4000 B"), ["4 kB"]);
    assert_eq!(of(Some("p"), "hosts.server_qdisc", "fq_codel"), ["fq_codel"; 2]);
    // One that the file says nothing about.
    assert_eq!(of(None, "vm.kernel", "6.12"), ["6.12"; 2]);
}

#[test]
fn a_list_becomes_an_axis() {
    let of = |key, text| values(FILE, None, &[("path.burst", "2000 B"), (key, text)], key);
    for text in [
        "[\"20 Mbit/s\", \"40 Mbit/s\"]",
        "20 Mbit/s,40 Mbit/s",
        "20 Mbit/s, 40 Mbit/s",
        "\"20 Mbit/s\", \"40 Mbit/s\"",
    ] {
        assert_eq!(of("path.rate", text), ["20 Mbit/s", "40 Mbit/s"], "{text}");
    }
    assert_eq!(of("path.queue_limit_packets", "100,200"), ["100", "200"]);
    assert_eq!(of("vm.kernel", "[6.1, \"6.12\"]"), ["6.1", "6.12"]);
    // A setting that takes a list has that as its value.
    assert_eq!(of("path.drops_to_server", "[1, 2]"), ["[1, 2]"]);
    assert_eq!(of("path.drops_to_server", "[[1, 2], []]"), ["[1, 2]", "[]"]);
    // An axis beside those of the file.
    assert_eq!(values(FILE, None, &[("path.rate", "5 Mbit/s,6 Mbit/s")], "path.rate").len(), 4);
}

#[test]
fn texts_need_no_quotes() {
    for (key, text, expected) in [
        ("stack.name", "ngtcp2", "ngtcp2"),
        ("stack.name", "\"ngtcp2\"", "ngtcp2"),
        ("stack", "ngtcp2", "ngtcp2"),
        ("kernel", "6.1", "6.1"),
        ("path.ip", "4", "4"),
        ("tap.qlog", "true", "true"),
        ("tap.profile", "true", "true"),
        ("path.queue_bdp", "1", "none"),
    ] {
        let shown = if key == "stack" { "stack.name" } else { key };
        let experiment = Experiment::parse("x.toml", &with("[stack]\nname = \"quiche\"\n"), None).unwrap();
        let plan = experiment.plan(&stacks(), &overrides(&[(key, text)])).unwrap_or_else(|error| panic!("{error}"));
        if expected != "none" {
            assert_eq!(setting_text(&plan.runs[0].settings, shown).as_deref(), Some(expected), "{key}={text}");
        }
    }
}

#[test]
fn repetitions_are_a_setting_and_the_number_beside_it_wins() {
    let runs = |repetitions| {
        let settings = overrides(&[("workload.repetitions", "4"), ("path.burst", "2000 B")]);
        let overrides = Overrides { repetitions, ..settings };
        Experiment::parse("x.toml", &with(FILE), None).unwrap().plan(&stacks(), &overrides).unwrap().runs.len()
    };
    assert_eq!([runs(None), runs(Some(2))], [4, 2]);
    assert_eq!(
        error(FILE, &[("workload.repetitions", "4,5")]),
        "x.toml: --set workload.repetitions: found a list, expected one number of repetitions"
    );
}

#[test]
fn what_is_refused_in_a_file_is_refused_here() {
    for (key, text, expected) in [
        ("path.rat", "1", "path.rat: found a key that does not exist\nhint: did you mean path.rate?"),
        ("path.rate", "40 Mbps", "path.rate: found \"40 Mbps\", expected a rate"),
        ("path.rate", "40", "path.rate: found 40, expected a rate"),
        ("path.rate", "", "path.rate: found \"\", expected a rate"),
        ("path.rate", "40 Mbit/s,fast", "path.rate: found \"fast\", expected a rate"),
        ("path.rate", "[\"40 Mbit/s\", 3]", "path.rate: found 3, expected a rate"),
        ("path.rate", "[]", "path.rate: found [], expected a rate"),
        ("path.burst", "10 B", "path.burst: found \"10 B\", expected 1514 B to"),
        ("path.rate", "[40 Mbit/s]", "path.rate: found [40 Mbit/s], which is not TOML, expected a value or a list"),
        ("path.rate", "\"40 Mbit/s", "path.rate: found \"40 Mbit/s, which is not TOML"),
        (
            "path.rate",
            "\"1 Mbit/s\"\nother = 3",
            "path.rate: found \"\\\"1 Mbit/s\\\"\\nother = 3\", expected one value",
        ),
        ("seed", "3", "seed: found a top-level key, expected a setting"),
        ("path", "3", "path: found a section, expected a setting\nhint: one of path.ip, path.to_client, "),
        ("matrix", "[]", "matrix: found a top-level key"),
    ] {
        let found = error(FILE, &[(key, text)]);
        assert!(found.starts_with(&format!("x.toml: --set {expected}")), "{key}={text}: {found}");
    }
    let twice = error(FILE, &[("path.rate", "1 Mbit/s"), ("path.rate", "2 Mbit/s")]);
    assert!(twice.starts_with("x.toml: --set path.rate: found two values, expected one\nhint: "), "{twice}");
}

#[test]
fn a_setting_that_a_stack_does_not_claim_names_stack_value_and_claims() {
    assert_eq!(
        error(FILE, &[("stack.congestion_control", "copa"), ("stack.name", "quic-go")]),
        "x.toml: --set stack.congestion_control: found \"copa\", which quic-go does not support; expected one of \"cubic\""
    );
    // A file that wants unclaimed combinations left out is left with none.
    let lines = format!("unclaimed = \"leave out\"\n{FILE}");
    assert_eq!(
        error(&lines, &[("stack.congestion_control", "copa"), ("stack.name", "quic-go")]),
        "x.toml: --set stack.congestion_control: found \"copa\", which quic-go does not support; expected one of \"cubic\""
    );
    let several = error(&lines, &[("stack.congestion_control", "copa"), ("stack.name", "quic-go,ngtcp2")]);
    assert!(several.starts_with("x.toml: matrix: found no combination that the stacks claim"), "{several}");
    assert!(
        several.contains("found \"copa\", which quic-go does not support; expected one of \"cubic\" (2 "),
        "{several}"
    );
    assert!(several.contains("found \"copa\", which ngtcp2 does not support"), "{several}");
    assert_eq!(
        error(FILE, &[("stack.name", "ngtcp")]),
        "x.toml: --set stack.name: found \"ngtcp\", expected one of ngtcp2, quic-go, quiche, quiche-0.24, tcp-tls\n\
         hint: did you mean ngtcp2?"
    );
}

const SCENARIO: &str = "name = \"x\"\ntitle = \"X\"\n[scenario]\nduration = \"1 s\"\n[flows.a]\nrtt = \"200 ms\"\n[flows.b]\nrtt = \"300 ms\"\ncount = 2\n\
                        [matrix]\n\"bottleneck.rate\" = [\"10 Mbit/s\", \"20 Mbit/s\"]\n";

#[test]
fn a_scenario_takes_settings_as_well() {
    let scenario = Scenario::parse("x.toml", SCENARIO, None).unwrap();
    let plan = |settings: &[(&str, &str)]| scenario.plan(&overrides(settings)).map_err(|error| error.to_string());
    let rates = |settings: &[(&str, &str)]| {
        let plan = plan(settings).unwrap_or_else(|error| panic!("{error}"));
        plan.runs.iter().map(|run| run.settings.bottleneck.rate.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(rates(&[]), ["10 Mbit/s", "20 Mbit/s"]);
    assert_eq!(rates(&[("bottleneck.rate", "5 Mbit/s")]), ["5 Mbit/s"]);
    let counts = plan(&[("flows.a.count", "7"), ("bottleneck.rate", "5 Mbit/s")]).unwrap();
    let counts: Vec<_> = counts.runs[0].settings.flows.values().map(|flows| flows.count).collect();
    assert_eq!(counts, [7, 2]);
    for (key, text, expected) in [
        ("flows.c.rtt", "20 ms", "--set flows.c.rtt: found the group of flows \"c\", expected one of a, b"),
        (
            "flows.rtt",
            "40 ms",
            "--set flows.rtt: found a setting that each group of flows sets separately, expected flows.a.rtt or flows.b.rtt",
        ),
        (
            "path.rate",
            "5 Mbit/s",
            "--set path.rate: found a key that does not exist\nhint: did you mean bottleneck.rate?",
        ),
        ("scenario.warm_up", "2 s", "--set scenario.warm_up: found 2 s, expected less than scenario.duration"),
    ] {
        let found = plan(&[(key, text)]).unwrap_err();
        assert!(found.starts_with(&format!("x.toml: {expected}")), "{found}");
    }
    // One of the groups takes it from what all share.
    assert!(plan(&[("flows.count", "3")]).is_ok());
}
