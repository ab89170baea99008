//! The form in which the QUIC Interop Runner's page takes results (`result.json`).

use std::collections::BTreeMap;

use quiclab_interop::{Entry, Matrix, Verdict, case_named};
use serde_json::{Map, Value, json};

use super::outcome::{description, letters};

/// The last draft of RFC 9000, which the interop runner still names beside the version.
const QUIC_DRAFT: u32 = 34;
/// RFC 9000 section 15.
const QUIC_VERSION: &str = "0x1";

/// What that form has beyond a matrix.
#[derive(Clone, Debug, Default)]
pub struct RunnerInfo {
    /// Folder of the logs; the page looks for those of a case in `LOG_DIR/SERVER_CLIENT/CASE`.
    pub log_dir: String,
    /// Where to read about a stack, by its name.
    pub urls: BTreeMap<String, String>,
}

/// `result.json` of the QUIC Interop Runner. Results stand in the order of its page: for each client, each server; one that
/// was not run is null. Reasons have no place in it.
pub fn render_interop_json(matrix: &Matrix, info: &RunnerInfo) -> String {
    let tests: Map<String, Value> = matrix
        .cases
        .iter()
        .map(|case| (letters(case).to_owned(), json!({ "name": case, "desc": description(case) })))
        .collect();
    let pairs = || matrix.clients.iter().flat_map(|client| matrix.servers.iter().map(move |server| (server, client)));
    let results: Vec<Vec<Value>> = pairs()
        .map(|(server, client)| {
            let cases = matrix.cases.iter().filter(|case| !is_measurement(case)).map(|case| {
                // The runner has no word for what cannot be judged: its readers see a case that was not run.
                let is_known = |verdict: &&Verdict| !matches!(verdict, Verdict::CannotBeJudged { .. });
                let verdict = matrix.entry(server, client, case).map(|entry| &entry.verdict).filter(is_known);
                let result = verdict.map(Verdict::name);
                json!({ "abbr": letters(case), "name": case, "result": result })
            });
            cases.collect()
        })
        .collect();
    let measurements: Vec<Vec<Value>> = pairs()
        .map(|(server, client)| {
            let names = matrix.cases.iter().filter(|case| is_measurement(case));
            let entries = names.filter_map(|case| matrix.entry(server, client, case));
            let measurement = |entry: &Entry| {
                let details = entry.goodput_kbps.map_or_else(String::new, |kbps| format!("{kbps} kbps"));
                let result = entry.verdict.name();
                json!({ "abbr": letters(&entry.case), "name": entry.case, "result": result, "details": details })
            };
            entries.map(measurement).collect()
        })
        .collect();
    let result = json!({
        "start_time": matrix.begin_unix_s,
        "end_time": matrix.end_unix_s,
        "log_dir": info.log_dir,
        "servers": matrix.servers,
        "clients": matrix.clients,
        "urls": info.urls,
        "tests": tests,
        "quic_draft": QUIC_DRAFT,
        "quic_version": QUIC_VERSION,
        "results": results,
        "measurements": measurements,
    });
    format!("{result:#}\n")
}

fn is_measurement(case: &str) -> bool {
    case_named(case).is_some_and(|case| case.is_measurement)
}
