//! Runs in namespaces of this machine, in real time: they measure what the virtual machine measures, and leave nothing behind.

use crate::common;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::common::{Bench, TEST_STACKS, output_of, records};
use quiclab_testing::{has_namespaces, wait_until};
use serde_json::Value;

/// A transfer that is limited by its rate: 2 MiB at 20 Mbit/s take nearly a second.
const EXPERIMENT: &str = r#"
name = "tests/netns"
title = "A transfer in real time"
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

#[test]
fn a_transfer_in_namespaces_has_the_goodput_of_one_in_the_virtual_machine() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let bench = Bench::new(EXPERIMENT);
    for testbed in ["vm", "netns"] {
        let result = output_of(&mut bench.run(TEST_STACKS, testbed, &["--testbed", testbed, "--wait-for-quiet", "0"]));
        assert_eq!(result.status, Some(0), "{testbed}: {}", result.errors);
    }
    let [exact, sample] = ["vm", "netns"].map(|testbed| only_record(&bench.out(testbed)));
    let [usual, found] =
        [&exact, &sample].map(|record| json(record, "metrics.json")["metrics"]["goodput_wire_bps"].as_f64().unwrap());
    // Real time on a busy machine: what the rate limits is the same, but for a stall.
    assert!(
        (0.75..1.1).contains(&(found / usual)),
        "{found} bit/s in namespaces, {usual} bit/s in the virtual machine"
    );

    let run = fs::read_to_string(sample.join("run.toml")).unwrap();
    for line in ["testbed = \"netns\"", "clock = \"wall\"", "kernel = ", "cpus = ", "socket_buffers = "] {
        assert!(run.contains(line), "{line}: {run}");
    }
    assert!(!fs::read_to_string(exact.join("run.toml")).unwrap().contains("clock = "));
    let path = json(&sample, "path.json");
    assert_eq!(path["testbed"], "netns");
    assert_eq!((&path["drained"], path["taps"].as_array().map(Vec::len)), (&Value::Bool(true), Some(2)));
    // Either the kernel had the disciplines, or the record says why it did not move the packets.
    let forwarder = &path["path"]["forwarder"];
    let kinds: Vec<_> = path["path"]["to_client"].as_array().unwrap().iter().map(|stage| &stage["kind"]).collect();
    match forwarder["why"].as_str() {
        Some(why) => assert!(why.starts_with("this machine's kernel has no netem"), "{why}"),
        None => assert_eq!(kinds, ["tbf", "netem"]),
    }
    for file in ["wire.pcapng", "server", "client"] {
        assert!(sample.join(file).exists(), "{file} is missing");
    }

    // What the hosts did is sampled in real time, and no metric of it is null without a reason.
    assert!(!exact.join("host.json").exists());
    let host = json(&sample, "host.json");
    let reference =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/record.md")).unwrap();
    let kinds: BTreeSet<&str> =
        host["series"].as_array().unwrap().iter().filter_map(|series| series["kind"].as_str()).collect();
    assert!(["core", "endpoint", "thread", "udp"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    for series in host["series"].as_array().unwrap() {
        for counter in series["counters"].as_object().unwrap().keys() {
            assert!(reference.contains(&format!("`{counter}`")), "{counter} is not in the reference");
        }
    }
    for (record, is_sampled) in [(&exact, false), (&sample, true)] {
        let measured = json(record, "metrics.json");
        let withheld: Vec<&str> = measured["withheld"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|it| it["metrics"].as_array().unwrap())
            .filter_map(Value::as_str)
            .collect();
        for metric in quiclab_metrics::HOST_METRICS {
            assert_eq!(measured["metrics"][metric].is_null(), withheld.contains(metric), "{metric}");
        }
        let cpu = measured["metrics"]["server_cpu_s_per_gb"].as_f64();
        assert_eq!(cpu.is_some_and(|cpu| cpu > 0.0), is_sampled, "{cpu:?}");
    }
    let page = output_of(common::quiclab().arg("report").arg(&sample));
    assert_eq!(page.status, Some(0), "{}", page.errors);

    let verified = output_of(common::quiclab().arg("verify").arg(&sample).args(["--stacks", TEST_STACKS]));
    assert!(verified.errors.contains("found a run in real time"), "{}", verified.errors);
    let compared = output_of(common::quiclab().arg("ab").args(["vm", "netns"].map(|testbed| bench.out(testbed))));
    assert!(compared.output.contains("B is a sample of real time"), "{}{}", compared.output, compared.errors);
    let differs = output_of(common::quiclab().arg("diff").args([&exact, &sample]));
    assert!(differs.output.contains("A is exact, B is a sample of real time"), "{}{}", differs.output, differs.errors);
}

#[test]
fn settings_of_the_virtual_machine_are_refused_by_name() {
    if !has_namespaces() {
        return;
    }
    let bench = Bench::new(&format!("{EXPERIMENT}vm.nanoseconds_per_instruction = 2\n"));
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--testbed", "netns", "--wait-for-quiet", "0"]));
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(result.errors.contains("vm.nanoseconds_per_instruction"), "{}", result.errors);
    assert!(result.errors.contains("hint: --testbed vm"), "{}", result.errors);
}

/// What of a process does not change while it lives.
fn started(process: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some((*fields.get(19)?).to_owned())
}

/// The processes that `root` has started, and those that these have started, with the time of their start.
fn descendants(root: u32) -> BTreeMap<u32, String> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent =
            text.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse::<u32>().ok());
        parents.insert(process, parent.unwrap_or(0));
    }
    let mut found = BTreeSet::from([root]);
    while let Some(next) = parents.iter().find(|(process, parent)| found.contains(parent) && !found.contains(process)) {
        found.insert(*next.0);
    }
    found.remove(&root);
    found.into_iter().filter_map(|process| Some((process, started(process)?))).collect()
}

