//! From the folder of a run to its verdict.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quiclab_inputs::{open_unlinked, read_unlinked_text};
use quiclab_interop::{Case, End, EndpointFacts, Entry, Facts, FactsSettings, Verdict, judge};
use quiclab_record::{
    Contents, HostSeen, Outcome, ProcessEnd, TapRole,
    layout::{CAPTURE_FILE, FAILURE_FILE, PATH_FILE, SENDER_TAP, WRONG_FILES_FILE},
    read_observed,
};
use quiclab_wire::CaptureReader;

use super::selection::Pairing;
use quiclab_units::ShowPath;

use crate::results::FAILURES_FOLDER;
use crate::session::bounded_input::MOST_TEXT_BYTES;

/// True where the run `name` has been performed, well or not. What only the testbed failed at has not, nor has one whose record is damaged: it
/// is moved out of the way when the run is performed again.
///
/// # Errors
/// Where something is there that cannot be read.
pub fn is_there(folder: &Path, name: &str) -> Result<bool> {
    let Some(place) = folder_of(folder, name) else { return Ok(false) };
    let observed = Contents::check(&place, None).and_then(|_| read_observed(&place, None));
    match observed {
        Ok(observed) => Ok(!matches!(observed.outcome, Outcome::TestbedFailed { .. })),
        Err(error) if error.is_damage() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn folder_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let record = folder.join(name);
    if record.is_dir() {
        return Some(record);
    }
    let failed = folder.join(FAILURES_FOLDER).join(name);
    (failed.join(CAPTURE_FILE).is_file() && failed.join(PATH_FILE).is_file()).then_some(failed)
}

/// What came of a pairing.
pub fn entry(pairing: &Pairing, folder: &Path) -> Entry {
    let judged = match (&pairing.run, &pairing.record) {
        (Err(role), _) => Judged::of(Verdict::Unsupported { role: *role }),
        (Ok(_), Some(name)) => {
            judged(pairing, folder, name).unwrap_or_else(|error| Judged::of(failed(format!("{error:#}"))))
        }
        (Ok(_), None) => Judged::of(failed("it was not run".to_owned())),
    };
    let places = pairing.record.iter().flat_map(|name| [name.clone(), format!("{FAILURES_FOLDER}/{name}")]);
    let record = places.into_iter().find(|place| folder.join(place).is_dir());
    Entry {
        server: pairing.server.clone(),
        client: pairing.client.clone(),
        case: pairing.case.name.to_owned(),
        verdict: judged.verdict,
        record,
        elapsed_ns: judged.elapsed_ns,
        goodput_kbps: judged.goodput_kbps,
    }
}

/// A verdict, and what was measured.
struct Judged {
    verdict: Verdict,
    elapsed_ns: Option<u64>,
    goodput_kbps: Option<u64>,
}

impl Judged {
    fn of(verdict: Verdict) -> Self {
        Judged { verdict, elapsed_ns: None, goodput_kbps: None }
    }
}

fn failed(reason: String) -> Verdict {
    Verdict::Failed { reasons: vec![reason] }
}

fn judged(pairing: &Pairing, folder: &Path, name: &str) -> Result<Judged> {
    let Some(place) = folder_of(folder, name) else {
        // The testbed itself failed, and may have said why.
        let message = read_unlinked_text(&folder.join(FAILURES_FOLDER).join(name).join(FAILURE_FILE), MOST_TEXT_BYTES);
        let reason = message.map_or_else(|_| "it was not run".to_owned(), |text| text.trim().to_owned());
        return Ok(Judged::of(failed(reason)));
    };
    let elapsed_ns = read_observed(&place, None)?.client_lifetime.map(|time| time.as_nanos());
    let (verdict, facts) = verdict_and_facts(pairing.case, &place)?;
    let goodput_kbps = pairing.case.goodput_kbps(&facts).filter(|_| verdict == Verdict::Succeeded);
    Ok(Judged { verdict, elapsed_ns, goodput_kbps })
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
    verdict_and_facts(case, place).map(|(verdict, _)| verdict)
}

fn verdict_and_facts(case: &Case, place: &Path) -> Result<(Verdict, Facts)> {
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
