//! Rules that lose datagrams by what they hold, in the simulator, as a user would write them.

mod common;

use std::path::Path;

use common::{Bench, Said, quiclab, records, said};
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../../experiments/examples/lost-flight.toml");
/// The stacks that the simulator calls.
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");

fn run(bench: &Bench, more: &[&str]) -> Said {
    said(bench.run(SANS_IO, "out", &["--testbed", "sim"]).args(more))
}

fn read(folder: &Path, file: &str) -> Value {
    let path = folder.join(file);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// What the stage `loss` towards the server did.
fn loss(folder: &Path) -> Value {
    read(folder, "path.json")["path"]["to_server"][0].clone()
}

fn lifetime(folder: &Path) -> u64 {
    read(folder, "path.json")["client_lifetime_ns"].as_u64().unwrap()
}

#[test]
fn the_clients_second_flight_is_lost_whole_and_each_stack_recovers() {
    let bench = Bench::new(EXAMPLE);
    let result = run(
        &bench,
        &[
            "--set",
            "path.to_server.loss.drop=flight 2,datagram 1000",
            "--set",
            "path.to_server.loss.at_least_drops=none",
        ],
    );
    assert_eq!(result.status, Some(0), "{}", result.errors);
    println!("{}", result.errors);
    for name in records(&bench.out("out")) {
        let folder = bench.out("out").join(&name);
        println!("{name} {} {}", loss(&folder), lifetime(&folder));
        println!("{}", read(&folder, "metrics.json")["warnings"]);
        let _ = quiclab();
    }
}
