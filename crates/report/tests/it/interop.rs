//! The matrix as a table, a page and the interop runner's JSON, of verdicts that can be counted by hand.

use std::collections::BTreeMap;

use quiclab_interop::{Entry, Matrix, Verdict};
use quiclab_report::{RunnerInfo, render_interop_html, render_interop_json, render_interop_terminal};
use quiclab_wire::Role;

const RETRY: &str = "expected a Retry packet (RFC 9000 section 17.2.5), found none";

fn entry(server: &str, client: &str, case: &str, verdict: Verdict) -> Entry {
    let record = Some(format!("{server}_{client}/{case}"));
    let (server, client, case) = (server.to_owned(), client.to_owned(), case.to_owned());
    Entry { server, client, case, verdict, record, elapsed_ns: Some(1_250_000_000), goodput_kbps: None }
}

/// A matrix of twelve: five succeeded, two failed, four not supported, one not run.
pub fn matrix() -> Matrix {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let failed = |reasons: &[&str]| Verdict::Failed { reasons: names(reasons) };
    let unsupported = |role| Verdict::Unsupported { role };
    let mut matrix = Matrix::new(
        names(&["quiche", "ngtcp2"]),
        names(&["quic-go", "<b>"]),
        names(&["handshake", "retry", "v2"]),
        1_000,
    );
    matrix.end_unix_s = 1_060;
    matrix.entries = vec![
        entry("quiche", "quic-go", "handshake", Verdict::Succeeded),
        entry("quiche", "quic-go", "retry", failed(&[RETRY, "the client ended with status 1"])),
        entry("quiche", "quic-go", "v2", unsupported(Role::Server)),
        entry("ngtcp2", "quic-go", "handshake", Verdict::Succeeded),
        entry("ngtcp2", "quic-go", "retry", Verdict::Succeeded),
        entry("ngtcp2", "quic-go", "v2", unsupported(Role::Client)),
        entry("quiche", "<b>", "handshake", Verdict::Succeeded),
        entry("quiche", "<b>", "retry", unsupported(Role::Client)),
        entry("quiche", "<b>", "v2", unsupported(Role::Server)),
        entry("ngtcp2", "<b>", "handshake", failed(&["expected 1 handshake, found 0 & \"<none>\""])),
        entry("ngtcp2", "<b>", "retry", Verdict::Succeeded),
    ];
    matrix
}

#[test]
fn the_terminal_table_is_the_expected_one() {
    let expected = include_str!("../interop.txt");
    let found = render_interop_terminal(&matrix(), Some(100));
    assert_eq!(found, expected, "\nfound:\n{found}");
    assert!(found.contains("5 succeeded, 2 failed, 4 not supported, 1 not run"));
    assert!(found.contains(RETRY) && found.contains("(quiche_quic-go/retry)"));
}

#[test]
fn what_cannot_be_judged_is_neither_passed_nor_failed() {
    let mut matrix = matrix();
    let reason = "expected at least 200 streams, found 142; unread from offset 0, frame type 757".to_owned();
    matrix.entries[0].verdict = Verdict::CannotBeJudged { reasons: vec![reason] };
    let terminal = render_interop_terminal(&matrix, Some(100));
    assert!(terminal.contains("CANNOT BE JUDGED handshake, server quiche, client quic-go"), "{terminal}");
    assert!(terminal.contains("4 succeeded, 2 failed, 1 cannot be judged, 4 not supported"), "{terminal}");
    assert!(render_interop_html(&matrix).contains("cannot be judged: expected at least 200 streams"));
    let runner: serde_json::Value =
        serde_json::from_str(&render_interop_json(&matrix, &RunnerInfo::default())).unwrap();
    assert_eq!(runner["results"][0][0]["result"], serde_json::Value::Null);
}