/// The namespaces of these processes that are not those of this one.
fn namespaces<'a>(processes: impl Iterator<Item = &'a u32>) -> BTreeSet<PathBuf> {
    let of = |process: &str| {
        let kinds = ["net", "mnt", "pid", "ipc", "user"];
        kinds.map(|kind| fs::read_link(format!("/proc/{process}/ns/{kind}"))).into_iter().flatten().collect::<Vec<_>>()
    };
    let own: BTreeSet<_> = of("self").into_iter().collect();
    processes.flat_map(|process| of(&process.to_string())).filter(|one| !own.contains(one)).collect()
}

fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[test]
fn nothing_is_left_when_quiclab_is_killed_at_any_moment() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let bench = Bench::new(EXPERIMENT);
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let interfaces = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = (mounts(), interfaces());
    let whole = output_of(&mut bench.run(TEST_STACKS, "whole", &["--testbed", "netns", "--wait-for-quiet", "0"]));
    assert_eq!(whole.status, Some(0), "{}", whole.errors);
    let mut most_namespaces = 0;
    // NETNS_KILLS = 100 takes some minutes.
    let kills = std::env::var("NETNS_KILLS").map_or(6, |text| text.parse().unwrap());
    for kill in 0..kills {
        let mut command: Command =
            bench.run(TEST_STACKS, &format!("killed-{kill}"), &["--testbed", "netns", "--wait-for-quiet", "0"]);
        let mut quiclab = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the agent", || !descendants(quiclab.id()).is_empty());
        // Moments from the start of the agent to the end of the run.
        thread::sleep(Duration::from_millis(kill * 977 % 1500));
        let processes = descendants(quiclab.id());
        let entered = namespaces(processes.keys());
        most_namespaces = most_namespaces.max(entered.len());
        quiclab.kill().unwrap();
        quiclab.wait().unwrap();
        let lives = |(process, start): (&u32, &String)| started(*process).as_ref() == Some(start);
        wait_until("its processes to end", || !processes.iter().any(lives));
        wait_until("its namespaces to go", || namespaces(all_processes().iter()).is_disjoint(&entered));
        assert_eq!((mounts(), interfaces()), before, "kill {kill}");
    }
    // The kills came while there was something to leave behind: a network for each of three, and sandboxes of two endpoints.
    assert!(most_namespaces >= 5, "{most_namespaces} namespaces");
}

