//! From the folder of a run to its verdict.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_interop::{Case, End, EndpointFacts, Entry, Facts, FactsSettings, Verdict, judge};
use quiclab_orders::report::{Outcome, ProcessEnd};
use quiclab_testbed::{
    contract::SERVER_PORT,
    measure::SENDER_TAP,
    record::{CAPTURE_FILE, FAILURE_FILE, PATH_FILE, PathFile, WRONG_FILES_FILE},
};
use quiclab_wire::CaptureReader;

use super::selection::Pairing;
use crate::results::FAILURES_FOLDER;

/// True where the run `name` has been performed, well or not. What only the testbed failed at has not.
pub fn is_there(folder: &Path, name: &str) -> bool {
    let report = folder_of(folder, name).and_then(|place| report(&place).ok());
    report.is_some_and(|report| !matches!(report.outcome, Outcome::AgentFailed { .. }))
}

fn folder_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let places = [folder.join(name), folder.join(FAILURES_FOLDER).join(name)];
    places.into_iter().find(|place| place.join(CAPTURE_FILE).is_file() && place.join(PATH_FILE).is_file())
}

/// What came of a pairing.
pub fn entry(pairing: &Pairing, folder: &Path) -> Entry {
    let (verdict, elapsed_ns) = match (&pairing.run, &pairing.record) {
        (Err(role), _) => (Verdict::Unsupported { role: *role }, None),
        (Ok(_), Some(name)) => {
            verdict(pairing, folder, name).unwrap_or_else(|error| (failed(format!("{error:#}")), None))
        }
        (Ok(_), None) => (failed("it was not run".to_owned()), None),
    };
    let places = pairing.record.iter().flat_map(|name| [name.clone(), format!("{FAILURES_FOLDER}/{name}")]);
    let record = places.into_iter().find(|place| folder.join(place).is_dir());
    Entry {
        server: pairing.server.clone(),
        client: pairing.client.clone(),
        case: pairing.case.name.to_owned(),
        verdict,
        record,
        elapsed_ns,
    }
}

fn failed(reason: String) -> Verdict {
    Verdict::Failed { reasons: vec![reason] }
}

fn verdict(pairing: &Pairing, folder: &Path, name: &str) -> Result<(Verdict, Option<u64>)> {
    let Some(place) = folder_of(folder, name) else {
        // The testbed itself failed, and may have said why.
        let message = fs::read_to_string(folder.join(FAILURES_FOLDER).join(name).join(FAILURE_FILE));
        return Ok((failed(message.map_or_else(|_| "it was not run".to_owned(), |text| text.trim().to_owned())), None));
    };
    let report = report(&place)?;
    Ok((verdict_of(pairing.case, &place)?, report.client_lifetime_ns))
}

/// The verdict on the run whose files are in `place`, for people who watch.
pub fn in_words(case: &Case, place: &Path) -> String {
    match verdict_of(case, place) {
        Ok(Verdict::Succeeded) => "succeeded".to_owned(),
        Ok(Verdict::Unsupported { role }) => format!("not supported by the {}", role.name()),
        Ok(Verdict::Failed { reasons }) => format!("FAILED: {}", reasons.join("; ")),
        Ok(Verdict::CannotBeJudged { reasons }) => format!("CANNOT BE JUDGED: {}", reasons.join("; ")),
        Err(error) => format!("FAILED: {error:#}"),
    }
}

/// Judges the run whose files are in `place`: a record, or what is known of a run that failed.
///
/// # Errors
/// Where a file cannot be read.
pub fn verdict_of(case: &Case, place: &Path) -> Result<Verdict> {
    let report = report(place)?;
    let capture = place.join(CAPTURE_FILE);
    let file = File::open(&capture).with_context(|| capture.display().to_string())?;
    let reader = CaptureReader::new(file).with_context(|| capture.display().to_string())?;
    let settings = FactsSettings { server_port: Some(SERVER_PORT), tap: Some(SENDER_TAP) };
    let facts = Facts::read(reader, &[], &settings).with_context(|| capture.display().to_string())?;
    let files_ok = match fs::read_to_string(place.join(WRONG_FILES_FILE)) {
        Ok(wrong) => Err(wrong.trim().to_owned()),
        Err(_) => Ok(()),
    };
    let endpoints = EndpointFacts { client: end(&report.client), server: end(&report.server), files_ok };
    Ok(judge(case, &facts, &endpoints))
}

fn end(end: &Option<ProcessEnd>) -> End {
    match end {
        None => End::NotStarted,
        Some(ProcessEnd { exit_code: Some(status), .. }) => End::Status(*status),
        Some(_) => End::Signal,
    }
}

fn report(place: &Path) -> Result<PathFile> {
    let path = place.join(PATH_FILE);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}
