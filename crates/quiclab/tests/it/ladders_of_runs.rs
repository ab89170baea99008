//! The handshakes of an experiment's runs, in the simulator: pages with ladders, maps of two settings.

use std::{fs, path::Path};

use crate::common::{Bench, CommandOutput, has_no_converter, output_of, quiclab, records};
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../../../experiments/examples/lost-flight.toml");
/// The stacks that the simulator calls.
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");
const SHORT: [&str; 4] = ["--set", "workload.size=10 kB", "--set", "stack.name=quinn"];

fn run(bench: &Bench, out: &str, more: &[&str]) -> CommandOutput {
    let result = output_of(bench.run(SANS_IO, out, &["--testbed", "sim"]).args(more));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    result
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_run_about_handshakes_has_a_ladder_with_what_was_lost_and_why() {
    let bench = Bench::new(&format!("{EXAMPLE}\n[tap]\nbottleneck_snaplen = \"full\"\n"));
    run(&bench, "out", &SHORT);
    let folder = bench.out("out");
    let names = records(&folder);
    let report = text(&folder.join("report.html"));
    for name in &names {
        assert!(report.contains(&format!("href=\"ladders/{name}.html\"")), "{name}");
        let page = text(&folder.join(format!("ladders/{name}.html")));
        let drops: Value = serde_json::from_str(&text(&folder.join(name).join("path.json"))).unwrap();
        let drops = drops["path"]["dropped"].as_array().unwrap().len();
        assert!(drops > 0);
        // The whole words are in the title of each label, which the narrow picture shortens.
        let (wide, narrow) = page.split_once("\"plot is-narrow\"").expect("a wide and a narrow picture");
        for picture in [wide, narrow] {
            let lost = "<title>lost: to_server.loss, by its rule &quot;flight 2&quot;</title>";
            assert_eq!(picture.matches(lost).count(), drops, "{name}");
        }
        for part in [
            "ClientHello",
            ">timer</tspan> probe timeout for ",
            ">probe</tspan> ",
            ">RTT</tspan> first sample ",
            "The simulator moved the packets",
        ] {
            assert!(page.contains(part), "{name}: no {part}");
        }
    }
    // Runs whose transfer is what they are about have none, unless they are asked for.
    run(&bench, "long", &["--set", "workload.size=100 kB", "--set", "stack.name=quinn"]);
    assert!(!bench.out("long").join("ladders").exists());
    let result = output_of(quiclab().arg("report").arg(bench.out("long")).arg("--ladders"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let name = records(&bench.out("long")).remove(0);
    assert!(bench.out("long").join(format!("ladders/{name}.html")).is_file());
}

#[test]
fn a_failed_run_has_a_ladder_where_its_capture_was_kept() {
    let bench = Bench::new(&format!("{EXAMPLE}\n[tap]\nbottleneck_snaplen = \"full\"\n"));
    let more = ["--set", "path.to_server.loss.at_least_drops=1000"];
    let result = output_of(bench.run(SANS_IO, "out", &["--testbed", "sim"]).args(SHORT).args(more));
    assert_ne!(result.status, Some(0));
    let failed: Vec<_> =
        fs::read_dir(bench.out("out").join("failed")).unwrap().map(|one| one.unwrap().file_name()).collect();
    let page = text(&bench.out("out").join(format!("ladders/{}.html", failed[0].display())));
    assert!(page.contains("This run failed") && page.contains("ClientHello"), "{page}");
}

const MAP: &str = "
[stack]
name = \"quinn\"

[tap]
bottleneck_snaplen = \"full\"

[matrix]
\"path.to_client.delay.delay\" = [\"10 ms\", \"20 ms\"]

[[figure]]
title = \"First byte\"
kind = \"grid\"
x = \"path.to_client.delay.delay\"
by = \"stack.client\"
y = \"handshake_client_first_byte_ns\"
";

/// The example without its own matrix.
fn example() -> String {
    let lines = EXAMPLE.lines().filter(|line| !line.starts_with("[matrix]") && !line.starts_with("\"stack.name\""));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_map_of_two_settings_is_the_first_figure_of_the_report() {
    if has_no_converter() {
        return;
    }
    let bench = Bench::new(&format!("{}{MAP}", example()));
    run(&bench, "out", &[]);
    let figures = bench.out("figures");
    let result = output_of(quiclab().arg("report").arg(bench.out("out")).arg("--figures").arg(&figures));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let svg = text(&figures.join("figure-1-first-byte.svg"));
    assert!(svg.contains("time to first byte at the client, ms") && svg.contains(">quinn<"), "{svg}");
    assert!(figures.join("figure-1-first-byte.pdf").is_file());
    let bad = Bench::new(&format!("{}{}", example(), MAP.replace("handshake_client_first_byte_ns", "first_byte")));
    let result = output_of(&mut bad.run(SANS_IO, "bad", &["--testbed", "sim"]));
    assert!(
        result.errors.contains("figure.y: found \"first_byte\" in \"First byte\", expected the name of a metric"),
        "{}",
        result.errors
    );
}
