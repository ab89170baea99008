//! Keys of earlier versions are understood everywhere a key can stand, and mean the setting of today.

use crate::common::{plan, stacks, with};
use quiclab_experiment::{
    Experiment, Overrides,
    TestbedName::{Hosts, Netns, Sim, Uml, Vm},
    run::{Run, Versions},
    setting_text, testbed_only,
};

/// Key of today, former key, a value that is not the default.
const MOVED: &[(&str, &str, &str)] = &[
    ("vm.kernel", "kernel", "\"6.12\""),
    ("vm.nanoseconds_per_instruction", "hosts.nanoseconds_per_instruction", "2"),
    ("vm.timer_slack", "hosts.timer_slack", "\"1 ms\""),
    ("vm.theft_length", "hosts.theft_length", "\"10 us\""),
    ("sim.timer_step", "hosts.timer_step", "\"1 ms\""),
    ("sim.timer_lateness", "hosts.timer_lateness", "\"1 us\""),
    ("sim.call_cost", "hosts.call_cost", "\"1 us\""),
    ("sim.packet_cost", "hosts.packet_cost", "\"1 us\""),
    ("sim.card_rate", "hosts.card_rate", "\"1 Gbit/s\""),
];

fn run(lines: &str) -> Run {
    plan(&with(&format!("{lines}\nstack.name = \"quiche-0.24\"\n"))).unwrap().runs.remove(0)
}

fn with_overrides(lines: &str, overrides: &Overrides) -> Result<Vec<Run>, String> {
    let experiment = Experiment::parse("x.toml", &with(lines), None).map_err(|error| error.to_string())?;
    Ok(experiment.plan(&stacks(), overrides).map_err(|error| error.to_string())?.runs)
}

#[test]
fn a_file_may_have_a_former_key_and_means_the_same_run() {
    for (key, former, value) in MOVED {
        let [today, before] = [key, former].map(|key| run(&format!("{key} = {value}")));
        assert_eq!(today, before, "{former}");
        assert_ne!(today.id(&Versions::new()), run("").id(&Versions::new()), "{key}");
        let text = value.trim_matches('"');
        assert_eq!(setting_text(&today.settings, key).as_deref(), Some(text));
        assert_eq!(setting_text(&today.settings, former).as_deref(), Some(text));
    }
}

#[test]
fn the_matrix_and_the_command_line_may_have_one_as_well() {
    let stack = "stack.name = \"quiche-0.24\"\n";
    for (key, former, value) in MOVED {
        let default = setting_text(&run("").settings, key).unwrap();
        let default = if value.starts_with('"') { format!("{default:?}") } else { default };
        let axis = |key: &str| format!("{stack}[matrix]\n{key:?} = [{default}, {value}]\n");
        let all = with_overrides(&axis(former), &Overrides::default()).unwrap();
        assert_eq!(all, with_overrides(&axis(key), &Overrides::default()).unwrap());
        assert_eq!(all.len(), 2);
        let text = value.trim_matches('"').to_owned();
        for one in [key, former] {
            let filters = vec![((*one).to_owned(), text.clone())];
            let found = with_overrides(&axis(key), &Overrides { filters, ..Overrides::default() }).unwrap();
            assert_eq!(found, all[1..], "--filter {one}");
            let settings = vec![((*one).to_owned(), text.clone())];
            let found = with_overrides(&axis(former), &Overrides { settings, ..Overrides::default() }).unwrap();
            assert_eq!(found[0].settings, all[1].settings, "--set {one}");
        }
    }
}

#[test]
fn one_setting_under_both_keys_is_refused() {
    let error = |lines: &str| plan(&with(lines)).unwrap_err().to_string();
    assert_eq!(
        error("[hosts]\ntimer_slack = \"1 ms\"\n[vm]\ntimer_slack = \"2 ms\"\n"),
        "x.toml:6:15: vm.timer_slack: found a second value under another key of the same setting, expected one\nhint: write vm.timer_slack only"
    );
    assert!(
        error("[matrix]\nkernel = [\"6.1\"]\n\"vm.kernel\" = [\"6.12\"]\n").contains("vm.kernel: found a second value")
    );
    assert!(
        error("[matrix]\nkernel = [\"6.1\"]\n[vm]\nkernel = \"6.12\"\n")
            .contains("because it is an axis of the matrix")
    );
    // A profile wins over either.
    let text = with("stack.name = \"quiche\"\nkernel = \"6.12\"\n[profile.p.vm]\nkernel = \"6.1-rt\"\n");
    let experiment = Experiment::parse("x.toml", &text, Some("p")).unwrap();
    let run = experiment.plan(&stacks(), &Overrides::default()).unwrap().runs.remove(0);
    assert_eq!(run.settings.vm.kernel, "6.1-rt");
}

#[test]
fn a_misspelled_former_key_finds_the_key_of_today() {
    let error = plan(&with("[hosts]\ntimer_slak = \"1 ms\"\n")).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.toml:4:1: hosts.timer_slak: found a key that does not exist\nhint: did you mean vm.timer_slack?"
    );
}

#[test]
fn a_setting_of_one_testbed_is_named_with_that_testbed_unless_it_is_at_its_default() {
    for (key, _, value) in MOVED {
        let testbed = if key.starts_with("vm.") { Vm } else { Sim };
        let run = run(&format!("{key} = {value}"));
        assert_eq!(testbed_only(&run.settings).collect::<Vec<_>>(), [(*key, &[testbed][..])]);
    }
    assert_eq!(testbed_only(&run("").settings).next(), None);
    let of = |lines: &str| testbed_only(&run(lines).settings).collect::<Vec<_>>();
    assert_eq!(of("hosts.server_qdisc = \"fq_codel\""), [("hosts.server_qdisc", &[Vm, Uml, Netns, Hosts][..])]);
    assert_eq!(of("hosts.server_qdisc = \"fq\"\nhosts.fq_horizon = \"1 s\""), []);
    assert_eq!(
        of("hosts.server_qdisc = \"fq\"\nhosts.fq_quantum = \"1 kB\""),
        [("hosts.fq_quantum", &[Vm, Uml, Netns, Hosts][..])]
    );
    assert_eq!(of("stack.gso = \"paced\""), [("stack.gso", &[Vm][..])]);
}

#[test]
fn a_misspelled_value_finds_the_word() {
    let error = |lines: &str| plan(&with(lines)).unwrap_err().to_string();
    for (lines, hint) in [
        ("stack.name = \"quiche\"\nstack.congestion_control = \"cubci\"\n", "hint: did you mean \"cubic\"?"),
        ("stack.pacing = \"txtme\"\n", "hint: did you mean \"txtime\"?"),
        ("hosts.server_qdisc = \"fq-codel\"\n", "hint: did you mean \"fq_codel\"?"),
        ("vm.theft_distribution = \"Pareto\"\n", "hint: did you mean \"pareto\"?"),
        ("tap.snaplen = \"ful\"\n", "hint: did you mean \"full\"?"),
    ] {
        assert!(error(lines).ends_with(hint), "{}", error(lines));
    }
    // An algorithm that other stacks have is no misspelling.
    let unclaimed = error("stack.name = \"quic-go\"\nstack.congestion_control = \"bbr\"\n");
    assert!(!unclaimed.contains("hint"), "{unclaimed}");
}