#[test]
fn endpoints_that_attack_find_the_walls_of_the_virtual_machine_here_too() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let bench = Bench::new(
        r#"
name = "tests/netns-hostile"
title = "Endpoints that attack, on this machine"
stack.name = "hostile"
workload.size = "64 KiB"
workload.timeout = "4 s"
[matrix]
"stack.congestion_control" = ["client-breaks-out", "server-breaks-out", "client-forks", "server-hides-packets"]
"#,
    );
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--testbed", "netns", "--wait-for-quiet", "0"]));
    let out = bench.out("out");
    let of = |folder: &Path, manner: &str| {
        let name = records(folder).into_iter().find(|name| name.contains(manner));
        folder.join(name.unwrap_or_else(|| panic!("{manner}: no record; {}", result.errors)))
    };
    for (role, manner) in [("client", "client-breaks-out"), ("server", "server-breaks-out")] {
        let output = fs::read_to_string(of(&out, manner).join(role).join("stdout")).unwrap();
        let tried = output.lines().filter(|line| line.starts_with("tried ")).count();
        let other: Vec<_> = output.lines().filter(|line| !line.starts_with("tried ")).collect();
        assert!(tried > 40, "{output}");
        // Buffers belong to the whole machine. The rest needs more users than whoever is not root has.
        let usual = [
            "could not have a buffer of 50 MiB",
            "could not become another user",
            "could not read what only root may read",
        ];
        assert!(other.iter().all(|line| usual.contains(line)), "{manner}: {other:?}");
    }
    for (manner, why) in
        [("client-forks", "did not end within 4 s"), ("server-hides-packets", "the server ended before the transfer")]
    {
        let line = result.errors.lines().find(|line| line.contains(manner) && line.contains(why));
        assert!(line.is_some(), "{manner}: {}", result.errors);
    }
}

#[test]
fn a_second_quiclab_waits_for_its_turn_and_says_whose_it_is() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let bench = Bench::new(EXPERIMENT);
    let mut command = bench.run(TEST_STACKS, "first", &["--testbed", "netns", "--reps", "4"]);
    let mut first = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let turn = || {
        let folder = bench.out("first");
        folder.is_dir() && fs::read_dir(folder).unwrap().flatten().any(|entry| entry.file_name() != ".lock")
    };
    wait_until("the first one to perform a run", turn);
    let holder = format!("process {} in ", first.id());
    let mut tries = 0;
    let mut refused = None;
    wait_until("a refusal that names the first one", || {
        tries += 1;
        let out = format!("refused-{tries}");
        let found = output_of(&mut bench.run(TEST_STACKS, &out, &["--testbed", "netns", "--no-wait"]));
        refused = found.errors.contains(&holder).then_some(found);
        refused.is_some()
    });
    let refused = refused.unwrap();
    assert_ne!(refused.status, Some(0));
    assert!(refused.errors.contains("hint: without --no-wait this one waits for its end"), "{}", refused.errors);
    let second = bench.run(TEST_STACKS, "third", &["--testbed", "netns"]).stderr(Stdio::piped()).spawn().unwrap();
    // Whoever has the turn loses it with its life.
    first.kill().unwrap();
    first.wait().unwrap();
    let second = second.wait_with_output().unwrap();
    let errors = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(0), "{errors}");
    assert_eq!(records(&bench.out("third")).len(), 1);
}

