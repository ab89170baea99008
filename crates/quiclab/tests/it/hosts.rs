//! Runs on several hosts over ssh: three network namespaces with a real sshd in each. Needs root and OpenSSH's server.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::common::{Bench, REAL_STACKS, TEST_STACKS, hosts::Machines, output_of, quiclab, records};
use serde_json::Value;

/// A transfer that is limited by its rate: 2 MiB at 20 Mbit/s take nearly a second.
const EXPERIMENT: &str = r#"
name = "tests/hosts"
title = "A transfer between hosts"
stack.name = "misbehaving"
workload.size = "2 MiB"
path.rate = "20 Mbit/s"
path.delay_to_client = "5 ms"
path.delay_to_server = "5 ms"
"#;

fn only_record(folder: &Path) -> PathBuf {
    let names = records(folder);
    let [name] = &names[..] else { panic!("expected one record, found {names:?}") };
    folder.join(name)
}

fn json(record: &Path, file: &str) -> Value {
    serde_json::from_slice(&fs::read(record.join(file)).unwrap()).unwrap()
}

fn on_hosts(hosts: &Path) -> [&str; 4] {
    ["--testbed", "hosts", "--hosts", hosts.to_str().unwrap()]
}

#[test]
fn a_transfer_between_three_hosts_is_a_record_like_others_and_leaves_nothing_there() {
    let Some(machines) = Machines::new() else { return };
    let before = machines.states();
    let bench = Bench::new(EXPERIMENT);
    let hosts = machines.inventory(&["server", "wire", "client"], "keep = false");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = only_record(&bench.out("out"));
    let goodput = json(&record, "metrics.json")["metrics"]["goodput_wire_bps"].as_f64().unwrap();
    assert!((12e6..20e6).contains(&goodput), "{goodput}");
    let path = json(&record, "path.json");
    assert_eq!(path["testbed"], "hosts");
    let taps = path["taps"].as_array().unwrap();
    assert_eq!(taps.len(), 2, "{path}");
    clocks_were_compared_before_and_after(&path);
    stamps_are_software_and_the_reason_is_the_card(taps);
    both_hosts_were_sampled(&record);
    machines.wait_for(&before);
    for role in ["server", "wire", "client"] {
        assert!(!machines.folder.path().join(format!("on-{role}/quiclab-agent")).exists(), "{role}");
    }
}

#[test]
fn with_two_hosts_the_one_of_the_server_shapes_the_path() {
    let Some(machines) = Machines::new() else { return };
    machines.cable_directly();
    let before = machines.states();
    let bench = Bench::new(EXPERIMENT);
    let hosts = machines.inventory(&["server", "client"], "");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = only_record(&bench.out("out"));
    let metrics = &json(&record, "metrics.json")["metrics"];
    let goodput = metrics["goodput_wire_bps"].as_f64().unwrap();
    assert!((12e6..20e6).contains(&goodput), "{goodput}");
    let path = json(&record, "path.json");
    assert_eq!(path["taps"].as_array().unwrap().len(), 2, "{path}");
    let kept = path["clocks"]["kept"].as_object().unwrap();
    assert_eq!(kept.keys().map(String::as_str).collect::<Vec<_>>(), ["client", "server"]);
    machines.wait_for(&before);
}

/// Three namespaces of one kernel have one clock, so the truth is known: offset and drift are 0.
fn clocks_were_compared_before_and_after(path: &Value) {
    let client = &path["clocks"]["compared"]["client"];
    assert_eq!(client["correction"], "linear", "{path}");
    for offset in [&client["before"], &client["after"]] {
        let [ahead, uncertainty, exchanges] =
            ["server_ahead_ns", "uncertainty_ns", "exchanges"].map(|key| &offset[key]);
        assert!(ahead.as_i64().unwrap().unsigned_abs() <= uncertainty.as_u64().unwrap(), "{offset}");
        assert!((1..=200).contains(&exchanges.as_u64().unwrap()), "{offset}");
    }
    let [before, after] = ["before", "after"].map(|when| client[when]["at_ns"].as_u64().unwrap());
    // 2 MiB at 20 Mbit/s were between them.
    assert!(after - before > 800_000_000, "{client}");
    // A path of 10 ms would show: after the run the packets passed nothing that shapes.
    assert!(client["after"]["uncertainty_ns"].as_u64().unwrap() < 4_000_000, "{client}");
    let kept = path["clocks"]["kept"].as_object().unwrap();
    assert_eq!(kept.keys().map(String::as_str).collect::<Vec<_>>(), ["client", "server", "wire"]);
}

fn stamps_are_software_and_the_reason_is_the_card(taps: &[Value]) {
    for tap in taps {
        assert_eq!(tap["stamps"]["by"], "software", "{tap}");
        let why = tap["stamps"]["why"].as_str().unwrap();
        assert!(why.contains("eth1 (driver veth) does not stamp packets"), "{why}");
    }
}

