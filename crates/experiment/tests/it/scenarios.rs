//! Files about flows of models: what they expand to, and what is wrong with them.

use quiclab_experiment::Overrides;
use quiclab_experiment::scenario::{Scenario, ScenarioPlan, ScenarioSettings, is_scenario, scenario_labels};
use quiclab_units::Duration;

const HEAD: &str = "name = \"x\"\ntitle = \"X\"\n";

fn parse(lines: &str) -> Result<Scenario, String> {
    Scenario::parse("x.toml", &format!("{HEAD}{lines}"), None).map_err(|error| error.to_string())
}

fn plan(lines: &str) -> Result<ScenarioPlan, String> {
    parse(lines)?.plan(&Overrides::default()).map_err(|error| error.to_string())
}

fn only(lines: &str) -> ScenarioSettings {
    let plan = plan(lines).unwrap();
    let [settings] = &plan.settings[..] else { panic!("{} settings", plan.settings.len()) };
    settings.clone()
}

#[test]
fn what_a_file_is_about_is_told_by_its_sections() {
    assert!(is_scenario("[flows]\ncount = 3\n") && is_scenario("[bottleneck]\n"));
    assert!(!is_scenario("[stack]\nname = \"quiche\"\n") && !is_scenario("no TOML"));
}

#[test]
fn a_group_wins_over_what_all_flows_have() {
    let settings =
        only("[flows]\nrtt = \"100 ms\"\ncount = 5\n[flows.near]\ncount = 2\n[flows.far]\nrtt = \"280 ms\"\n");
    let of = |name: &str| &settings.flows[name];
    assert_eq!((of("near").count, of("near").rtt), (2, Duration::from_millis(100)));
    assert_eq!((of("far").count, of("far").rtt), (5, Duration::from_millis(280)));
    let texts = settings.texts();
    assert_eq!(texts.get("flows.far.rtt").map(String::as_str), Some("280 ms"));
    assert!(!texts.contains_key("flows.rtt"), "the groups differ in it");
    assert_eq!(texts.get("flows.packet").map(String::as_str), Some("1500 B"));
}

#[test]
fn a_group_that_sets_nothing_is_one() {
    let settings = only("[flows]\ncount = 5\n[flows.near]\n[flows.far]\nrtt = \"280 ms\"\n");
    assert_eq!(settings.flows.keys().collect::<Vec<_>>(), ["far", "near"]);
    assert_eq!(settings.flows["near"].count, 5);
}

#[test]
fn the_buffer_follows_from_rate_and_mean_round_trip_time() {
    // 57 Mbit/s x (25 x 100 ms + 25 x 280 ms) / 50 are 1 353 750 bytes.
    let settings = only(
        "[bottleneck]\nbuffer_bdp = 0.5\n[flows]\ncount = 25\npacket = \"576 B\"\n[flows.near]\nrtt = \"100 ms\"\n[flows.far]\nrtt = \"280 ms\"\n",
    );
    assert_eq!(settings.bottleneck.buffer_packets, 1175);
    assert_eq!(only("[bottleneck]\nbuffer_packets = 7\n").bottleneck.buffer_packets, 7);
}

/// A flow sends at most the transfers' length, or the receiver's window, at once.
#[test]
fn a_large_initial_window_of_short_transfers_is_accepted() {
    only("[flows]\ninitial_window = 1e8\nworkload = \"transfers\"\ntransfer_segments = 1000\n");
    only("[flows]\ninitial_window = 1e8\nlargest_window = 1e6\n");
    only("[flows]\ninitial_window = 1e7\n");
}

#[test]
fn a_run_may_last_for_saw_teeth_of_a_single_flow() {
    // RTT² x rate / packet is (0.1 s)² x 10 Mbit/s / (8 x 576 bit) = 21.701389 s.
    let lines = "[scenario]\nduration_sawtooths = 1\n[bottleneck]\nrate = \"10 Mbit/s\"\n[flows]\npacket = \"576 B\"\n";
    let settings = only(lines);
    assert_eq!(settings.scenario.duration, Duration::from_micros(21_701_389));
    assert_eq!(settings.scenario.interval, Duration::from_nanos(217_013_890));
    let texts = settings.texts();
    assert_eq!(texts.get("scenario.duration_sawtooths").map(String::as_str), Some("1"));
    // Twice as many of four times the round-trip time: 32 times as long.
    let longer = only(&lines.replace("= 1\n", "= 2\n").replace("packet", "rtt = \"400 ms\"\npacket"));
    assert_eq!(longer.scenario.duration, Duration::from_micros(694_444_444));
    // The round-trip time is the mean over all flows: 200 ms.
    let mean = format!("{lines}[flows.near]\nrtt = \"100 ms\"\n[flows.far]\nrtt = \"300 ms\"\n");
    assert_eq!(only(&mean).scenario.duration, Duration::from_micros(86_805_556));
}