/// Tests that perform runs here take turns, as their processes would, so that none waits when it is to be killed.
fn in_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn super_packets_and_jumbo_frames_are_measured_as_packets() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let settings = "hosts.offloads = \"on\"\npath.mtu = 4000\npath.burst = \"16 KiB\"\nhosts.server_cpus = \"0\"\ntap.snaplen = \"128 B\"\n";
    let experiment = format!("{EXPERIMENT}{settings}").replace("\"misbehaving\"", "\"tcp-tls\"");
    let bench = Bench::new(&experiment.replace("stack.name", "stack.congestion_control = \"cubic\"\nstack.name"));
    let result = output_of(&mut bench.run(common::REAL_STACKS, "out", &["--testbed", "netns"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let record = only_record(&bench.out("out"));
    let (path, metrics) = (json(&record, "path.json"), json(&record, "metrics.json"));
    let taps = path["taps"].as_array().unwrap();
    assert!(taps[0]["super_packets"].as_u64().unwrap() > 50, "{taps:?}");
    // The bottleneck treats packets one by one, so none is left behind it.
    assert_eq!(taps[1]["super_packets"], 0, "{taps:?}");
    assert!(path["path"]["forwarder"]["super_packets"]["cut"].as_u64().unwrap() > 50, "{path}");
    assert!(path["path"]["forwarder"]["why"].as_str().unwrap().contains("hosts.offloads"), "{path}");
    // 2 MiB in packets of at most 3948 bytes of payload.
    let packets = metrics["metrics"]["packets_sent"].as_u64().unwrap();
    assert!((532..800).contains(&packets), "{packets} packets");
    let codes = metrics["warnings"].to_string();
    assert!(!codes.contains("before segmentation"), "{codes}");
}

#[test]
fn zeros_that_are_not_kept_arrive() {
    if !has_namespaces() {
        return;
    }
    let _turn = in_turn();
    let settings = "workload.contents = \"zeros\"\nworkload.keep = false\nworkload.size_of = \"all\"\nworkload.files = 3\n\
                    tap.snaplen = \"128 B\"\n";
    let experiment =
        format!("{EXPERIMENT}{settings}").replace("\"misbehaving\"", "\"tcp-tls\"").replace("2 MiB", "3 MiB");
    assert!(experiment.contains("3 MiB"), "{experiment}");
    let bench = Bench::new(&experiment.replace("stack.name", "stack.congestion_control = \"cubic\"\nstack.name"));
    let result = output_of(&mut bench.run(common::REAL_STACKS, "out", &["--testbed", "netns"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let metrics = json(&only_record(&bench.out("out")), "metrics.json");
    // TLS and HTTP/2 add some, and all three files together are 3 MiB.
    let sent = metrics["metrics"]["payload_bytes_sent"].as_u64().unwrap();
    assert!((3 << 20..4 << 20).contains(&sent), "{sent} bytes");
    let thirds = experiment.replace("3 MiB", "4 MiB");
    let result = output_of(&mut Bench::new(&thirds).run(common::REAL_STACKS, "out", &["--testbed", "netns"]));
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(
        result.errors.contains("found 4 MiB for 3 files together; expected a multiple of 3 B"),
        "{}",
        result.errors
    );
}

#[test]
fn what_this_machine_does_not_have_is_refused_with_what_to_do() {
    if !has_namespaces() {
        return;
    }
    for (line, expected) in [
        ("hosts.server_cpus = \"8191\"", "hosts.server_cpus: found 8191"),
        ("hosts.udp_receive_buffer = \"3001 B\"", "sysctl -w net.core.rmem_default=3001"),
        ("hosts.busy_poll = \"977 us\"", "sysctl -w net.core.busy_poll=977"),
        (
            "hosts.offloads = \"on\"\npath.forwarder = \"kernel\"",
            "hosts.offloads: found \"on\" with stages of the path",
        ),
        ("path.mtu = 9000", "path.mtu: found 9000 with a bucket of 1535 B"),
    ] {
        let bench = Bench::new(&format!("{EXPERIMENT}{line}\n"));
        let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--testbed", "netns"]));
        assert_eq!(result.status, Some(125), "{line}: {}", result.errors);
        assert!(result.errors.contains(expected), "{line}: {}", result.errors);
    }
}
