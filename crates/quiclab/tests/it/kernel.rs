//! `quiclab tools kernel`, and runs with the kernel that it builds. No test builds it; those that run it say so where it is not in the cache.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Bench, REAL_STACKS, output_of, path_with, program, quiclab, records};
use quiclab_metrics::RunMetrics;
use quiclab_testbed::{cache::Cache, kernel::Kernel};
use quiclab_testing::{processes_with, wait_until};

const EXPERIMENT: &str = r#"
name = "tests/kernel"
title = "One transfer on each of two kernels"
[stack]
name = "ngtcp2"
[workload]
size = "1 MiB"
[matrix]
"vm.kernel" = ["6.1", "6.1-paced"]
"#;

fn kernel(action: &[&str]) -> Command {
    let mut command = quiclab();
    command.args(["tools", "kernel"]).args(action).args(["--stacks", REAL_STACKS]);
    command
}

fn kernels(command: &mut Command) -> Vec<serde_json::Value> {
    let result = output_of(command);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    serde_json::from_str(&result.output).unwrap()
}

#[test]
fn every_kernel_is_listed_with_the_command_that_makes_it() {
    let bench = Bench::new(EXPERIMENT);
    let found = kernels(kernel(&["list", "--json"]).env("QUICLAB_CACHE", bench.out("cache")));
    let of = |key: &str| found.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kernel"), ["6.1", "6.1-rt", "6.12", "6.1-paced"]);
    assert!(of("cached").iter().all(|cached| cached == false) && of("version").iter().all(serde_json::Value::is_null));
    assert_eq!(found[3]["command"], "quiclab tools kernel build");
    let table = output_of(kernel(&["list"]).env("QUICLAB_CACHE", bench.out("cache"))).output;
    assert!(table.contains("6.1-paced") && table.contains("quiclab tools kernel build"), "{table}");
}

#[test]
fn a_run_does_not_build_the_kernel_but_says_what_does() {
    let bench = Bench::new(EXPERIMENT);
    // The stack's root file system is made first; what is in it does not matter here.
    program(&bench.out("bin"), "mmdebstrap", "touch root.erofs packages");
    let mut run = bench.run(REAL_STACKS, "out", &["--filter", "vm.kernel=6.1-paced"]);
    let result = output_of(run.env("PATH", path_with(&bench.out("bin"))).env("QUICLAB_CACHE", bench.out("cache")));
    assert_eq!(result.status, Some(125));
    for part in ["kernel: \"6.1-paced\"", "hint: quiclab tools kernel build", "minutes"] {
        assert!(result.errors.contains(part), "lacks {part:?}: {}", result.errors);
    }
}

#[test]
fn packages_that_building_needs_are_named() {
    let bench = Bench::new(EXPERIMENT);
    let empty = tempfile::tempdir().unwrap();
    let mut build = kernel(&["build"]);
    let result = output_of(build.env("PATH", empty.path()).env("QUICLAB_CACHE", bench.out("cache")));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("hint: apt-get install make gcc binutils flex bison bc"), "{}", result.errors);
    assert!(result.errors.contains("libelf-dev"), "{}", result.errors);
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    let bench = Bench::new(EXPERIMENT);
    let (bin, folder) = (bench.out("bin"), bench.out("cache"));
    let cache = Cache::at(folder.clone());
    let stock = cache.folder(&format!("kernel/6.1-{}", Kernel::parts()), |folder| {
        fs::write(folder.join("version"), "linux-image-6.1.0-99-cloud-amd64 6.1.999-1")?;
        Ok(fs::write(folder.join("modules.list"), "")?)
    });
    stock.unwrap();
    let started = bench.out("started");
    let get = format!(
        "case \"$*\" in *update*) exit 0 ;; esac\ntouch {0}; exec sleep 61.{1}",
        started.display(),
        std::process::id()
    );
    for name in ["make", "gcc", "ld", "flex", "bison", "bc", "patch", "xz"] {
        program(&bin, name, "echo 1");
    }
    program(&bin, "apt-get", &get);
    program(&bin, "dpkg-query", "printf installed");
    let mut build = kernel(&["build"]);
    build.env("PATH", path_with(&bin)).env("QUICLAB_CACHE", &folder);
    let mut child = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the download", || started.exists() || child.try_wait().unwrap().is_some());
    // SAFETY: plain system call on our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let sleeping = format!("61.{}", std::process::id());
    assert!(processes_with(&sleeping).is_empty(), "left behind: {:?}", processes_with(&sleeping));
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.filter(|name| name.starts_with(".making-") || name.contains("paced-")).collect::<Vec<_>>()
    };
    assert!(names(&folder).iter().all(|name| name.starts_with(".lock-")), "left behind: {:?}", names(&folder));
    assert!(names(&folder.join("kernel")).is_empty(), "left behind: {:?}", names(&folder.join("kernel")));
}