#[test]
fn a_duration_in_saw_teeth_replaces_one_in_seconds_and_the_other_way_round() {
    let scenario = parse("[scenario]\nduration = \"9 s\"\n[profile.p.scenario]\nduration_sawtooths = 1\n").unwrap();
    let with = |key: &str, text: &str| {
        let settings = vec![(key.to_owned(), text.to_owned())];
        let plan = scenario.plan(&Overrides { settings, ..Overrides::default() }).unwrap();
        plan.settings[0].scenario.clone()
    };
    let course = with("scenario.duration_sawtooths", "2");
    assert_eq!((course.duration, course.duration_sawtooths), (Duration::from_millis(95_000), Some(2.0)));
    let text = format!("{HEAD}[scenario]\nduration = \"9 s\"\n[profile.p.scenario]\nduration_sawtooths = 1\n");
    let profile = Scenario::parse("x.toml", &text, Some("p")).unwrap().plan(&Overrides::default()).unwrap();
    assert_eq!(profile.settings[0].scenario.duration, Duration::from_millis(47_500));
}

#[test]
fn labels_name_what_a_duration_follows_from_and_not_the_duration() {
    let labels = |lines: &str| {
        let texts: Vec<_> = plan(lines).unwrap().settings.iter().map(ScenarioSettings::texts).collect();
        scenario_labels(&texts)
    };
    let rates = "[matrix]\n\"bottleneck.rate\" = [\"5 Mbit/s\", \"10 Mbit/s\"]\n";
    assert_eq!(labels(&format!("[scenario]\nduration_sawtooths = 1\n{rates}")), ["rate=5 Mbit/s", "rate=10 Mbit/s"]);
    assert_eq!(
        labels("[flows]\n[matrix]\n\"scenario.duration\" = [\"5 s\", \"10 s\"]\n"),
        ["duration=5 s", "duration=10 s"]
    );
    // One that only some runs have, and there all groups, is named once.
    let some =
        "[flows]\nworkload = \"transfers\"\n[flows.a]\n[flows.b]\n[matrix]\n\"flows.transfers\" = [\"none\", 3]\n";
    assert_eq!(labels(some), ["", "transfers=3"]);
    // An interval that is given is named.
    let intervals = "\"scenario.interval\" = [\"1 s\", \"2 s\"]\n";
    assert_eq!(
        labels(&format!("[scenario]\nduration_sawtooths = 1\n[matrix]\n{intervals}")),
        ["interval=1 s", "interval=2 s"]
    );
}

#[test]
fn a_claim_may_compare_durations_that_follow_from_what_it_names() {
    let text = "[scenario]\nduration_sawtooths = 1\n[matrix]\n\"bottleneck.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n\
                [[expect]]\nclaim = \"c\"\nmetric = \"m\"\nabove = 1.0\n\
                runs = { \"bottleneck.rate\" = \"2 Mbit/s\" }\ncompared_with = { \"bottleneck.rate\" = \"1 Mbit/s\" }\n";
    let scenario = parse(text).unwrap();
    let plan = scenario.plan(&Overrides::default()).unwrap();
    let texts: Vec<_> = plan.settings.iter().map(ScenarioSettings::texts).collect();
    assert_ne!(texts[0]["scenario.duration"], texts[1]["scenario.duration"]);
    let subjects = scenario.common.expectations[0].subjects(&texts.iter().collect::<Vec<_>>());
    assert_eq!((subjects[0].of, subjects[0].with.as_deref()), (1, Some(&[0][..])));
}

#[test]
fn a_matrix_has_every_combination_and_labels_say_what_differs() {
    let plan = plan(
        "[scenario]\nrepetitions = 2\n[flows.a]\ncount = 1\n[matrix]\n\"flows.pacing\" = [\"off\", \"rtt\"]\n\"bottleneck.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n",
    )
    .unwrap();
    assert_eq!((plan.settings.len(), plan.runs.len()), (4, 8));
    assert_eq!((plan.runs[4].repetition, plan.runs[4].seed), (2, 2));
    let texts: Vec<_> = plan.settings.iter().map(ScenarioSettings::texts).collect();
    assert_eq!(scenario_labels(&texts)[1], "rate=1 Mbit/s, pacing=rtt");
}

