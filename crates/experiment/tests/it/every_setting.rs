//! What holds for each setting there is.

use std::collections::BTreeSet;

use crate::common::{plan, with};
use quiclab_experiment::{
    labels,
    run::{Run, Versions},
    setting_text,
};

/// Key, section and line of a file in which it has its default, and one in which it has not, and the text of the latter.
/// `hosts` must be "fq" or "etf" for some of them to have a meaning.
const SETTINGS: &[(&str, &str, &str, &str)] = &[
    ("vm.kernel", "\"6.1\"", "\"6.12\"", "6.12"),
    ("workload.test_case", "\"transfer\"", "", ""),
    ("workload.sender", "\"server\"", "\"client\"", "client"),
    ("workload.size", "\"10 MiB\"", "\"10 MB\"", "10 MB"),
    ("workload.size_of", "\"each\"", "\"all\"", "all"),
    ("workload.contents", "\"random\"", "\"zeros\"", "zeros"),
    ("workload.keep", "true", "false", "false"),
    ("workload.request_size", "\"8 B\"", "\"1 MB\"", "1 MB"),
    ("workload.period", "\"none\"", "\"33 ms\"", "33 ms"),
    ("workload.files", "1", "200", "200"),
    ("workload.name_bytes", "1", "250", "250"),
    ("workload.streams", "\"all\"", "3", "3"),
    ("workload.certificate", "\"small\"", "\"large\"", "large"),
    ("workload.certificate_key", "\"ecdsa-p256\"", "\"rsa-2048\"", "rsa-2048"),
    ("workload.certificate_delay", "\"0 ns\"", "", ""),
    ("workload.timeout", "\"300 s\"", "\"2 min\"", "120 s"),
    ("stack.name", "\"quiche-0.24\"", "\"quiche\"", "quiche"),
    ("stack.server", "\"quiche-0.24\"", "", ""),
    ("stack.client", "\"quiche-0.24\"", "\"quiche\"", "quiche"),
    ("stack.congestion_control", "\"cubic\"", "\"reno\"", "reno"),
    ("stack.gso", "\"on\"", "\"off\"", "off"),
    ("stack.gso_segments", "\"all\"", "2", "2"),
    ("stack.gso_rate", "\"mark\"", "\"message\"", "message"),
    ("stack.pacing", "\"txtime\"", "\"off\"", "off"),
    ("stack.txtime_clock", "\"monotonic\"", "\"tai\"", "tai"),
    ("stack.hystart", "\"default\"", "\"off\"", "off"),
    ("stack.first_ack", "\"default\"", "\"wait\"", "wait"),
    ("stack.default_pto", "\"default\"", "\"0.6 s\"", "600 ms"),
    ("stack.client_default_pto", "\"default\"", "\"300 ms\"", "300 ms"),
    ("stack.client_key_exchange", "\"default\"", "\"x25519\"", "x25519"),
    ("stack.http", "\"h3\"", "", ""),
    ("path.ip", "\"4\"", "", ""),
    // tests/paths.rs has lists of stages and included files.
    ("path.to_client", "\"bottleneck\"", "[]", "[]"),
    ("path.to_server", "\"bottleneck\"", "[]", "[]"),
    ("path.include", "\"none\"", "", ""),
    ("path.scenario", "\"none\"", "", ""),
    ("path.forwarder", "\"auto\"", "\"user\"", "user"),
    ("path.mtu", "1500", "1400", "1400"),
    ("path.rate", "\"40 Mbit/s\"", "\"0.5 Gbit/s\"", "500 Mbit/s"),
    ("path.burst", "\"1535 B\"", "\"1536 B\"", "1536 B"),
    ("path.delay_to_client", "\"20 ms\"", "\"20000001 ns\"", "20000001 ns"),
    ("path.delay_to_server", "\"20 ms\"", "\"0 ms\"", "0 ns"),
    ("path.queue_limit_packets", "143", "144", "144"),
    // It becomes a limit in packets, which has the text.
    ("path.queue_bdp", "\"none\"", "", ""),
    ("path.return_limit_packets", "1000", "999", "999"),
    ("path.drops_to_server", "[]", "[2, 3]", "[2, 3]"),
    ("path.cross_traffic", "\"none\"", "\"tcp\"", "tcp"),
    ("path.cross_congestion_control", "\"cubic\"", "\"reno\"", "reno"),
    ("path.cross_rate", "\"1 Mbit/s\"", "\"2 Mbit/s\"", "2 Mbit/s"),
    ("path.cross_datagram", "\"1200 B\"", "\"1100 B\"", "1100 B"),
    ("path.cross_start", "\"0 ns\"", "\"1 s\"", "1 s"),
    ("path.cross_duration", "\"transfer\"", "\"2 s\"", "2 s"),
    ("hosts.cpu", "\"charged\"", "\"ideal\"", "ideal"),
    ("hosts.server_qdisc", "\"none\"", "\"fq_codel\"", "fq_codel"),
    ("hosts.fq_flow_limit_packets", "10000", "100", "100"),
    ("hosts.fq_limit_packets", "\"default\"", "5000", "5000"),
    ("hosts.fq_quantum", "\"default\"", "\"4 KiB\"", "4 KiB"),
    ("hosts.fq_initial_quantum", "\"default\"", "\"16 KiB\"", "16 KiB"),
    ("hosts.fq_maximum_rate", "\"default\"", "\"30 Mbit/s\"", "30 Mbit/s"),
    ("hosts.fq_horizon", "\"default\"", "\"2 s\"", "2 s"),
    ("hosts.fq_timer_slack", "\"default\"", "\"100 us\"", "100 us"),
    ("hosts.etf_delta", "\"200 us\"", "\"0.3 ms\"", "300 us"),
    ("hosts.etf_deadline", "false", "true", "true"),
    ("hosts.etf_launch_time", "false", "true", "true"),
    ("vm.nanoseconds_per_instruction", "1", "4", "4"),
    ("vm.timer_slack", "\"50 us\"", "\"1 ns\"", "1 ns"),
    ("hosts.receive_coalescing", "\"0 ns\"", "\"100 us\"", "100 us"),
    ("vm.theft_length", "\"0 ns\"", "\"20 us\"", "20 us"),
    ("vm.theft_interval", "\"1 ms\"", "\"2 ms\"", "2 ms"),
    ("vm.theft_distribution", "\"exponential\"", "\"pareto\"", "pareto"),
    ("sim.timer_step", "\"0 ns\"", "\"1 ms\"", "1 ms"),
    ("sim.timer_lateness", "\"0 ns\"", "\"30 us\"", "30 us"),
    ("sim.call_cost", "\"0 ns\"", "\"2 us\"", "2 us"),
    ("sim.packet_cost", "\"0 ns\"", "\"5 us\"", "5 us"),
    ("sim.card_rate", "\"none\"", "\"1 Gbit/s\"", "1 Gbit/s"),
    ("hosts.offloads", "\"off\"", "\"on\"", "on"),
    ("hosts.server_cpus", "\"all\"", "\"0,2-3\"", "0,2-3"),
    ("hosts.client_cpus", "\"all\"", "\"1\"", "1"),
    ("hosts.forwarder_cpus", "\"all\"", "\"1\"", "1"),
    ("hosts.busy_poll", "\"0 ns\"", "\"50 us\"", "50 us"),
    ("hosts.udp_receive_buffer", "\"50 MiB\"", "\"1 MiB\"", "1 MiB"),
    ("hosts.udp_send_buffer", "\"208 KiB\"", "\"1 MiB\"", "1 MiB"),
    ("tap.enabled", "true", "false", "false"),
    ("tap.send_sizes", "false", "true", "true"),
    ("tap.system_calls", "true", "false", "false"),
    ("tap.qlog", "false", "true", "true"),
    ("tap.profile", "false", "true", "true"),
    ("tap.snaplen", "\"full\"", "\"128 B\"", "128 B"),
    ("tap.bottleneck_snaplen", "\"128 B\"", "\"full\"", "full"),
    ("tap.room", "\"transfer\"", "\"64 MiB\"", "64 MiB"),
    ("analysis.train_threshold", "\"100 us\"", "\"1 ms\"", "1 ms"),
];