fn both_hosts_were_sampled(record: &Path) {
    let host = json(record, "host.json");
    let sums = |of: &str, kind: &str, counter: &str| -> u64 {
        let series = host["series"].as_array().unwrap().iter();
        let own = series.filter(|series| series["of"] == of && series["kind"] == kind);
        own.flat_map(|series| series["counters"][counter].as_array().unwrap())
            .map(|count| count.as_u64().unwrap())
            .sum()
    };
    for role in ["server", "client"] {
        assert!(sums(role, "endpoint", "cpu_ns") > 0, "{role}");
        assert!(host["system_calls"][role].as_object().is_some_and(|calls| calls.contains_key("read")), "{role}");
    }
    // 2 MiB in segments of at most 1448 bytes, from one host to the other.
    let packets = |of: &str, sent: bool| -> u64 {
        let batches = host["batches"].as_array().unwrap().iter();
        let own = batches.filter(|batches| batches["of"] == of && batches["sent"] == sent);
        let sizes = own.flat_map(|batches| batches["packets"].as_object().unwrap());
        sizes.map(|(size, count)| size.parse::<u64>().unwrap() * count.as_u64().unwrap()).sum()
    };
    assert!(packets("server", true) > 1400 && packets("client", false) > 1400, "{}", host["batches"]);
    // A busy machine is never idle.
    let of_cores =
        |of: &str| -> u64 { ["user_ns", "system_ns", "idle_ns"].map(|one| sums(of, "core", one)).iter().sum() };
    assert!(of_cores("server_machine") > 0 && of_cores("client_machine") > 0);
    let metrics = &json(record, "metrics.json")["metrics"];
    for name in ["server_cpu_s_per_gb", "client_cpu_s_per_gb", "busiest_core_share", "sampler_cpu_share"] {
        assert!(metrics[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {}", metrics[name]);
    }
}

#[test]
fn a_sniffer_at_a_mirror_port_captures_what_the_server_sends_and_its_clock_is_known() {
    let Some(machines) = Machines::new() else { return };
    machines.mirror_the_server();
    let before = machines.states();
    let bench = Bench::new(EXPERIMENT);
    let hosts = machines.inventory(&["server", "wire", "client", "sniffer"], "");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = only_record(&bench.out("out"));
    let goodput = json(&record, "metrics.json")["metrics"]["goodput_wire_bps"].as_f64().unwrap();
    assert!((12e6..20e6).contains(&goodput), "{goodput}");
    let path = json(&record, "path.json");
    let taps = path["taps"].as_array().unwrap();
    let seen = |tap: usize| taps[tap]["packets_seen"].as_u64().unwrap();
    assert!(taps.len() == 2 && seen(0) >= seen(1) && seen(1) > 1000, "{taps:?}");
    assert_eq!((&taps[0]["role"], &taps[0]["stamps"]["by"]), (&"sender".into(), &"software".into()));
    let sniffer = &path["clocks"]["compared"]["sniffer"];
    for offset in [&sniffer["before"], &sniffer["after"]] {
        let [ahead, uncertainty] = ["server_ahead_ns", "uncertainty_ns"].map(|key| &offset[key]);
        // The mirror's own delay is an error that its packets cannot show.
        let most = uncertainty.as_u64().unwrap() + 100_000;
        assert!(ahead.as_i64().unwrap().unsigned_abs() <= most, "{offset}");
    }
    machines.wait_for(&before);
}

/// What is kept of a TCP segment by default is too little to find it at the other tap. How well clocks are known depends on the machine.
#[test]
fn the_page_shows_times_between_the_taps_where_the_clocks_are_known_to_a_tenth_of_them_and_says_why_not_otherwise() {
    let Some(machines) = Machines::new() else { return };
    let without_delay = EXPERIMENT.replace("\"5 ms\"", "\"0 ms\"");
    let bench = Bench::new(&(without_delay + "tap.bottleneck_snaplen = \"full\"\n"));
    let hosts = machines.inventory(&["server", "wire", "client"], "");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let page = |record: &Path| {
        let result = output_of(quiclab().arg("report").arg(record));
        assert_eq!(result.status, Some(0), "{}", result.errors);
        let name = format!("{}.html", record.file_name().unwrap().to_str().unwrap());
        let place = [record.parent().unwrap().join("runs").join(&name), record.parent().unwrap().join(&name)];
        place.iter().find_map(|place| fs::read_to_string(place).ok()).unwrap()
    };
    let record = only_record(&bench.out("out"));
    let html = page(&record);
    let uncertainty = json(&record, "path.json")["clocks"]["compared"]["client"]["uncertainty_ns"].as_f64().unwrap();
    let shown = html.split_once("minus its smallest value, ").and_then(|(_, rest)| rest.split_once(" ms"));
    match shown {
        // The page has whole microseconds.
        Some((smallest, _)) => {
            assert!(10.0 * uncertainty <= smallest.parse::<f64>().unwrap() * 1e6 + 1e3, "{uncertainty}")
        }
        None => assert!(html.contains("expected an error of at most a tenth of it"), "{uncertainty}"),
    }
    assert!(
        html.contains("The clock of the client's host was") && html.contains("have software time stamps"),
        "no clocks"
    );
}

#[test]
fn a_sniffer_that_sees_nothing_fails_the_run_and_says_what_to_do() {
    let Some(machines) = Machines::new() else { return };
    machines.mirror_the_server();
    machines.inside("server", &["tc", "qdisc", "delete", "dev", "eth1", "clsact"]);
    let bench = Bench::new(EXPERIMENT);
    let hosts = machines.inventory(&["server", "wire", "client", "sniffer"], "");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_ne!(result.status, Some(0), "{}", result.output);
    let text = result.errors;
    assert!(text.contains("sniffer (sniffer): found none of the packets between server and client"), "{text}");
    assert!(text.contains("mirrors the port of the server"), "{text}");
}

#[test]
fn launch_time_is_refused_before_the_run_where_the_card_does_not_offer_it() {
    let Some(machines) = Machines::new() else { return };
    let bench = Bench::new(&EXPERIMENT.replace("stack.name = \"misbehaving\"\n", "").replace(
        "workload.size",
        "stack.name = \"misbehaving\"\nstack.pacing = \"txtime\"\nstack.txtime_clock = \"tai\"\nhosts.server_qdisc = \"etf\"\n\
         hosts.etf_launch_time = true\nworkload.size",
    ));
    let hosts = machines.inventory(&["server", "wire", "client"], "");
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &on_hosts(&hosts)));
    assert_ne!(result.status, Some(0), "{}", result.output);
    let text = result.errors;
    assert!(text.contains("hosts.etf_launch_time: found true"), "{text}");
    assert!(text.contains("interface \"eth1\"") && text.contains("names no PTP clock"), "{text}");
    assert!(records(&bench.out("out")).is_empty());
}

