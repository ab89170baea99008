//! Scenarios of models, as a user would run them.

use std::{fs, path::Path};

use crate::common::{
    Bench, has_no_converter,
    models::{SMALL, read, run},
    output_of, quiclab, records,
};
use serde_json::Value;

#[test]
fn fresh_processes_and_any_number_of_threads_give_the_same_bytes() {
    let files = Bench::new(SMALL);
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let result = run(&files, out, &["-j", jobs, "--testbed", "sim"]);
        assert_eq!(result.status, Some(0), "{}", result.errors);
        assert!(result.output.contains("holds         the link is used"), "{}", result.output);
    }
    for name in ["report.json", "report.html", "runs.parquet"] {
        assert!(read(&files.out("one").join(name)) == read(&files.out("two").join(name)), "{name} differs");
    }
    let report: Value = serde_json::from_slice(&read(&files.out("one/report.json"))).unwrap();
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for group in groups {
        assert_eq!(group["runs"].as_array().unwrap().len(), 2);
        let shares = ["share.plain", "share.paced"].map(|name| group["metrics"][name]["mean"].as_f64().unwrap());
        assert!((shares[0] + shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(group["series"]["time"].as_array().unwrap().len(), 100);
    }
}

#[test]
fn a_record_says_what_was_run_what_was_counted_and_what_was_measured() {
    let files = Bench::new(&SMALL.replace("duration = \"3 s\"", "duration = \"3 s\"\ntime_limit = \"10 min\""));
    let result = run(&files, "out", &["--reps", "1", "--json"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(result["performed"].as_array().unwrap().len(), 2);
    let out = files.out("out");
    let record = out.join(&records(&out)[0]);
    let run: toml::Table = toml::from_str(&String::from_utf8(read(&record.join("run.toml"))).unwrap()).unwrap();
    assert_eq!(run["kind"].as_str(), Some("scenario"));
    assert_eq!(run["run"]["experiment"].as_str(), Some("small"));
    assert_eq!(run["versions"]["testbed"].as_str(), Some("sim"));
    let json = |name: &str| -> Value { serde_json::from_slice(&read(&record.join(name))).unwrap() };
    let (path, metrics) = (json("path.json"), json("metrics.json"));
    // What was counted and what was measured are the same packets: there is no warm-up.
    let bottleneck = &path["bottlenecks"][0];
    assert_eq!((&bottleneck["queue"], &path["counted_until_ns"]), (&"drop_tail".into(), &3_000_000_000_u64.into()));
    assert_eq!(bottleneck["packets_dropped"].as_f64(), metrics["metrics"]["drops_packets"].as_f64());
    let groups = path["groups"].as_object().unwrap();
    let delivered: u64 = groups.values().map(|group| group["segments_delivered"].as_u64().unwrap()).sum();
    let goodput = delivered as f64 * 1500.0 * 8.0 / 3.0;
    assert!((metrics["metrics"]["goodput_bps"].as_f64().unwrap() / goodput - 1.0).abs() < 1e-9);
    // Flows without end have no transfers: null, with the reason.
    assert_eq!(metrics["metrics"]["transfers.plain"], Value::Null);
    let withheld = metrics["withheld"].as_array().unwrap();
    let of_transfers = |row: &&Value| row["metrics"].as_array().unwrap().contains(&"transfers.plain".into());
    let reason = withheld.iter().find(of_transfers).unwrap()["reason"].as_str().unwrap();
    assert_eq!(reason, "no transfer that began after the warm-up ended");
    assert_eq!(metrics["series"]["time"].as_array().unwrap().len(), 100);
    // Only what can change the outcome is in the identity.
    let other = Bench::new(SMALL);
    assert_eq!(self::run(&other, "out", &["--reps", "1"]).status, Some(0));
    assert_eq!(records(&other.out("out")), records(&out));
}

#[test]
fn perform_and_verify_repeat_a_run_byte_for_byte() {
    let files = Bench::new(SMALL);
    let dry = run(&files, "unused", &["--dry-run", "--json"]);
    assert_eq!(dry.status, Some(0), "{}", dry.errors);
    assert!(!files.out("unused").exists());
    let runs: Vec<Value> = serde_json::from_str(&dry.output).unwrap();
    assert_eq!((runs.len(), &runs[0]["kind"], &runs[0]["testbed"]), (4, &"scenario".into(), &"sim".into()));
    let file = files.folder.path().join("run.json");
    fs::write(&file, runs[0].to_string()).unwrap();
    let record = files.out("out/mine");
    let perform = |run: &Path, record: &Path| {
        output_of(quiclab().args(["tools", "perform"]).arg(run).arg("--record").arg(record).arg("--json"))
    };
    let result = perform(&file, &record);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!((&result["performed"], &result["testbed"]), (&true.into(), &"sim".into()));
    assert!(result["metrics"]["utilisation"].as_f64().unwrap() > 0.3);
    let again = files.out("again");
    assert_eq!(perform(&record.join("run.toml"), &again).status, Some(0));
    for name in ["run.toml", "path.json", "metrics.json"] {
        assert!(read(&record.join(name)) == read(&again.join(name)), "{name} differs");
    }
    // `run` finds it under its own name, and performs the other three.
    let result = run(&files, "out", &[]);
    assert!(result.errors.contains("1 of 4 runs have a record already"), "{}", result.errors);
    let verify = |record: &Path| output_of(quiclab().arg("verify").arg(record));
    let result = verify(&record);
    assert_eq!((result.status, result.output.contains("every byte is the same")), (Some(0), true), "{}", result.errors);
    // One digit of one metric, at the same length.
    let text = String::from_utf8(read(&again.join("metrics.json"))).unwrap();
    let digit = text.find("\"goodput_bps\": ").unwrap() + "\"goodput_bps\": ".len();
    let other = if &text[digit..=digit] == "1" { "2" } else { "1" };
    fs::write(again.join("metrics.json"), format!("{}{other}{}", &text[..digit], &text[digit + 1..])).unwrap();
    let result = verify(&again);
    assert_eq!((result.status, result.output.contains("metrics.json differs")), (Some(1), true), "{}", result.errors);
    assert!(result.output.contains("changed after it was written"), "{}", result.output);
    // Whoever changes the hash as well is found by repeating the run.
    quiclab_record::Contents::write(&again).unwrap();
    let result = verify(&again);
    assert_eq!(
        (result.status, result.output.contains("first difference at byte")),
        (Some(1), true),
        "{}",
        result.output
    );
    let result = output_of(quiclab().arg("diff").arg(&record).arg(&again));
    assert_eq!(result.status, Some(1), "{}", result.errors);
    for part in ["Models have no packets", "all series are the same", "1 metrics differ", "goodput_bps: A "] {
        assert!(result.output.contains(part), "{part}: {}", result.output);
    }
}

#[test]
fn diff_names_the_first_interval_in_which_two_runs_differ() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let out = files.out("out");
    let names = records(&out);
    let diff = |one: &str, other: &str, more: &[&str]| {
        output_of(quiclab().arg("diff").arg(out.join(one)).arg(out.join(other)).args(more))
    };
    let result = diff(&names[0], &names[0], &[]);
    assert_eq!((result.status, result.output.contains("all metrics and series are the same")), (Some(0), true));
    let result = diff(&names[0], &names[2], &["--json"]);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    let result: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(result["made_with"]["bottleneck.buffer_bdp"], serde_json::json!(["0.25", "1"]));
    let series = |name: &str| -> Value { serde_json::from_slice(&read(&out.join(name).join("metrics.json"))).unwrap() };
    let all = [series(&names[0]), series(&names[2])].map(|record| record["series"].as_object().unwrap().clone());
    let differs = |place: usize| all[0].iter().any(|(name, values)| values[place] != all[1][name][place]);
    let first = (0..100).find(|place| differs(*place)).unwrap();
    assert_eq!(result["first_difference"]["interval"], first + 1);
    let result = output_of(quiclab().arg("ab").arg(&out).arg(&out));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("quiclab ab works on transfers only"), "{}", result.errors);
}

#[test]
fn a_check_of_nothing_is_an_error() {
    let files = Bench::new(SMALL.split("[[expect]]").next().unwrap());
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    for form in [&[][..], &["--markdown"], &["--json"]] {
        let result = output_of(quiclab().arg("check").arg(files.out("out")).args(form));
        assert_eq!(result.status, Some(125), "{}", result.output);
        assert!(result.errors.contains("found no expectations about these runs"), "{}", result.errors);
        let result = output_of(quiclab().arg("check").arg(files.out("out")).args(form).arg("--allow-none"));
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
}

#[test]
fn check_and_report_know_simulated_results() {
    let failing = SMALL.replace("above = 0.3", "above = 1.5");
    let files = Bench::new(&failing);
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let result = output_of(quiclab().arg("check").arg(files.out("out")));
    assert_eq!(result.status, Some(2), "one for each buffer: {}", result.output);
    assert!(result.output.contains("0 of 2 expectations hold, 2 fail"), "{}", result.output);
    let result = output_of(quiclab().arg("check").arg(files.out("out")).arg("--markdown"));
    assert_eq!(result.status, Some(2), "{}", result.errors);
    assert!(
        result.output.starts_with("| experiment | claim | source | verdict | numbers |\n|---|"),
        "{}",
        result.output
    );
    assert_eq!(result.output.matches(" | **fails** | utilisation of the bottleneck: ").count(), 2, "{}", result.output);
    assert!(result.output.ends_with("\n\n0 of 2 expectations hold, 2 fail.\n"), "{}", result.output);
    let result = output_of(quiclab().arg("report").arg(files.out("out")).arg("--json"));
    let report: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(report["expectations"][0]["outcome"], "fails");
    if has_no_converter() {
        return;
    }
    // One record has a page of its own.
    let record = files.out("out").join(&records(&files.out("out"))[0]);
    let figures = files.out("figures");
    let result = output_of(quiclab().arg("report").arg(&record).arg("--figures").arg(&figures));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let page = files.out("out/runs").join(format!("{}.html", record.file_name().unwrap().to_string_lossy()));
    let page = String::from_utf8(read(&page)).unwrap();
    assert!(page.contains("congestion window, segments") && page.contains("queue, packets"));
    let drawn = fs::read_dir(&figures).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let drawn: Vec<_> = drawn.collect();
    let [svg, pdf, png] = [".svg", ".pdf", ".png"].map(|end| drawn.iter().filter(|name| name.ends_with(end)).count());
    assert!(svg >= 7 && svg == pdf && svg == png, "{drawn:?}");
    let result = output_of(quiclab().arg("report").arg(files.out("out")).arg("--markdown"));
    assert!(result.output.starts_with("| small | runs | utilisation of the bottleneck |"), "{}", result.output);
}

#[test]
fn runs_of_undecided_expectations_are_repeated_and_others_are_not() {
    // A number that no interval around three repetitions of the small buffer can exclude: their mean.
    let files = Bench::new(SMALL);
    let result = run(&files, "first", &["--reps", "3", "--json"]);
    let report: Value = serde_json::from_str(&result.output).unwrap();
    let small = &report["report"]["groups"][0];
    assert_eq!(small["settings"]["bottleneck.buffer_bdp"], "0.25");
    let mean = small["metrics"]["share.plain"]["mean"].as_f64().unwrap();
    let claim = format!(
        "[[expect]]\nclaim = \"plain flows have more than that\"\nmetric = \"share.plain\"\nabove = {mean}\n\
         runs = {{ \"bottleneck.buffer_bdp\" = 0.25 }}\n"
    );
    let files = Bench::new(&format!("{SMALL}{claim}"));
    let until = ["--until-decided", "--most-repetitions", "6"];
    let result = run(&files, "out", &until);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let line = "small: undecided after 3 repetitions: 1 of 3 expectations; repeating their runs up to 6 times";
    assert!(result.errors.contains(line), "{}", result.errors);
    let names = records(&files.out("out"));
    let count = |part: &str| names.iter().filter(|name| name.contains(part)).count();
    assert_eq!((count("buffer_bdp_0.25"), count("buffer_bdp_1")), (6, 3), "{names:?}");
    // Who checks later finds the same, with the same parts of the error.
    let result = output_of(quiclab().arg("check").arg(files.out("out")).arg("--json"));
    let checked: Value = serde_json::from_str(&result.output).unwrap();
    let findings = checked["results"][0]["expectations"].as_array().unwrap();
    let seen = |place: usize| {
        let finding = &findings[place];
        (finding["look"].as_u64(), finding["of"]["count"].as_u64(), finding["interval"]["level"].as_f64())
    };
    assert_eq!(findings.len(), 3);
    assert_eq!((seen(0), seen(1)), ((Some(1), Some(3), Some(0.975)), (Some(1), Some(3), Some(0.975))));
    assert_eq!((seen(2).0, seen(2).1), (Some(2), Some(6)));
    // The same command again runs nothing and comes to the same.
    let report = read(&files.out("out/report.json"));
    let again = run(&files, "out", &until);
    assert!(again.errors.contains("9 of 9 runs have a record already"), "{}", again.errors);
    assert!(!again.errors.contains("no longer covers"), "{}", again.errors);
    assert!(read(&files.out("out/report.json")) == report);
}

#[test]
fn figures_have_the_words_of_the_file_and_no_keys() {
    if has_no_converter() {
        return;
    }
    let figures = "[labels.\"bottleneck.buffer_bdp\"]\nname = \"room\"\n[labels.groups]\nplain = \"Plain Reno\"\n\
        [[figure]]\ntitle = \"Ratio of shares\"\nx = \"bottleneck.buffer_bdp\"\ny = \"share\"\n\
        compare = { setting = \"groups\", of = \"plain\", with = \"paced\", as = \"ratio\" }\n\
        [[figure]]\ntitle = \"Sum\"\ny = [\"goodput_bps.plain\", \"goodput_bps.paced\"]\ncumulative = true\n";
    let files = Bench::new(&SMALL.replace("[[expect]]", &format!("{figures}[[expect]]")));
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let into = files.out("figures");
    let result = output_of(quiclab().arg("report").arg(files.out("out")).arg("--figures").arg(&into));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let text = |name: &str| String::from_utf8(read(&into.join(name))).unwrap();
    let ratio = text("figure-2-ratio-of-shares.svg");
    for words in [">share of the goodput: Plain Reno / paced<", ">room<"] {
        assert!(ratio.contains(words), "no {words} in {ratio}");
    }
    let sum = text("figure-3-sum.svg");
    for words in
        [">cumulative goodput, Mbit/s<", ">room 0.25: Plain Reno<", ">room 1: paced<", " fill-opacity=\"0.2\"/>"]
    {
        assert!(sum.contains(words), "no {words} in {sum}");
    }
    assert!(read(&into.join("figure-3-sum.pdf")).starts_with(b"%PDF-"));
    // `quiclab run` writes the same files.
    let at_once = files.out("at-once");
    assert_eq!(run(&files, "out", &["--figures", &at_once.to_string_lossy()]).status, Some(0));
    assert_eq!(read(&at_once.join("figure-3-sum.svg")), sum.as_bytes());
    let wrong = SMALL.replace("[[expect]]", "[labels.groups]\nplane = \"x\"\n[[expect]]");
    let result = run(&Bench::new(&wrong), "wrong", &[]);
    let line = "labels.groups.plane: found no group of flows with this name, expected one of paced, plain";
    assert!(result.errors.contains(line), "{}", result.errors);
}

#[test]
fn a_run_says_when_it_had_too_many_events_or_took_too_long() {
    let files = Bench::new(&SMALL.replace("duration = \"3 s\"", "duration = \"3 s\"\nevents = 5000"));
    let result = run(&files, "out", &[]);
    assert_eq!(result.status, Some(0));
    assert!(result.output.contains("4 of 4 runs ended early"), "{}", result.output);
    let files = Bench::new(&SMALL.replace("duration = \"3 s\"", "duration = \"100000 s\"\ntime_limit = \"1 ms\""));
    let result = run(&files, "out", &["--reps", "1", "--filter", "bottleneck.buffer_bdp=1"]);
    assert_eq!(result.status, Some(1));
    assert!(result.errors.contains("stopped after 1 ms of real time"), "{}", result.errors);
    assert!(result.output.contains("hint: raise scenario.time_limit"), "{}", result.output);
    let failed: Vec<_> = fs::read_dir(files.out("out/failed")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(failed.len() == 1 && failed[0].join("run.toml").is_file() && records(&files.out("out")).is_empty());
    // The limit of the command line holds as well.
    let result = run(&files, "other", &["--reps", "1", "--set", "scenario.time_limit=60 min", "--wall-timeout", "1"]);
    assert_eq!(result.status, Some(2), "{}", result.errors);
    assert!(result.errors.contains("hint: raise --wall-timeout"), "{}", result.errors);
}

#[test]
fn too_many_flows_fail_and_do_not_fill_the_memory() {
    let result = run(&Bench::new(&SMALL.replace("count = 3", "count = 10000000")), "out", &["--reps", "1"]);
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("flows.count: found 20000000 flows, expected at most 1000000"), "{}", result.errors);
}

#[test]
fn models_run_in_the_simulator_only() {
    let result = run(&Bench::new(SMALL), "out", &["--testbed", "vm"]);
    assert_eq!(result.status, Some(125));
    assert!(
        result.errors.contains("found flows of models with --testbed vm, expected --testbed sim"),
        "{}",
        result.errors
    );
}

#[test]
fn names_of_metrics_and_series_are_checked_before_anything_is_run() {
    for (from, to, expected) in [
        ("metric = \"utilisation\"", "metric = \"utilization\"", "expect.metric: found \"utilization\" with the claim"),
        ("\"goodput_bps.plain\"", "\"goodput_bps.fast\"", "figure.y: found \"goodput_bps.fast\" in \"Goodput\""),
    ] {
        let files = Bench::new(&SMALL.replace(from, to));
        let result = run(&files, "out", &[]);
        assert_eq!(result.status, Some(125));
        assert!(result.errors.contains(expected), "{}", result.errors);
        assert!(!files.out("out").exists());
    }
}

#[test]
fn one_flow_does_what_other_simulators_and_linux_say() {
    let folder = tempfile::tempdir().unwrap();
    let oracles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/oracles");
    let result = output_of(quiclab().arg("run").arg(oracles).arg("--out").arg(folder.path()));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result = output_of(quiclab().arg("check").arg(folder.path()));
    assert_eq!(result.status, Some(0), "{}", result.output);
    assert!(result.output.contains("96 of 96 expectations hold"), "{}", result.output);
}

/// Long transfers are in the middle of one when the run ends: the record warns, and has no times. With a limit they all end.
#[test]
fn transfers_that_have_not_ended_are_reported() {
    let text = SMALL.replace("[flows]\n", "[flows]\nworkload = \"transfers\"\ntransfer_segments = 2000\n");
    let files = Bench::new(&text.replace("above = 0.3", "above = 0"));
    let metrics = |out: &str, more: &[&str]| -> Value {
        let result = run(&files, out, &[&["--reps", "1", "--set", "bottleneck.buffer_bdp=1"], more].concat());
        assert_eq!(result.status, Some(0), "{}", result.errors);
        let record = files.out(out).join(records(&files.out(out)).remove(0));
        serde_json::from_slice(&read(&record.join("metrics.json"))).unwrap()
    };
    let cut = metrics("cut", &[]);
    assert_eq!(cut["metrics"]["transfers_unfinished.plain"], 3.0);
    assert_eq!(cut["metrics"]["transfer_time_mean_s.plain"], Value::Null);
    let withheld = cut["withheld"].as_array().unwrap();
    let of_times = |one: &&Value| one["metrics"].as_array().unwrap().contains(&"transfer_time_mean_s.plain".into());
    let reason = withheld.iter().find(of_times).unwrap()["reason"].as_str().unwrap();
    assert!(reason.contains("more than 5 %"), "{reason}");
    let warning = &cut["warnings"][1];
    assert_eq!(warning["code"], "transfers_unfinished");
    let message = warning["message"].as_str().unwrap();
    assert!(message.starts_with("plain: 3 of 3 transfers had not ended") && message.contains("withheld"), "{message}");
    let whole = metrics("whole", &["--set", "scenario.duration=1000 s", "--set", "flows.transfers=2"]);
    assert_eq!(whole["metrics"]["transfers.plain"], 6.0);
    assert_eq!((&whole["end"], whole["warnings"].as_array().map_or(0, Vec::len)), (&"in_time".into(), 0));
    let last = whole["series"]["time"].as_array().unwrap().last().unwrap().as_f64().unwrap();
    assert!(last < 200.0, "it ended after {last} s");
}

#[test]
fn several_files_and_folders_are_run_with_one_command_each_into_a_folder_of_its_own() {
    let files = Bench::new(SMALL);
    let (file, more) = (files.file(), files.folder.path().join("more"));
    fs::create_dir(&more).unwrap();
    fs::write(more.join("another.toml"), SMALL.replace("name = \"small\"", "name = \"another\"")).unwrap();
    let all = |out: &str| {
        let mut command = quiclab();
        let paths = [file.as_path(), more.as_path(), file.as_path()];
        output_of(command.arg("run").args(paths).args(["--reps", "1", "--json", "--out"]).arg(files.out(out)))
    };
    let result = all("out");
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(result.as_array().unwrap().len(), 2, "a file that is named twice is run once");
    for name in ["small", "another"] {
        assert_eq!(records(&files.out("out").join(name)).len(), 2, "{name}");
    }
    // With one name for both, each report would take the place of the other's.
    fs::copy(&file, more.join("another.toml")).unwrap();
    let result = all("again");
    assert_eq!(result.status, Some(125), "{}", result.output);
    assert!(result.errors.contains("found the name \"small\" in both"), "{}", result.errors);
    assert!(!files.out("again").exists());
}
