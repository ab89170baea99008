//! `quiclab look`

use std::fs;

use crate::common::{output_of, quiclab};
use quiclab_testing::files;
use serde_json::Value;

fn capture(name: &str) -> String {
    files::capture(name).display().to_string()
}

/// The page of captures, and what the command printed.
fn look(names: &[&str], options: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut command = quiclab();
    command.arg("look").args(names.iter().map(|name| capture(name))).args(options).arg("--html").arg(&page);
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    (fs::read_to_string(page).unwrap(), result.output)
}

fn heads(page: &str) -> Vec<Value> {
    let parts = page.split("application/octet-stream").skip(1);
    parts.map(|part| serde_json::from_str(part.split_once('>').unwrap().1.lines().next().unwrap()).unwrap()).collect()
}

#[test]
fn the_page_has_as_many_packets_as_quiclab_packets_lists() {
    let (page, _) = look(&["quiche"], &[]);
    let listed = output_of(quiclab().arg("packets").arg(capture("quiche")).arg("--json"));
    let listed: Value = serde_json::from_str(&listed.output).unwrap();
    let heads = heads(&page);
    assert_eq!(heads.len(), 1);
    assert_eq!(heads[0]["packets"].as_u64().unwrap(), listed["packets"].as_array().unwrap().len() as u64);
    assert!(!page.contains("src=\"http") && !page.contains("fetch("));
}

#[test]
fn two_captures_are_on_one_page() {
    let (page, printed) = look(&["quiche", "tcp-tls"], &[]);
    assert_eq!(heads(&page).len(), 2);
    assert!(printed.contains("quiche\n") && printed.contains("tcp-tls\n"), "{printed}");
}

#[test]
fn a_rule_without_what_it_needs_is_in_the_json_with_the_reason() {
    let (_, printed) = look(&["quiche"], &["--json"]);
    let json: Value = serde_json::from_str(&printed).unwrap();
    let not_judged = json["transfers"][0]["verdicts"]["not_judged"].as_array().unwrap();
    let host = not_judged.iter().find(|one| one["rule"] == "host_busy").expect("a capture tells nothing of the host");
    assert!(host["reason"].as_str().unwrap().contains("cpu_busy_share"));
}

#[test]
fn a_window_has_the_packets_of_its_time_and_says_so() {
    let of = |options: &[&str]| look(&["quiche"], options);
    let count = |page: &str| heads(page)[0]["packets"].as_u64().unwrap();
    let (all, _) = of(&[]);
    let (early, _) = of(&["--to", "80ms"]);
    // Both ends are inside: the second part begins a nanosecond later.
    let (late, printed) = of(&["--from", "80000001ns", "--json"]);
    assert!(count(&early) > 0 && count(&late) > 0, "{} and {}", count(&early), count(&late));
    assert_eq!(count(&early) + count(&late), count(&all));
    assert!(early.contains("Only packets from 0 ns to 80 ms are shown."));
    let json: Value = serde_json::from_str(&printed).unwrap();
    let not_judged = json["transfers"][0]["verdicts"]["not_judged"].as_array().unwrap();
    assert!(not_judged.iter().any(|one| one["rule"] == "application_limited"), "{not_judged:?}");
    let result = output_of(quiclab().arg("look").arg(capture("quiche")).args(["--from", "60min"]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("found no packets of a server from 3600 s on"), "{}", result.errors);
}

/// The packets of a capture that options leave, as JSON.
fn packets(options: &[&str]) -> Vec<Value> {
    let result = output_of(quiclab().arg("packets").arg(capture("quiche")).args(options).arg("--json"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let json: Value = serde_json::from_str(&result.output).unwrap();
    json["packets"].as_array().unwrap().clone()
}

#[test]
fn options_choose_packets() {
    let all = packets(&[]);
    let [server, client] = ["server", "client"].map(|end| packets(&["--sender", end]));
    assert!(!server.is_empty() && !client.is_empty());
    assert_eq!(server.len() + client.len(), all.len());
    // The same rows, in the same order, as a reader of the whole list would choose.
    let chosen = |has: &dyn Fn(&Value) -> bool| all.iter().filter(|row| has(row)).cloned().collect::<Vec<_>>();
    let waited = chosen(&|row| row["gap_ns"].as_u64().is_some_and(|gap| gap >= 1_000_000));
    assert!(!waited.is_empty() && waited.len() < all.len());
    assert_eq!(packets(&["--gap", "1ms"]), waited);
    let has = |row: &Value, name: &str| row["frames"].as_array().unwrap().iter().any(|frame| frame == name);
    let crypto = chosen(&|row| has(row, "crypto") && row["sender"] == "client");
    assert!(!crypto.is_empty());
    assert_eq!(packets(&["--frame", "CRYPTO", "--sender", "client"]), crypto);
    let acknowledged =
        chosen(&|row| row["acknowledged_after_ns"].is_u64() && row["is_lost"] != true && row["is_dropped"] != true);
    assert!(!acknowledged.is_empty());
    assert_eq!(packets(&["--fate", "acked"]), acknowledged);

    let nothing = output_of(quiclab().arg("packets").arg(capture("quiche")).args(["--frame", "NO_SUCH"]));
    assert_eq!((nothing.status, nothing.output.as_str()), (Some(0), ""));
    assert!(nothing.errors.contains("their frames: ACK") && nothing.errors.contains("STREAM"), "{}", nothing.errors);
}

#[test]
fn a_capture_without_a_server_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let result = output_of(quiclab().arg("look").arg(folder.path()));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("expected a record's folder or a capture file"), "{}", result.errors);
}