#[test]
fn doctor_says_of_each_host_what_it_has_and_of_one_without_ssh_what_to_do() {
    let Some(mut machines) = Machines::new() else { return };
    let before = machines.states();
    let hosts = machines.inventory(&["server", "wire", "client"], "");
    let doctor = |hosts: &Path| output_of(quiclab().arg("doctor").arg("--hosts").arg(hosts).arg("--json"));
    let result = doctor(&hosts);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    let found = |output: &str| -> BTreeMap<String, Value> {
        let checks: Vec<Value> = serde_json::from_str(output).unwrap();
        checks.into_iter().map(|check| (check["name"].as_str().unwrap().to_owned(), check)).collect()
    };
    let checks = found(&result.output);
    let says = |name: &str, part: &str| {
        let check = checks.get(name).unwrap_or_else(|| panic!("{name}: {checks:?}"));
        let text = check["found"].as_str().unwrap();
        assert!(text.contains(part), "{name}: {text}");
    };
    says("server (server): ssh", "round trip");
    says("server (server): root", "yes");
    says("wire (wire): agent", "copied just now");
    says("wire (wire): interface eth2", "up, MTU 1500, 10000 Mbit/s, driver veth");
    says("client (client): time stamps of eth1", "software");
    says("client (client): LaunchTime of eth1", "names no PTP clock");
    says("client (client): clock", "set by");
    says("packets between the hosts", "came back");
    let again = found(&doctor(&hosts).output);
    assert!(again["wire (wire): agent"]["found"].as_str().unwrap().contains("was there already"));
    machines.inside("wire", &["ip", "link", "set", "eth2", "down"]);
    machines.stop_serving("client");
    let result = output_of(quiclab().arg("doctor").arg("--hosts").arg(&hosts).arg("--json"));
    assert_eq!(result.status, Some(1), "{}", result.output);
    let checks = found(&result.output);
    let refused = &checks["client (client): ssh"];
    assert_eq!(refused["good"], false);
    assert!(refused["found"].as_str().unwrap().contains("Connection refused"), "{refused}");
    assert!(refused["remedy"].as_str().unwrap().contains("no ssh server answers there"), "{refused}");
    let down = &checks["wire (wire): interface eth2"];
    assert!(down["remedy"].as_str().unwrap().contains("ip link set eth2 up"), "{down}");
    assert_eq!(checks["server (server): ssh"]["good"], true);
    assert!(checks["packets between the hosts"]["found"].as_str().unwrap().contains("not tried"));
    machines.inside("wire", &["ip", "link", "set", "eth2", "up"]);
    machines.wait_for(&before);
}

#[test]
#[ignore = "builds ngtcp2, quiche and quic-go and takes some minutes; make test-hosts runs it"]
fn the_baseline_of_quic_steps_runs_between_three_hosts() {
    let Some(machines) = Machines::new() else { return };
    let before = machines.states();
    let hosts = machines.inventory(&["server", "wire", "client"], "");
    let folder = tempfile::tempdir().unwrap();
    let baseline = Path::new(REAL_STACKS).join("../experiments/quic-steps/baseline.toml");
    let mut command = quiclab();
    command.arg("run").arg(baseline).args(["--stacks", REAL_STACKS, "--profile", "quick", "--out"]).arg(folder.path());
    let result = output_of(command.args(on_hosts(&hosts)));
    eprintln!("{}{}", result.errors, result.output);
    assert_eq!(result.status, Some(0));
    assert_eq!(records(folder.path()).len(), 12);
    machines.wait_for(&before);
}