/// The trimmed kernel needs fewer instructions, so times are others; what the transfer achieves must not be.
#[test]
#[ignore = "needs kernel 6.1-paced, which takes minutes to build: make test-kernel"]
fn a_transfer_on_the_patched_kernel_is_as_on_the_stock_one() {
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let found = records(&bench.out("out")).into_iter().map(|name| {
        let text = fs::read_to_string(bench.out("out").join(name).join("metrics.json")).unwrap();
        RunMetrics::from_json(&text).unwrap().metrics
    });
    let [one, other]: [_; 2] = found.collect::<Vec<_>>().try_into().unwrap();
    let [one, other] = [one, other].map(|metrics| metrics.goodput_wire_bps.unwrap());
    assert!((one / other - 1.0).abs() < 0.1, "goodput {one} and {other} bit/s");
}

/// A program that sends buffers of 4500 bytes, in segments of 1000, at 300 000 bytes per second: a segment takes 1/300 s.
#[test]
#[ignore = "needs kernel 6.1-paced, which takes minutes to build: make test-kernel"]
fn segments_leave_at_the_rate_of_the_control_message() {
    let bench = Bench::new(
        "name = \"probe\"\ntitle = \"What the kernel answers\"\n[stack]\nname = \"pacing\"\n\
         [workload]\nsize = \"1 KiB\"\n[matrix]\nkernel = [\"6.1\", \"6.1-paced\"]\n\
         \"hosts.server_qdisc\" = [\"fq\", \"etf\", \"pfifo_fast\"]\n",
    );
    // It is no endpoint that transfers anything, so all runs fail; what it printed is kept.
    let probe = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/probes/pacing");
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--stack", probe]));
    assert_eq!(result.status, Some(6), "{}", result.errors);
    for run in fs::read_dir(bench.out("out/failed")).unwrap() {
        let folder = run.unwrap().path();
        let settings = fs::read_to_string(folder.join("run.toml")).unwrap();
        let [answers, arrivals] =
            ["server", "client"].map(|role| fs::read_to_string(folder.join(role).join("stdout")).unwrap());
        let is_patched = settings.contains("kernel = \"6.1-paced\"");
        let taken = if is_patched { 0 } else { libc::EINVAL };
        for version in [4, 6] {
            let refused = ["unknown", "zero", "short"].map(|what| (what, libc::EINVAL));
            for (what, error) in
                refused.into_iter().chain(["single", "now", "monotonic", "tai"].map(|what| (what, taken)))
            {
                let line = format!("{version} {what} {error}\n");
                assert!(answers.contains(&line), "lacks {line:?}: {answers}\n{settings}");
            }
            // What each discipline lets through: fq drops times far ahead, and etf what has no time, or one of another clock.
            let (passing, spaced) =
                match (is_patched, settings.contains("kind = \"fq\""), settings.contains("kind = \"etf\"")) {
                    (false, ..) => ("", false),
                    (true, true, _) => ("nm", true),
                    (true, _, true) => ("t", true),
                    _ => ("nmt", false),
                };
            for series in "nmt".chars() {
                let start = format!("{version} {series} ");
                let packets: Vec<Vec<u64>> = arrivals
                    .lines()
                    .filter_map(|line| line.strip_prefix(&start))
                    .map(|line| line.split(' ').map(|number| number.parse().unwrap()).collect())
                    .collect();
                let lengths: Vec<_> = packets.iter().map(|packet| packet[0]).collect();
                let expected: &[u64] = if passing.contains(series) { &[1000, 1000, 1000, 1000, 500] } else { &[] };
                assert_eq!(lengths, expected, "{start}: {arrivals}\n{settings}");
                // The first gap of what leaves at once is shorter by the time that taking the buffer apart takes.
                let gaps = packets.iter().skip(2).map(|packet| packet[1]);
                let is_spaced = |gap: u64| gap.abs_diff(3_333_333) < 20_000;
                assert!(gaps.into_iter().all(|gap| is_spaced(gap) == spaced), "{start}: {arrivals}\n{settings}");
            }
        }
    }
}
