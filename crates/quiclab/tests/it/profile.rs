//! CPU time of the endpoints by function: the samples are those of the CPU time that was used, and the same in each repetition.

use std::{fs, path::Path};

use serde_json::Value;

use crate::common::{Bench, REAL_STACKS, TEST_STACKS, output_of, quiclab, records};

const EXPERIMENT: &str = "name = \"tests/profile\"\ntitle = \"CPU time by function\"\n[stack]\nname = \"quinn\"\n\
                          [workload]\nsize = \"256 KiB\"\n[tap]\nprofile = true\n";

#[test]
fn samples_stand_for_the_cpu_time_of_each_endpoint_and_are_the_same_in_two_runs() {
    let bench = Bench::new(EXPERIMENT);
    for out in ["one", "two"] {
        let result = output_of(&mut bench.run(REAL_STACKS, out, &[]));
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let [name] = &records(&bench.out("one"))[..] else { panic!("one record") };
    let [one, two] = ["one", "two"].map(|out| bench.out(out).join(name));
    let path: serde_json::Value = serde_json::from_slice(&fs::read(one.join("path.json")).unwrap()).unwrap();
    for role in ["server", "client"] {
        let [text, other] = [&one, &two].map(|record| fs::read(record.join(role).join("profile.json")).unwrap());
        assert!(text == other, "{role}: two runs differ");
        let profile: quiclab_record::Profile = serde_json::from_slice(&text).unwrap();
        let number = |key: &str| path[role]["end"][key].as_u64().unwrap();
        let used = number("user_time_ns") + number("system_time_ns");
        let sampled = profile.samples * profile.period_ns;
        // The kernel counts from the exec on, and the process's own time from its fork: found 7.4 ms between them.
        assert!(
            profile.cpu_ns <= used && used - profile.cpu_ns < 12_000_000,
            "{role}: {} of {used} ns",
            profile.cpu_ns
        );
        let off = sampled.abs_diff(profile.cpu_ns);
        assert!(off * 20 < profile.cpu_ns, "{role}: {sampled} ns in samples of {} ns counted", profile.cpu_ns);
        let of_program = |one: &&quiclab_agent_protocol::profile::FunctionSamples| {
            one.program.starts_with("/stack/") && one.function.as_ref().is_some_and(|name| name.contains("quinn"))
        };
        assert!(profile.functions.iter().filter(of_program).count() > 3, "{role}: {:?}", profile.functions);
        assert_eq!(profile.functions.iter().map(|one| one.samples).sum::<u64>(), profile.samples);
    }
    let look = || {
        let mut command = quiclab();
        command.arg("look").arg(&one).arg("--html").arg(bench.out("look.html"));
        command
    };
    let words = output_of(&mut look());
    assert_eq!(words.status, Some(0), "{}", words.errors);
    assert!(words.output.contains("CPU time of the server by function"), "{}", words.output);
    let json: serde_json::Value = serde_json::from_str(&output_of(look().arg("--json")).output).unwrap();
    assert!(json["transfers"][0]["profiles"]["client"]["functions"].is_array());
}

#[test]
fn other_testbeds_refuse_to_sample() {
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--testbed", "sim"]));
    assert_ne!(result.status, Some(0));
    assert!(result.errors.contains("tap.profile"), "{}", result.errors);
}

/// A copy of the stack whose server counts nine million steps in one function, three million in another, and two instructions a step.
fn counting(folder: &Path, name: &str, file: &str, change: [&str; 2]) {
    let copy = folder.join(name);
    fs::create_dir(&copy).unwrap();
    for original in ["stack.toml", "endpoint.c"] {
        let text = fs::read_to_string(Path::new(TEST_STACKS).join("counting").join(original)).unwrap();
        assert!(original != file || text.contains(change[0]), "{original} is another now");
        let text = if original == file { text.replace(change[0], change[1]) } else { text };
        fs::write(copy.join(original), text).unwrap();
    }
}

#[test]
fn a_function_that_counts_twice_as_far_is_what_grew_and_a_stripped_program_has_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    counting(folder.path(), "main", "", ["", ""]);
    counting(folder.path(), "pr", "endpoint.c", ["#define LIGHT 3000000", "#define LIGHT 6000000"]);
    counting(folder.path(), "stripped", "stack.toml", ["-static", "-static -s"]);
    let ab = |sides: [&str; 2], more: &[&str]| {
        let mut command = quiclab();
        let set = ["--set", "tap.profile=true", "--set", "workload.size=64 KiB", "--reps", "2"];
        command.current_dir(folder.path()).arg("ab").args(sides).args(set).args(["--stacks", TEST_STACKS]).args(more);
        let result = output_of(&mut command);
        assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
        result.output
    };
    let files = ["--html", "page.html", "--markdown", "comment.md"];
    let all: Value =
        serde_json::from_str(&ab(["main", "pr"], &[&["--out", "grew", "--json"], &files[..]].concat())).unwrap();
    let server = all["cpu"].as_array().unwrap().iter().find(|one| one["role"] == "server").unwrap();
    assert_eq!((&server["is_paired"], &server["missing"]), (&true.into(), &Value::Null), "{server}");
    let functions = server["functions"].as_array().unwrap();
    let of = |name: &str| functions.iter().find(|one| one["function"] == name).unwrap();
    let near = |found: &Value, expected_ms: f64| {
        // An instruction takes a nanosecond. The kernel takes its samples in the time of the function.
        let found = found.as_f64().unwrap() / 1e6;
        assert!((found - expected_ms).abs() < 0.1 * expected_ms, "{found} ms, expected {expected_ms} ms");
    };
    for (name, expected) in [("count_heavy", [18.0, 18.0]), ("count_light", [6.0, 12.0])] {
        for side in [0, 1] {
            near(&of(name)["means_ns"][side], expected[side]);
        }
    }
    assert_eq!(functions[0]["function"], "count_light", "what grew most comes first");
    near(&functions[0]["difference_ns"], 6.0);
    near(&server["total"]["difference_ns"], 6.0);
    let words = ab(["main", "pr"], &["--out", "grew"]);
    assert!(words.contains("CPU time of the server in ms"), "{words}");
    let row = words.lines().find(|line| line.ends_with(" count_light")).unwrap_or_else(|| panic!("{words}"));
    assert!(row.contains("+6."), "{words}");

    let all: Value = serde_json::from_str(&ab(["main", "stripped"], &["--out", "stripped-out", "--json"])).unwrap();
    let server = all["cpu"].as_array().unwrap().iter().find(|one| one["role"] == "server").unwrap();
    let missing = server["missing"].as_str().unwrap();
    assert!(missing.starts_with("B: no function of the server's program has a name: [no symbols]"), "{missing}");
    assert!(missing.contains("was stripped"), "{missing}");
    assert!(server["functions"].is_null() && server["total"]["means_ns"][1].as_f64().unwrap() > 24e6, "{server}");
}
