//! `quiclab advise`, by its output.

use crate::common::{output_of, quiclab};
use quiclab_trace::{RunColumn, write_runs};
use serde_json::Value;

fn answer(arguments: &[&str]) -> Value {
    let result = output_of(quiclab().args(["advise", "instant-ack", "--json"]).args(arguments));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    serde_json::from_str(&result.output).unwrap()
}

#[test]
fn the_advice_turns_with_which_flight_is_lost() {
    let choice = |loss: &str| answer(&["--rtt", "9ms", "--delay", "4ms", loss, "0.01"])["choice"].clone();
    assert_eq!((choice("--loss-client"), choice("--loss-server")), ("instant".into(), "wait".into()));
}

#[test]
fn a_file_of_clients_gives_shares() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clients.parquet");
    let numbers = |values: [f64; 4]| RunColumn::Numbers(values.map(Some).to_vec());
    // With a chain that does not fit, an instant ACK gains a round trip from a delay of four round trips on.
    let columns = [
        ("rtt_ms".to_owned(), numbers([10.0, 10.0, 10.0, 20.0])),
        ("delay_ms".to_owned(), numbers([10.0, 28.0, 41.0, 81.0])),
    ];
    write_runs(&path, &columns).unwrap();
    let shares = answer(&["--samples", path.to_str().unwrap(), "--cert-size", "5113 B"]);
    assert_eq!((&shares["clients"], &shares["gain"], &shares["lose"]), (&4.into(), &0.5.into(), &0.0.into()));
    assert_eq!(shares["mean_gain_ns"], 30e6 / 4.0);
}

/// ReACKed QUICer, figure 4 and table 2.
#[test]
fn several_values_give_a_row_for_each_combination() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("gain.svg");
    let rows = answer(&[
        "--rtt",
        "1ms,9ms,100ms",
        "--delay",
        "1ms,9ms,25ms",
        "--server-pto",
        "200ms",
        "--svg",
        picture.to_str().unwrap(),
    ]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let [rtt, delay] = ["rtt_ns", "delay_ns"].map(|key| row[key].as_u64().unwrap());
        assert_eq!(row["first_pto_gain_rtts"], 3.0 * delay as f64 / rtt as f64);
        assert_eq!(row["needless_probes"].as_i64().unwrap() > 0, delay >= 3 * rtt, "{rtt} {delay}");
        assert_eq!(row["choices"][2], "instant");
    }
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("delay 25 ms") && svg.contains("needless probes"), "{svg}");
}

#[test]
fn a_folder_without_results_cannot_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let result = output_of(quiclab().args(["advise", "check"]).arg(folder.path()));
    assert!(result.status == Some(125) && result.errors.contains("found no results"), "{}", result.errors);
}

#[test]
fn what_is_missing_or_impossible_is_named() {
    for (arguments, part) in [
        (&["--rtt", "9ms"][..], "--delay"),
        (&["--rtt", "9ms", "--delay", "4ms", "--loss-client", "0.6", "--loss-server", "0.6"], "at most 1 together"),
        (&["--rtt", "9ms", "--delay", "4ms", "--loss-client", "2"], "from 0 to 1"),
        (&["--samples", "no-such.parquet"], "no-such.parquet"),
        (&["--rtt", "9ms", "--delay", "100s"], "at most 60 s"),
    ] {
        let result = output_of(quiclab().args(["advise", "instant-ack"]).args(arguments));
        assert!(result.status == Some(125) && result.errors.contains(part), "{arguments:?}: {}", result.errors);
    }
}
