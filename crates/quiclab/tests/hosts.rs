//! What differs between hosts: queueing disciplines with their parameters, clocks of send times, and noise.

mod common;

use std::{collections::BTreeMap, fs, path::Path};

use common::{Bench, REAL_STACKS, TEST_STACKS, quiclab, records, said};
use serde_json::Value;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The records of an experiment with quiche 0.24, `path.json` and the metrics, by the value of `key` in `run.toml`.
fn performed(bench: &Bench, key: &str) -> BTreeMap<String, (Value, Value)> {
    let result = said(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let of = |name: String| {
        let folder = bench.out("out").join(name);
        let settings = fs::read_to_string(folder.join("run.toml")).unwrap();
        let value = settings.lines().find_map(|line| line.strip_prefix(&format!("{key} = "))).unwrap_or("none");
        (value.trim_matches('"').to_owned(), (json(&folder.join("path.json")), json(&folder.join("metrics.json"))))
    };
    records(&bench.out("out")).into_iter().map(of).collect()
}

#[test]
fn thefts_take_the_time_that_was_asked_for_and_are_repeated_with_the_run() {
    let bench = Bench::new(
        "name = \"noise\"\ntitle = \"Thefts of CPU time\"\n[stack]\nname = \"quiche-0.24\"\n[workload]\nsize = \"512 KiB\"\n\
         [hosts]\nreceive_coalescing = \"1 ms\"\n[vm]\ntheft_interval = \"4 ms\"\ntheft_length = \"1 ms\"\ntimer_slack = \"1 ms\"\n\
         nanoseconds_per_instruction = 2\n[matrix]\n\"vm.theft_distribution\" = [\"constant\", \"exponential\", \"pareto\"]\n",
    );
    let runs = performed(&bench, "theft_distribution");
    assert_eq!(runs.len(), 3);
    for (distribution, (path, metrics)) in &runs {
        let [count, time] = ["count", "time_ns"].map(|name| path["thefts"][name].as_u64().unwrap());
        let mean = time as f64 / count as f64;
        // Some two hundred draws; of a constant every one is the same.
        let tolerance = if distribution == "constant" { 1.0 } else { 300_000.0 };
        assert!(count > 50 && (mean - 1e6).abs() < tolerance, "{distribution}: {count} thefts of {mean} ns");
        let busy = metrics["metrics"]["cpu_busy_share"].as_f64().unwrap();
        assert!(busy > 0.2, "{distribution}: a fifth of the time is taken, and the machine was busy {busy}");
    }
    let record = records(&bench.out("out")).remove(0);
    let verified = said(quiclab().arg("verify").arg(bench.out("out").join(record)).args(["--stacks", REAL_STACKS]));
    assert_eq!(verified.status, Some(0), "{}{}", verified.output, verified.errors);
}

#[test]
fn the_maximum_rate_of_fq_holds_the_server_back() {
    let bench = Bench::new(
        "name = \"fq\"\ntitle = \"FQ at half the rate of the bottleneck\"\n[stack]\nname = \"quiche-0.24\"\n[workload]\nsize = \"512 KiB\"\n\
         [hosts]\nserver_qdisc = \"fq\"\nfq_limit_packets = 5000\nfq_quantum = \"3 KiB\"\nfq_initial_quantum = \"15 KiB\"\n\
         fq_horizon = \"2 s\"\nfq_timer_slack = \"1 us\"\n[matrix]\n\"hosts.fq_maximum_rate\" = [\"default\", \"8 Mbit/s\"]\n",
    );
    let runs = performed(&bench, "fq_maximum_rate");
    let goodput = |key: &str| runs[key].1["metrics"]["goodput_wire_bps"].as_f64().unwrap();
    // FQ counts frames, and lets the handshake and the first quantum of bytes pass at once.
    assert!(
        goodput("8 Mbit/s") < 8.5e6 && goodput("default") > 10e6,
        "{} and {}",
        goodput("8 Mbit/s"),
        goodput("default")
    );
    let fq = |key: &str| {
        let queue = &runs[key].0["server"]["queues"][0];
        assert_eq!(queue["kind"], "fq");
        queue["counts"].clone()
    };
    assert!(fq("8 Mbit/s")["throttled"].as_u64().unwrap() > 100, "{}", fq("8 Mbit/s"));
}

#[test]
fn the_horizon_of_fq_drops_what_is_planned_beyond_it_and_the_run_says_so() {
    let bench = Bench::new(
        "name = \"fq\"\ntitle = \"FQ that looks hardly ahead\"\n[stack]\nname = \"quiche-0.24\"\n[workload]\nsize = \"512 KiB\"\n\
         [hosts]\nserver_qdisc = \"fq\"\nfq_horizon = \"100 us\"\n",
    );
    let runs = performed(&bench, "fq_horizon");
    let (path, metrics) = &runs["100 us"];
    let fq = &path["server"]["queues"][0];
    assert!(fq["kind"] == "fq" && fq["drops"]["horizon"].as_u64().unwrap() > 0, "{fq}");
    let warnings = metrics["warnings"].to_string();
    assert!(warnings.contains("server_queue_drops"), "{warnings}");
}

#[test]
fn etf_sends_at_the_time_that_was_planned_also_as_a_deadline() {
    let bench = Bench::new(
        "name = \"etf\"\ntitle = \"ETF\"\n[stack]\nname = \"quiche-0.24\"\ngso = \"off\"\n[workload]\nsize = \"1 MiB\"\n\
         [hosts]\nserver_qdisc = \"etf\"\n[matrix]\n\"hosts.etf_deadline\" = [false, true]\n",
    );
    let runs = performed(&bench, "etf_deadline");
    assert_eq!(runs.len(), 2);
    let metric = |key: &str, name: &str| runs[key].1["metrics"][name].as_f64().unwrap();
    // Released 0.2 ms before its time, always; as a deadline at once, however long before.
    let precision = metric("false", "precision_sd_ns");
    assert!(precision < 100_000.0, "{precision}");
    assert!(metric("true", "precision_sd_ns") > 2.0 * precision, "{}", metric("true", "precision_sd_ns"));
    for key in ["false", "true"] {
        assert!(metric(key, "precision_samples") > 0.95 * metric(key, "packets_sent"), "{key}");
    }
}

#[test]
fn a_stack_whose_packets_etf_drops_is_told_why_it_failed() {
    let bench = Bench::new(
        "name = \"etf\"\ntitle = \"A stack that claims send times and hands none over\"\n[stack]\nname = \"misbehaving\"\n\
         congestion_control = \"not-at-all\"\npacing = \"txtime\"\n[workload]\nsize = \"64 KiB\"\ntimeout = \"5 s\"\n[matrix]\n\
         \"hosts.server_qdisc\" = [\"etf\", \"fq\"]\n",
    );
    let result = said(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(result.status, Some(1), "{}", result.errors);
    for part in ["etf at the server dropped", "and passed 0", "it drops packets without a send time on its clock"] {
        assert!(result.errors.contains(part), "lacks {part:?}: {}", result.errors);
    }
    // FQ sends what has no time at once; the run says that nobody knows what was planned.
    let [record] = &records(&bench.out("out"))[..] else { panic!("one record") };
    let metrics = fs::read_to_string(bench.out("out").join(record).join("metrics.json")).unwrap();
    assert!(metrics.contains("planned_times_missing"), "{metrics}");
}