#[test]
fn a_claim_compares_runs_that_differ_in_what_it_names_alone() {
    let text = "[matrix]\n\"flows.pacing\" = [\"off\", \"rtt\"]\n\"bottleneck.buffer_bdp\" = [0.25, 1]\n\
                [[expect]]\nclaim = \"c\"\nmetric = \"m\"\nabove = 1.0\n\
                runs = { \"flows.pacing\" = \"rtt\", \"bottleneck.buffer_bdp\" = 1.0 }\ncompared_with = { \"flows.pacing\" = \"off\" }\n";
    let scenario = parse(text).unwrap();
    let plan = scenario.plan(&Overrides::default()).unwrap();
    let texts: Vec<_> = plan.settings.iter().map(ScenarioSettings::texts).collect();
    let subjects = scenario.common.expectations[0].subjects(&texts.iter().collect::<Vec<_>>());
    // 0.25 and off, 0.25 and rtt, 1 and off, 1 and rtt; the room is named, so it may be any on the other side.
    assert_eq!(subjects.len(), 1);
    assert_eq!((subjects[0].of, subjects[0].with.as_deref()), (3, Some(&[0, 2][..])));
}

#[test]
fn what_follows_from_a_named_setting_may_differ() {
    let text = "[flows]\n[matrix]\n\"bottleneck.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n\
                [[expect]]\nclaim = \"c\"\nmetric = \"m\"\nabove = 1.0\n\
                runs = { \"bottleneck.rate\" = \"2 Mbit/s\" }\ncompared_with = { \"bottleneck.rate\" = \"1000 kbit/s\" }\n";
    let scenario = parse(text).unwrap();
    let plan = scenario.plan(&Overrides::default()).unwrap();
    let texts: Vec<_> = plan.settings.iter().map(ScenarioSettings::texts).collect();
    // The room in packets and the rate back are others too.
    assert_ne!(texts[0]["bottleneck.buffer_packets"], texts[1]["bottleneck.buffer_packets"]);
    let subjects = scenario.common.expectations[0].subjects(&texts.iter().collect::<Vec<_>>());
    assert_eq!((subjects[0].of, subjects[0].with.as_deref()), (1, Some(&[0][..])));
}

