//! CPU time of the endpoints by function: the samples are those of the CPU time that was used, and the same in each repetition.

use std::fs;

use crate::common::{Bench, REAL_STACKS, output_of, quiclab, records};

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