/// A run in which the setting `key` has a meaning, and has `value`, if there is one.
fn run_with(key: &str, value: Option<&str>) -> Run {
    let qdisc = match key {
        "stack.gso_rate" => "\"fq\"",
        _ if key.starts_with("hosts.fq_") => "\"fq\"",
        _ if key.starts_with("hosts.etf_") => "\"etf\"",
        _ => "\"none\"",
    };
    // A way of telling a rate has a meaning where there is one to tell, and thefts only where they take time.
    let gso = if key == "stack.gso_rate" { "\"paced\"" } else { "\"on\"" };
    let theft = if key.starts_with("vm.theft_") { "\"10 us\"" } else { "\"0 ns\"" };
    let cross = match key {
        "path.cross_rate" | "path.cross_datagram" => "\"udp\"",
        _ if key.starts_with("path.cross_") => "\"tcp\"",
        _ => "\"none\"",
    };
    let sends_requests = ["workload.request_size", "workload.period", "workload.sender"].contains(&key);
    let test_case = if sends_requests { "\"perf\"" } else { "\"transfer\"" };
    let files = if key == "workload.size_of" { "2" } else { "1" };
    // An upload has bytes to send, and no download behind it.
    let sizes = (key == "workload.sender").then_some(("\"1 MB\"", "\"8 B\""));
    let (request, response) = sizes.unwrap_or(("\"8 B\"", "\"10 MiB\""));
    let all = [
        ("stack.name", "\"quiche-0.24\""),
        ("workload.test_case", test_case),
        ("workload.files", files),
        ("workload.request_size", request),
        ("workload.size", response),
        ("path.cross_traffic", cross),
        ("hosts.server_qdisc", qdisc),
        ("stack.gso", gso),
        ("vm.theft_length", theft),
    ];
    let mut lines = String::new();
    for (other, value) in all.into_iter().filter(|(other, _)| *other != key).chain(value.map(|value| (key, value))) {
        // Keys without quotes and with dots may stand at the top: TOML reads them as sections.
        lines.push_str(&format!("{other} = {value}\n"));
    }
    plan(&with(&lines)).unwrap_or_else(|error| panic!("{key} = {value:?}: {error}")).runs.remove(0)
}