#[test]
fn the_interop_runners_page_finds_each_result_where_it_looks() {
    let urls = BTreeMap::from([("quiche".to_owned(), "https://example.org/quiche".to_owned())]);
    let info = RunnerInfo { log_dir: "logs".to_owned(), urls };
    let result: serde_json::Value = serde_json::from_str(&render_interop_json(&matrix(), &info)).unwrap();
    assert_eq!(result["tests"]["S"]["name"], "retry");
    assert!(result["tests"]["H"]["desc"].as_str().unwrap().contains("handshake"));
    assert_eq!((&result["start_time"], &result["end_time"]), (&1_000.into(), &1_060.into()));
    assert_eq!((&result["quic_version"], &result["quic_draft"]), (&"0x1".into(), &34.into()));
    assert_eq!(result["log_dir"], "logs");
    assert_eq!(result["urls"]["quiche"], "https://example.org/quiche");
    // The page counts through clients, and through servers within each.
    let results = result["results"].as_array().unwrap();
    assert_eq!((results.len(), result["measurements"].as_array().unwrap().len()), (4, 4));
    let matrix = matrix();
    let mut index = 0;
    for client in result["clients"].as_array().unwrap() {
        for server in result["servers"].as_array().unwrap() {
            for (case, found) in matrix.cases.iter().zip(results[index].as_array().unwrap()) {
                let entry = matrix.entry(server.as_str().unwrap(), client.as_str().unwrap(), case);
                assert_eq!(found["name"], case.as_str());
                assert_eq!(found["result"].as_str(), entry.map(|entry| entry.verdict.name()));
            }
            index += 1;
        }
    }
    assert_eq!(results[3][2]["result"], serde_json::Value::Null, "what was not run is null");
}

#[test]
fn the_page_shows_every_letter_with_its_reason_and_record() {
    let page = render_interop_html(&matrix());
    let failed = format!(
        "<a href=\"quiche_quic-go/retry\" title=\"retry: failed: {RETRY}; the client ended with status 1\">S</a>"
    );
    assert!(page.contains(&failed), "{page}");
    assert!(page.contains("title=\"v2: the server does not support it\">V2</a>"));
    assert!(page.contains("<span title=\"v2: not run\">V2</span>"));
    assert!(page.contains("3 of 6") && page.contains("2 of 5") && page.contains("5 of 11"), "totals");
    assert!(page.contains("<td>1.250</td>"), "elapsed");
    assert_eq!(page.matches("<li>").count(), 3, "each reason of each failure");
}

#[test]
fn the_page_is_one_file_without_scripts() {
    let page = render_interop_html(&matrix());
    assert!(page.starts_with("<!DOCTYPE html>") && page.len() < 50_000);
    for fetching in ["<script", "src=", "href=\"http", "url(", "@import"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
}

#[test]
fn names_cannot_bring_markup_into_the_page() {
    let page = render_interop_html(&matrix());
    assert!(!page.contains("<b>") && page.contains("&lt;b&gt;"));
    assert!(!page.contains("<none>"));
}

#[test]
fn equal_matrices_give_equal_bytes_and_an_empty_one_is_shown() {
    assert_eq!(render_interop_html(&matrix()), render_interop_html(&matrix()));
    let empty = Matrix::new(Vec::new(), Vec::new(), Vec::new(), 0);
    assert!(render_interop_terminal(&empty, None).contains("nothing to run"));
    assert!(render_interop_html(&empty).contains("nothing to run"));
    assert!(render_interop_json(&empty, &RunnerInfo::default()).contains("\"results\": []"));
}

#[test]
fn measurements_are_in_every_form_beside_the_cases() {
    let mut matrix = matrix();
    matrix.cases.push("goodput".to_owned());
    let mut measured = entry("quiche", "quic-go", "goodput", Verdict::Succeeded);
    measured.goodput_kbps = Some(9_321);
    matrix.entries.push(measured);
    let result: serde_json::Value =
        serde_json::from_str(&render_interop_json(&matrix, &RunnerInfo::default())).unwrap();
    let expected =
        serde_json::json!([{ "abbr": "G", "name": "goodput", "result": "succeeded", "details": "9321 kbps" }]);
    assert_eq!(result["measurements"][0], expected);
    assert_eq!(result["measurements"][1], serde_json::json!([]));
    assert!(
        result["results"][0].as_array().unwrap().iter().all(|case| case["name"] != "goodput"),
        "{}",
        result["results"][0]
    );
    let terminal = render_interop_terminal(&matrix, None);
    assert!(terminal.contains("goodput, server quiche, client quic-go: 9321 kbit/s"), "{terminal}");
    assert!(render_interop_html(&matrix).contains("9321 kbit/s"));
}
