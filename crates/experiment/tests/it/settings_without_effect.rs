//! Settings of scenarios that have no effect are refused, unless some other run of the file uses them.

use quiclab_experiment::{Overrides, scenario::Scenario};

const HEAD: &str = "name = \"x\"\ntitle = \"X\"\n";

fn plan_with(lines: &str, profile: Option<&str>, settings: &[(&str, &str)]) -> Result<(), String> {
    let scenario = Scenario::parse("x.toml", &format!("{HEAD}{lines}"), profile).unwrap();
    let settings = settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    let plan = scenario.plan(&Overrides { settings, ..Overrides::default() });
    plan.map(|_| ()).map_err(|error| error.to_string())
}

fn plan(lines: &str) -> Result<(), String> {
    plan_with(lines, None, &[])
}

#[test]
fn a_setting_without_effect_is_refused_with_its_place_and_what_it_needs() {
    for (lines, expected) in [
        (
            "[flows]\narrivals = [[\"1 s\", 1]]\n",
            "x.toml:4:12: flows.arrivals: found a value that has no effect in any run; it needs flows.workload = \"arrivals\"\n\
             hint: remove it, or set flows.workload = \"arrivals\"",
        ),
        ("[flows]\ntransfer_segments = 10\n", "x.toml:4:21: flows.transfer_segments: "),
        ("[flows]\nthink = \"1 s\"\nworkload = \"on_off\"\n", "x.toml:4:9: flows.think: "),
        ("[flows]\ntransfers = 3\n", "x.toml:4:13: flows.transfers: "),
        (
            "[scenario]\ntransfers_begin_by = \"9 s\"\n",
            "x.toml:4:22: scenario.transfers_begin_by: found a value that has no effect in any run; it needs \
             flows.workload = \"transfers\" or \"arrivals\"\n",
        ),
        ("[flows]\non = \"1 s\"\nworkload = \"transfers\"\n", "x.toml:4:6: flows.on: "),
        ("[flows]\noff = \"1 s\"\n", "x.toml:4:7: flows.off: "),
        ("[flows]\npacing_gain = 2\n", "x.toml:4:15: flows.pacing_gain: "),
        ("[flows]\npacing_burst = 2\n", "x.toml:4:16: flows.pacing_burst: "),
        ("[flows]\nhystart = true\ncongestion_control = \"bbr\"\n", "x.toml:4:11: flows.hystart: "),
        ("[flows]\necn = true\n", "x.toml:4:7: flows.ecn: "),
        (
            "[bottleneck]\nred_probability = 0.5\n",
            "x.toml:4:19: bottleneck.red_probability: found a value that has no effect in any run; it needs bottleneck.queue = \"red\"\n",
        ),
        ("[bottleneck]\nred_gentle = true\nqueue = \"pie\"\n", "x.toml:4:14: bottleneck.red_gentle: "),
        ("[bottleneck]\ntarget = \"1 ms\"\nqueue = \"red\"\n", "x.toml:4:10: bottleneck.target: "),
        (
            "[bottleneck]\ncodel_interval = \"1 ms\"\nqueue = \"pie\"\n",
            "x.toml:4:18: bottleneck.codel_interval: found a value that has no effect in any run; it needs \
             bottleneck.queue = \"codel\" or \"fq_codel\"\n",
        ),
        (
            "[flows]\ncongestion_control = \"bbr\"\npacing = \"rtt\"\npacing_gain = 2\n",
            "x.toml:6:15: flows.pacing_gain: found a value that has no effect in any run; it needs flows.congestion_control = \"reno\" or \"cubic\"\n",
        ),
        // Another group's setting does not help.
        (
            "[flows.a]\npacing_gain = 2\n[flows.b]\npacing = \"rtt\"\n",
            "x.toml:4:15: flows.a.pacing_gain: found a value that has no effect in any run; it needs flows.a.pacing = \"rtt\"\n",
        ),
        // One value of an axis.
        (
            "[flows]\n[matrix]\n\"flows.ecn\" = [false, true]\n",
            "x.toml:5:23: flows.ecn: found a value that has no effect in any run; ",
        ),
        (
            "[flows]\n[matrix]\n\"bottleneck.queue\" = [\"drop_tail\", \"codel\"]\n\"bottleneck.red_minimum\" = [0.1, 0.2]\n",
            "x.toml:6:29: bottleneck.red_minimum: found a value that has no effect in any run; ",
        ),
    ] {
        let found = plan(lines).unwrap_err();
        assert!(found.starts_with(expected), "{lines}\n{found}\n{expected}");
    }
}

#[test]
fn an_effect_in_one_run_is_enough() {
    for lines in [
        "[flows]\nworkload = \"arrivals\"\narrivals = [[\"1 s\", 1]]\n",
        "[flows]\nworkload = \"transfers\"\ntransfer_segments = 10\nthink = \"1 s\"\n",
        "[flows]\nworkload = \"on_off\"\non = \"1 s\"\noff = \"1 s\"\n",
        "[matrix]\n\"bottleneck.queue\" = [\"drop_tail\", \"red\"]\n\"bottleneck.red_minimum\" = [0.1, 0.2]\n[flows]\n",
        "[flows]\npacing_gain = 2\n[matrix]\n\"flows.pacing\" = [\"off\", \"rtt\"]\n",
        // For all flows, and one of the groups uses it.
        "[flows]\npacing_burst = 2\n[flows.a]\n[flows.b]\npacing = \"rtt\"\n",
        "[flows.a]\nworkload = \"transfers\"\nthink = \"2 s\"\n[flows.b]\n",
        // To switch off what is not there is no mistake.
        "[scenario]\ntransfers_begin_by = \"none\"\n[flows]\ntransfers = \"none\"\necn = false\nhystart = false\ncongestion_control = \"bbr\"\n",
    ] {
        assert_eq!(plan(lines), Ok(()), "{lines}");
    }
}

#[test]
fn a_command_line_is_refused_for_its_own_settings_only() {
    let red = "[bottleneck]\nqueue = \"red\"\nred_minimum = 0.1\n";
    assert_eq!(plan_with(red, None, &[("bottleneck.queue", "drop_tail")]), Ok(()));
    let drop_tail = "[bottleneck]\nqueue = \"drop_tail\"\n";
    let found = plan_with(drop_tail, None, &[("bottleneck.red_minimum", "0.1")]).unwrap_err();
    assert!(found.starts_with("x.toml: --set bottleneck.red_minimum: found a value that has no effect"), "{found}");
    let both = [("bottleneck.red_minimum", "0.1"), ("bottleneck.queue", "drop_tail,red")];
    assert_eq!(plan_with(drop_tail, None, &both), Ok(()));
    // What is a mistake in the file stays one.
    let mistake = plan_with("[bottleneck]\nred_minimum = 0.1\n", None, &[("bottleneck.rate", "1 Mbit/s")]);
    assert!(mistake.unwrap_err().starts_with("x.toml:4:15: bottleneck.red_minimum: "));
}

#[test]
fn a_profile_may_leave_a_line_of_the_file_without_effect_but_not_its_own() {
    let file = "[bottleneck]\nqueue = \"red\"\nred_minimum = 0.1\n[profile.tail.bottleneck]\nqueue = \"drop_tail\"\n";
    assert_eq!(plan_with(file, Some("tail"), &[]), Ok(()));
    let own = format!("{file}red_maximum = 0.9\n");
    let found = plan_with(&own, Some("tail"), &[]).unwrap_err();
    assert!(found.starts_with("x.toml:8:15: bottleneck.red_maximum: found a value that has no effect"), "{found}");
}
