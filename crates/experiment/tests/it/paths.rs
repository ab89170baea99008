//! Paths as lists of stages.

use crate::common::{plan, stacks, with};
use quiclab_experiment::{
    Experiment, NamedFile, Overrides, Plan,
    run::{CrossTraffic, Path, Run, Sender, Versions},
    setting_text,
};

const LOSSY: &str = r#"
[stack]
name = "quiche"
[[path.to_client]]
stage = "loss"
model = "independent"
probability = 0.01
[[path.to_client]]
stage = "queue"
discipline = "netem"
delay = "20 ms"
limit_packets = 143
[[path.to_client]]
stage = "rate"
rate = "40 Mbit/s"
burst = "1535 B"
"#;

fn only(plan: Plan) -> Run {
    let [run] = &plan.runs[..] else { panic!("{} runs", plan.runs.len()) };
    run.clone()
}

fn error(lines: &str) -> String {
    plan(&with(lines)).unwrap_err().to_string()
}

/// A file beside the experiment.
fn read(file: &NamedFile<'_>) -> Result<String, String> {
    match file.name {
        "paths/slow.toml" => Ok(r#"
            title = "Slow"
            source = "nowhere"
            to_client = [
                { stage = "queue", discipline = "drop_tail", limit = "10 packets" },
                { stage = "rate_trace", file = "slow.trace" },
            ]
            to_server = [{ stage = "delay", delay = "5 ms" }]
        "#
        .to_owned()),
        "paths/slow.trace" => Ok("# a comment\n0\n4\n\n8\n".to_owned()),
        "delays" => Ok("0 20\n500 40\n".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

fn plan_beside(lines: &str, set: &[(&str, &str)]) -> Result<Plan, String> {
    let settings = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let overrides = Overrides { settings, ..Overrides::default() };
    let experiment =
        Experiment::parse_with_includes("x.toml", &with(lines), None, read).map_err(|error| error.to_string())?;
    experiment.plan(&stacks(), &overrides).map_err(|error| error.to_string())
}

#[test]
fn the_short_form_of_the_bottleneck_and_its_lists_are_the_same_stages() {
    let short = only(plan(&with("[stack]\nname = \"quiche\"\n[path]\ndrops_to_server = [3, 5]")).unwrap());
    let long = r#"
        [stack]
        name = "quiche"
        [path]
        to_client = [
            { stage = "queue", name = "delay", discipline = "netem", delay = "20 ms", limit_packets = 143 },
            { stage = "rate", rate = "40 Mbit/s", burst = "1535 B" },
        ]
        to_server = [
            { stage = "loss", name = "drops", model = "list", packets = [3, 5] },
            { stage = "queue", name = "delay", discipline = "netem", delay = "20 ms", limit_packets = 1000 },
        ]
    "#;
    let long = only(plan(&with(long)).unwrap());
    let stages = |run: &Run| (run.settings.stages_to_client(), run.settings.stages_to_server());
    assert_eq!(stages(&short), stages(&long));
    assert_eq!(short.settings.path.round_trip(), long.settings.path.round_trip());
}

#[test]
fn the_default_path_is_the_published_bottleneck() {
    let tables: Vec<_> =
        Path::default().stages_to_client(Sender::Server).iter().map(|stage| stage.write().to_string()).collect();
    assert_eq!(
        tables,
        [
            "delay = \"20 ms\"\ndiscipline = \"netem\"\nlimit_packets = 143\nname = \"delay\"\nstage = \"queue\"\n",
            "burst = \"1535 B\"\nname = \"rate\"\nrate = \"40 Mbit/s\"\nstage = \"rate\"\n",
        ]
    );
}

#[test]
fn a_run_with_stages_reads_back_as_it_was_written() {
    let run = only(plan(&with(LOSSY)).unwrap());
    let text = run.to_toml();
    let back = Run::from_toml(&text).unwrap();
    assert_eq!((&back.settings, back.id(&Versions::new())), (&run.settings, run.id(&Versions::new())), "{text}");
    let json = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<Run>(&json).unwrap().settings, run.settings);
}

#[test]
fn a_setting_of_a_stage_can_be_an_axis_and_names_the_runs() {
    let lines = format!("[matrix]\n\"path.to_client.loss.probability\" = [0.01, 0.05]\n{LOSSY}");
    let planned = plan(&with(&lines)).unwrap();
    let labels: Vec<_> = planned.runs.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["to_client_loss.probability_0.01", "to_client_loss.probability_0.05"]);
    let text = |run: &Run| setting_text(&run.settings, "path.to_client.loss.probability").unwrap();
    assert_eq!(planned.runs.iter().map(text).collect::<Vec<_>>(), ["0.01", "0.05"]);
    assert_ne!(planned.runs[0].id(&Versions::new()), planned.runs[1].id(&Versions::new()));
}

#[test]
fn the_short_form_beside_a_list_is_an_error_that_says_so() {
    let message = error(
        &format!("{LOSSY}\n[path]\nrate = \"10 Mbit/s\"")
            .replace("[path]\nrate", "[matrix]\n\"path.rate\"")
            .replace("= \"10 Mbit/s\"", "= [\"10 Mbit/s\"]"),
    );
    assert!(
        message.contains("path.rate: found a value in addition to path.to_client; expected one of the two"),
        "{message}"
    );
    // The other direction may keep its short form.
    let lines = LOSSY.replace("[stack]", "[matrix]\n\"path.delay_to_server\" = [\"1 ms\"]\n[stack]");
    assert_eq!(only(plan(&with(&lines)).unwrap()).settings.path.delay_to_server.to_string(), "1 ms");
}

#[test]
fn what_is_wrong_with_a_stage_is_said_with_its_place() {
    for (from, to, expected) in [
        ("0.01", "5", "path.to_client: stage 1 (loss): probability: found 5, expected a probability from 0 to 1"),
        (
            "\"independent\"",
            "\"random\"",
            "model: found \"random\", expected one of \"independent\", \"limited\", \"burst\", \"list\", \"rule\"",
        ),
        ("probability =", "chance =", "stage 1 (loss): probability: missing, expected number from 0 to 1"),
        (
            "delay = \"20 ms\"",
            "delay = \"20 ms\"\nwait = 1",
            "wait: unknown key; stage = \"queue\" with discipline = \"netem\" takes delay, limit_packets",
        ),
        (
            "stage = \"rate\"\nrate",
            "stage = \"speed\"\nrate",
            "stage: found \"speed\", expected one of \"rate\", \"rate_trace\", \"delay\"",
        ),
        ("1535 B", "100 B", "burst: found 100 B, expected at least 1514 B, a whole frame"),
        ("stage = \"rate\"", "stage = \"rate\"\nname = \"loss\"", "stage 3 (loss): name: found \"loss\" a second time"),
        ("stage = \"rate\"", "stage = \"rate\"\nname = \"2 x\"", "name: found \"2 x\", expected letters, digits"),
    ] {
        assert!(LOSSY.contains(from), "{from}");
        let message = error(&LOSSY.replace(from, to));
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
    let message = error("[stack]\nname = \"quiche\"\n[[path.to_client]]\nstage = \"rate\"\nrate = \"1 Mbit/s\"");
    assert!(
        message.contains("rate: no queue precedes this rate; expected a stage \"queue\" right before it"),
        "{message}"
    );
    let message = error(
        "[stack]\nname = \"quiche\"\n[[path.to_client]]\nstage = \"queue\"\ndiscipline = \"drop_tail\"\nlimit = \"1 packets\"",
    );
    assert!(message.contains("no rate follows this queue"), "{message}");
}

#[test]
fn a_path_is_included_with_its_traces_and_is_part_of_the_run() {
    let lines = "[stack]\nname = \"quiche\"\n[path]\ninclude = \"paths/slow.toml\"";
    let run = only(plan_beside(lines, &[]).unwrap());
    assert_eq!(setting_text(&run.settings, "path.include").as_deref(), Some("slow"));
    let stages = run.settings.stages_to_client();
    assert_eq!(stages[1].write()["milliseconds"].as_str(), Some("0 4 8"));
    assert_eq!(run.settings.path.round_trip().to_string(), "5 ms");
    assert_eq!(Run::from_toml(&run.to_toml()).unwrap().settings, run.settings);
    // What a path is called does not change what happens on it.
    let mut other = run.clone();
    other.settings.path.include = Some("other".to_owned());
    assert_eq!(other.id(&Versions::new()), run.id(&Versions::new()));
    // The command line may change a setting of a stage, and name the file.
    let set = [("path.include", "paths/slow.toml"), ("path.to_client.queue.limit", "20 packets")];
    let run = only(plan_beside("[stack]\nname = \"quiche\"", &set).unwrap());
    assert_eq!(run.settings.stages_to_client()[0].write()["limit"].as_str(), Some("20 packets"));
}

const SCENARIO: &str = "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=10 --rate_to_server=0";

fn scenario(lines: &str) -> String {
    format!("[stack]\nname = \"quiche\"\n[path]\nscenario = {SCENARIO:?}\n{lines}")
}

#[test]
fn a_scenario_of_the_interop_runner_is_the_same_run_as_its_stages() {
    let run = only(plan(&with(&scenario(""))).unwrap());
    assert_eq!(setting_text(&run.settings, "path.scenario").as_deref(), Some(SCENARIO));
    assert_eq!(Run::from_toml(&run.to_toml()).unwrap().settings, run.settings);
    assert_eq!(run.settings.path.round_trip().to_string(), "30 ms");
    let link = r#"{ stage = "queue", discipline = "drop_tail", limit = "26 packets" },
        { stage = "rate", name = "link", rate = "10 Mbit/s" }, { stage = "delay", delay = "15 ms" }"#;
    let loss = r#"{ stage = "loss", name = "drop-rate", model = "independent", probability = 0.1 }"#;
    let stages = format!("[stack]\nname = \"quiche\"\n[path]\nto_client = [{link}, {loss}]\nto_server = [{link}]\n");
    let written = only(plan(&with(&stages)).unwrap());
    assert_eq!(written.settings.stages_to_client(), run.settings.stages_to_client());
    assert_eq!(written.settings.stages_to_server(), run.settings.stages_to_server());
    assert_eq!(written.id(&Versions::new()), run.id(&Versions::new()));
}

#[test]
fn the_command_line_can_name_a_scenario_and_change_its_stages() {
    let set = [("path.scenario", SCENARIO), ("path.to_client.drop-rate.probability", "0.2")];
    let run = only(plan_beside("[stack]\nname = \"quiche\"", &set).unwrap());
    assert_eq!(run.settings.stages_to_client()[3].write()["probability"].as_float(), Some(0.2));
}

#[test]
fn a_scenario_stands_alone() {
    for (lines, with) in [("to_server = []", "path.scenario"), ("rate = \"1 Mbit/s\"", "path.scenario")] {
        let message = error(&scenario(lines));
        assert!(message.contains(&format!("found a value in addition to {with}")), "{message}");
    }
    let both = plan_beside(&scenario("include = \"paths/slow.toml\""), &[]).unwrap_err();
    assert!(both.contains("path.scenario: found a value in addition to path.include"), "{both}");
    let message = error("[stack]\nname = \"quiche\"\n[path]\nscenario = \"tcp-cross-traffic --delay=15ms\"");
    assert!(message.contains("x.toml:6:12: path.scenario: --bandwidth: missing"), "{message}");
}

const CROSS: &str = "udp-cross-traffic --delay=15ms --bandwidth=10Mbps --queue=25 --crossdatarate=8Mbps";

#[test]
fn a_scenario_with_cross_traffic_is_the_plain_one_with_settings_of_its_own() {
    let with_scenario =
        |text: &str, lines: &str| format!("[stack]\nname = \"quiche\"\n[path]\nscenario = \"{text}\"\n{lines}");
    let plain = CROSS.replace("udp-cross-traffic", "simple-p2p").replace(" --crossdatarate=8Mbps", "");
    let run = |text: &str, lines: &str| only(plan_beside(&with_scenario(text, lines), &[]).unwrap());
    let by_scenario = run(CROSS, "");
    let lines =
        "cross_traffic = \"udp\"\ncross_rate = \"8 Mbit/s\"\ncross_datagram = \"512 B\"\ncross_start = \"20 s\"";
    assert_eq!(by_scenario.id(&Versions::new()), run(&plain, lines).id(&Versions::new()));
    assert_ne!(by_scenario.id(&Versions::new()), run(&plain, "").id(&Versions::new()));
    let default = run(&plain, "cross_traffic = \"none\"");
    assert_eq!(
        default.id(&Versions::new()),
        run(&plain, "").id(&Versions::new()),
        "the default has no part in the identity"
    );
    let tcp = run(&CROSS.replace("udp-", "tcp-").replace(" --crossdatarate=8Mbps", ""), "");
    assert_eq!(tcp.settings.path.cross_traffic, CrossTraffic::Tcp);
    let message = plan_beside(&with_scenario(CROSS, "cross_rate = \"1 Mbit/s\""), &[]).unwrap_err();
    assert!(message.contains("path.cross_rate: found a value in addition to path.scenario"), "{message}");
}

#[test]
fn files_that_cannot_be_read_or_understood_are_named() {
    let include = |name: &str| format!("[stack]\nname = \"quiche\"\n[path]\ninclude = \"{name}\"");
    let message = plan_beside(&include("missing.toml"), &[]).unwrap_err();
    assert!(message.contains("x.toml:6:11: path.include: missing.toml: no such file"), "{message}");
    let message = plan_beside(&include("paths/slow.trace"), &[]).unwrap_err();
    assert!(message.contains("paths/slow.trace:2:2: this is not TOML"), "{message}");
    let message = plan(&with(&include("paths/slow.toml"))).unwrap_err().to_string();
    assert!(message.contains("a file cannot be named here"), "{message}");
    let traced = "[stack]\nname = \"quiche\"\n[path]\nto_server = [{ stage = \"delay_trace\", file = \"delays\", length = \"1 s\" }]";
    let run = only(plan_beside(traced, &[]).unwrap());
    let steps = run.settings.stages_to_server()[0].write()["steps"].to_string();
    assert_eq!(steps, "[[\"0 ns\", \"20 ms\"], [\"500 ms\", \"40 ms\"]]");
}

#[test]
fn a_change_of_a_stage_that_there_is_none_of_is_an_error() {
    let change = |key: &str| plan_beside(LOSSY, &[(key, "0.5")]).unwrap_err();
    let message = change("path.to_client.lost.probability");
    assert!(
        message.contains("lost.probability: found no stage \"lost\", expected one of loss, queue, rate"),
        "{message}"
    );
    let message = change("path.to_server.loss.probability");
    assert!(message.contains("expected none, because path.to_server lists no stages"), "{message}");
    let message = change("path.to_client.loss.chance");
    assert!(message.contains("no stage has a setting \"chance\""), "{message}");
}
