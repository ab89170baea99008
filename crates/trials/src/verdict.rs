//! From the folder of a run to the verdict on its case.

use std::path::Path;

use anyhow::{Context, Result};
use quiclab_inputs::{MOST_TEXT_BYTES, open_unlinked, read_unlinked_text};
use quiclab_interop::{Case, End, EndpointFacts, Facts, FactsSettings, Verdict, judge};
use quiclab_record::{
    HostSeen, ProcessEnd, TapRole,
    layout::{CAPTURE_FILE, SENDER_TAP, WRONG_FILES_FILE},
    read_observed,
};
use quiclab_units::ShowPath;
use quiclab_wire::CaptureReader;

/// Judges the run whose files are in `place`: a record, or what is known of a run that failed.
///
/// # Errors
/// Where a file cannot be read.
pub fn verdict_of(case: &Case, place: &Path) -> Result<Verdict> {
    verdict_and_facts(case, place).map(|(verdict, _)| verdict)
}

/// Judges the run whose files are in `place`, and returns what its capture shows with the verdict.
///
/// # Errors
/// Where a file cannot be read.
pub fn verdict_and_facts(case: &Case, place: &Path) -> Result<(Verdict, Facts)> {
    let observed = read_observed(place, None)?;
    let capture = place.join(CAPTURE_FILE);
    let file = open_unlinked(&capture).with_context(|| capture.shown())?;
    let reader = CaptureReader::new(file).with_context(|| capture.shown())?;
    let settings = FactsSettings {
        server_port: (!case.server_can_move).then_some(observed.server_port),
        tap: Some(observed.interface_of(TapRole::Sender).unwrap_or(SENDER_TAP)),
    };
    let facts = Facts::read(reader, &[], &settings).with_context(|| capture.shown())?;
    let files_ok = match read_unlinked_text(&place.join(WRONG_FILES_FILE), MOST_TEXT_BYTES) {
        Ok(wrong) => Err(wrong.trim().to_owned()),
        Err(_) => Ok(()),
    };
    let endpoints = EndpointFacts { client: end(&observed.client), server: end(&observed.server), files_ok };
    Ok((judge(case, &facts, &endpoints), facts))
}

fn end(host: &HostSeen) -> End {
    match host.end {
        None => End::NotStarted,
        Some(ProcessEnd { exit_code: Some(status), .. }) => End::Status(status),
        Some(_) => End::Signal,
    }
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
