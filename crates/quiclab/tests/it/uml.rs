//! Runs on User-Mode Linux: the same bytes again beside other work, and what the testbed refuses or does not know.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::common::{Bench, REAL_STACKS, TEST_STACKS, output_of, records};

fn experiment(stacks: &str, more: &str) -> String {
    format!(
        "name = \"tests/uml\"\ntitle = \"x\"\n[workload]\nsize = \"1 MiB\"\n{more}[matrix]\n\"stack.name\" = [{stacks}]\n"
    )
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
#[ignore = "needs kernel uml, which takes minutes to build: make test-uml"]
fn the_same_bytes_come_again_beside_other_work() {
    let bench = Bench::new(&experiment("\"quinn\", \"quic-go\", \"tcp-tls\"", ""));
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = Vec::new();
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let result = output_of(&mut bench.run(REAL_STACKS, out, &["--testbed", "uml", "-j", jobs]));
        assert_eq!(result.status, Some(0), "{}", result.errors);
        load.extend((0..4).map(|_| {
            let stop = stop.clone();
            thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        }));
    }
    stop.store(true, Ordering::Relaxed);
    load.into_iter().for_each(|thread| thread.join().unwrap());

    let [one, two] = [bench.out("one"), bench.out("two")];
    let names = records(&one);
    assert_eq!(names.len(), 3);
    assert_eq!(names, records(&two));
    for name in &names {
        for file in ["wire.pcapng", "metrics.json", "run.toml", "path.json"] {
            let same = fs::read(one.join(name).join(file)).unwrap() == fs::read(two.join(name).join(file)).unwrap();
            assert!(same, "{name}/{file} differs");
        }
        let metrics = read(&one.join(name).join("metrics.json"));
        for null in ["cpu_busy_share", "server_cpu_s_per_gb"] {
            assert_eq!(metrics["metrics"][null], Value::Null, "{name}: {null}");
            let has_reason = metrics["withheld"].as_array().unwrap().iter().any(|withheld| {
                withheld["reason"].as_str().unwrap().contains("computing takes no time")
                    && withheld["metrics"].as_array().unwrap().iter().any(|metric| metric == null)
            });
            assert!(has_reason, "{name}: {null}");
        }
    }
}

#[test]
#[ignore = "needs kernel uml, which takes minutes to build: make test-uml"]
fn the_charged_processor_takes_time_and_the_ideal_one_none() {
    let bench = Bench::new(
        &experiment("\"quinn\"", "").replace("[matrix]", "[matrix]\n\"hosts.cpu\" = [\"charged\", \"ideal\"]"),
    );
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--testbed", "uml"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    // A handshake is system calls and the delay of the path.
    let times: Vec<u64> = records(&bench.out("out"))
        .iter()
        .map(|name| {
            read(&bench.out("out").join(name).join("metrics.json"))["metrics"]["handshake_confirmed_ns"]
                .as_u64()
                .unwrap()
        })
        .collect();
    let [charged, ideal] = times[..] else { panic!("{times:?}") };
    assert!(charged > ideal, "charged {charged}, ideal {ideal}");
}

#[test]
#[ignore = "needs kernel uml, which takes minutes to build: make test-uml"]
fn an_endpoint_that_computes_for_ever_fails_its_run_and_no_other() {
    let bench = Bench::new(&experiment("\"misbehaving\"", "[stack]\ncongestion_control = \"client-spins\"\n"));
    // The sources of the kernel are beside the stacks.
    let home = tempfile::tempdir().unwrap();
    let kernel = Path::new(REAL_STACKS).parent().unwrap().join("kernel");
    for (there, name) in [(Path::new(TEST_STACKS), "stacks"), (&kernel, "kernel")] {
        symlink(there, home.path().join(name)).unwrap();
    }
    let stacks = home.path().join("stacks");
    let result = output_of(&mut bench.run(stacks.to_str().unwrap(), "out", &["--testbed", "uml"]));
    assert_eq!(result.status, Some(1), "{}", result.errors);
    assert!(result.errors.contains("without a system call"), "{}", result.errors);
}

#[test]
fn what_needs_a_counting_processor_is_refused() {
    for (more, key) in [("[tap]\nsend_sizes = true\n", "tap.send_sizes"), ("[tap]\nprofile = true\n", "tap.profile")] {
        let bench = Bench::new(&experiment("\"quinn\"", more));
        let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--testbed", "uml"]));
        assert_eq!(result.status, Some(125), "{}", result.errors);
        assert!(
            result.errors.contains(key) && result.errors.contains("the testbed uml does not have"),
            "{}",
            result.errors
        );
    }
    let bench = Bench::new(&experiment("\"quinn\"", "[hosts]\ncpu = \"ideal\"\n"));
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(result.errors.contains("--testbed uml"), "{}", result.errors);
}