#[test]
fn mistakes_are_told_with_place_found_and_expected() {
    for (lines, expected) in [
        (
            "[flows]\ncont = 3\n",
            "x.toml:4:1: flows.cont: found a key that does not exist\nhint: did you mean flows.count?",
        ),
        ("[flows]\ncount = 0\n", "x.toml:4:9: flows.count: found 0, expected a whole number from 1 to 4294967295"),
        (
            "[flows.a]\nrtt = \"fast\"\n",
            "x.toml:4:7: flows.a.rtt: found \"fast\", expected a duration such as \"20 ms\"",
        ),
        (
            "[bottleneck]\nrate = \"0 bit/s\"\n",
            "x.toml:4:8: bottleneck.rate: found \"0 bit/s\", expected more than zero",
        ),
        (
            "[bottleneck]\ndelay = \"40 ms\"\n[flows]\nrtt = \"0 s\"\n",
            "x.toml:6:7: flows.rtt: found 0 ns in flows.all, expected an even number of nanoseconds, at least 80 ms, which the bottlenecks take",
        ),
        (
            "[flows]\nlast_hop = 2\n",
            "x.toml:4:12: flows.last_hop: found bottlenecks 1 to 2 in flows.all, expected some of 1",
        ),
        (
            "[bottleneck]\nrate = \"1 bit/s\"\n",
            "x.toml: bottleneck.buffer_bdp: found 1, which are 0 packets; expected 1 to 1000000000 packets",
        ),
        (
            "[bottleneck]\nbuffer_bdp = 1\nbuffer_packets = 3\n",
            "x.toml:5:18: bottleneck.buffer_packets: found a value in addition to bottleneck.buffer_bdp; expected one \
             of the two",
        ),
        (
            "[scenario]\nduration = \"9 s\"\nduration_sawtooths = 1\n",
            "x.toml:5:22: scenario.duration_sawtooths: found a value in addition to scenario.duration; expected one \
             of the two",
        ),
        (
            "[scenario]\nduration_sawtooths = 1e-9\n",
            "x.toml:4:22: scenario.duration_sawtooths: found 0.000000001, which takes ",
        ),
        (
            "[scenario]\nwarm_up = \"60 s\"\n",
            "x.toml:4:11: scenario.warm_up: found 60 s, expected less than scenario.duration, which is 60 s",
        ),
        (
            "[scenario]\nwarm_up = \"20 s\"\ntransfers_begin_by = \"20 s\"\n",
            "x.toml:5:22: scenario.transfers_begin_by: found 20 s, expected more than scenario.warm_up, which is 20 s, and \
             at most scenario.duration, which is 60 s",
        ),
        (
            "[scenario]\ntransfers_begin_by = \"61 s\"\n",
            "x.toml:4:22: scenario.transfers_begin_by: found 61 s, expected more than scenario.warm_up, which is 0 ns, and \
             at most scenario.duration, which is 60 s",
        ),
        (
            "[bottleneck]\nside_factor = 1e-12\n",
            "x.toml:4:15: bottleneck.side_factor: found 0.000000000001 with a bottleneck.rate of 57 Mbit/s; \
             expected a number that gives the hosts' links 1 to 1e18 bit/s",
        ),
        (
            "[bottleneck]\nloss = 1\n",
            "x.toml:4:8: bottleneck.loss: found 1, expected a number from 0, less than 1, such as 0.01 for 1 %",
        ),
        (
            "[flows]\ninitial_window = 1e8\n",
            "x.toml:4:18: flows.initial_window: found windows with which the flows send 100000000 segments at once, \
             expected at most 10000000 in total",
        ),
        (
            "[flows]\ncount = 1000\ninitial_window = 20000\n[flows.a]\n",
            "x.toml:5:18: flows.initial_window: found windows with which the flows send 20000000 segments at once",
        ),
        (
            "[flows]\npacing_gain = 1e-6\n",
            "x.toml:4:15: flows.pacing_gain: found 0.000001, expected a number from 0.001 to 1000",
        ),
        (
            "[flows]\ntransfers = 0\n",
            "x.toml:4:13: flows.transfers: found 0, expected a whole number from 1 to 4294967295, or \"none\"",
        ),
        (
            "[flows]\ntimestamps = \"yes\"\n",
            "x.toml:4:14: flows.timestamps: found \"yes\", expected true or false, or \"default\"",
        ),
        (
            "[scenario]\ninterval = \"1 ns\"\n",
            "x.toml:4:12: scenario.interval: found 1 ns in 60 s, expected at most 1000000 intervals",
        ),
        (
            "[bottleneck]\nred_minimum = 0.8\n",
            "x.toml:4:15: bottleneck.red_minimum: found 0.8, expected less than bottleneck.red_maximum, which is 0.75",
        ),
        (
            "[flows]\narrivals = [[\"2 s\", 1], [\"1 s\", 1]]\n",
            "x.toml:4:12: flows.arrivals: found [\"1 s\", 1], expected a list such as [[\"1 s\", 10], [\"2.5 s\", 300]], with times that do not decrease and numbers of segments from 1",
        ),
        (
            "[flows]\n[matrix]\n\"flows.pacing\" = [\"off\", \"off\"]\n",
            "x.toml:5:26: matrix: found flows.pacing = \"off\" and flows.pacing = \"off\", which describe the same run; expected different settings",
        ),
        (
            "[flows]\n[matrix]\n\"scenario.repetitions\" = [1]\n",
            "x.toml:5:26: matrix.scenario.repetitions: repetitions cannot be an axis of the matrix\nhint: set it in [scenario]",
        ),
        (
            "[flows]\n[[figure]]\ntitle = \"T\"\nx = \"rate\"\ny = \"goodput_bps\"\n",
            "x.toml:6:5: figure.x: found \"rate\", expected \"time\" or the key of a setting",
        ),
        (
            "[flows]\n[[figure]]\ntitle = \"T\"\n",
            "x.toml:4:1: figure.y: missing; expected the name of a metric, or a list of them",
        ),
        ("[flows]\n[stack]\nname = \"quiche\"\n", "x.toml:4:2: stack: found a key that does not exist"),
        (
            "[flows]\ncongestion_control = \"bbr\"\nrecovery = \"reno\"\n",
            "x.toml:5:12: flows.recovery: found another value than \"sack\" with congestion_control = \"bbr\" in flows.all; expected \"sack\", which BBR needs to measure rates",
        ),
        (
            "[flows]\ncongestion_control = \"bbr3\"\nrecovery = \"newreno\"\n",
            "x.toml:5:12: flows.recovery: found another value than \"sack\" with congestion_control = \"bbr3\" in flows.all; expected \"sack\", which BBR needs to measure rates",
        ),
        (
            "[flows]\ncongestion_control = \"bbr\"\necn = true\n",
            "x.toml:5:7: flows.ecn: found true with congestion_control = \"bbr\" in flows.all; expected false, \
             because BBR does not react to marks",
        ),
    ] {
        let told = plan(lines).unwrap_err();
        assert!(told.starts_with(expected), "{lines}\n{told}\n{expected}");
    }
}

#[test]
fn filters_leave_what_they_name() {
    let scenario = parse("[flows]\n[matrix]\n\"flows.pacing\" = [\"off\", \"rtt\"]\n").unwrap();
    let filter = |key: &str, value: &str| {
        scenario.plan(&Overrides { filters: vec![(key.to_owned(), value.to_owned())], ..Overrides::default() })
    };
    assert_eq!(filter("flows.pacing", "rtt").unwrap().settings.len(), 1);
    let wrong = filter("flows.pacing", "half").unwrap_err().to_string();
    assert_eq!(wrong, "x.toml: --filter flows.pacing=half: no run has it; expected one of off, rtt");
    let unknown = filter("flows.pace", "rtt").unwrap_err().to_string();
    assert!(unknown.contains("found a key that no run has"), "{unknown}");
}