fn run(key: &str, value: &str) -> Run {
    run_with(key, Some(value))
}

#[test]
fn the_table_here_holds_every_setting_of_the_reference() {
    let reference = include_str!("../../../../docs/reference/experiment-file.md");
    let settings = reference.split("## Settings").nth(1).unwrap().split("\n## ").next().unwrap();
    let documented: BTreeSet<_> =
        settings.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut here: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.0).collect();
    here.insert("workload.repetitions");
    assert_eq!(here, documented);
}

#[test]
fn every_setting_has_a_text() {
    for (key, default, other, text) in SETTINGS.iter().filter(|setting| setting.0 != "path.queue_bdp") {
        let unquoted = default.trim_matches('"');
        assert_eq!(setting_text(&run(key, default).settings, key).as_deref(), Some(unquoted), "{key}");
        if !other.is_empty() {
            assert_eq!(setting_text(&run(key, other).settings, key).as_deref(), Some(*text), "{key}");
        }
    }
}

#[test]
fn what_is_no_setting_of_a_run_has_no_text() {
    let settings = run("vm.kernel", "\"6.1\"").settings;
    for key in ["", ".", "path", "hosts.server_qdisc.kind", "workload.repetitions", "seed", "hosts.etf_delta"] {
        assert_eq!(setting_text(&settings, key), None, "{key}");
    }
}

#[test]
fn a_default_written_out_changes_no_identity_and_any_other_value_does() {
    let versions = Versions::new();
    let mut ids = BTreeSet::new();
    for (key, default, other, _) in SETTINGS {
        // A stack has no default.
        let plain = if *key == "stack.name" { run(key, default) } else { run_with(key, None) };
        assert_eq!(run(key, default).id(&versions), plain.id(&versions), "{key}");
        if !other.is_empty() {
            let changed = run(key, other);
            assert_ne!(changed.id(&versions), plain.id(&versions), "{key}");
            assert!(ids.insert(changed.id(&versions)), "{key}: another setting has the same identity");
        }
    }
}

#[test]
fn every_setting_survives_its_file() {
    for (key, default, other, _) in SETTINGS {
        for value in [default, other].into_iter().filter(|value| !value.is_empty()) {
            let run = run(key, value);
            assert_eq!(Run::from_toml(&run.to_toml()), Ok(run), "{key} = {value}");
        }
    }
}

#[test]
fn every_setting_that_differs_within_a_stack_stands_in_the_label() {
    for (key, default, other, text) in
        SETTINGS.iter().filter(|(key, _, other, _)| *key != "stack.name" && !other.is_empty())
    {
        let [one, two] = [run(key, default).settings, run(key, other).settings];
        let name = key.rsplit('.').next().unwrap();
        let expected =
            [format!("quiche-0.24, {name}={}", default.trim_matches('"')), format!("quiche-0.24, {name}={text}")];
        assert_eq!(labels(&[&one, &two]), expected);
    }
}

#[test]
fn a_published_row_matches_whatever_unit_it_is_written_with() {
    for (key, _, other, text) in SETTINGS.iter().filter(|setting| !setting.2.is_empty()) {
        let row = format!("stack.name = \"quiche\"\n[[published]]\nmatch = {{ {key:?} = {other} }}\n");
        let plan = plan(&with(&row)).unwrap();
        assert_eq!(plan.experiment.published[0].matches[*key], *text);
    }
}
