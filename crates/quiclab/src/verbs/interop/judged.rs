//! From the folder of a run to its verdict.

use std::path::{Path, PathBuf};

use anyhow::Result;
use quiclab_inputs::read_unlinked_text;
use quiclab_interop::{Entry, Verdict};
use quiclab_record::{
    Contents, Outcome,
    layout::{CAPTURE_FILE, FAILURE_FILE, PATH_FILE},
    read_observed,
};
use quiclab_trials::verdict::verdict_and_facts;

use super::selection::Pairing;

use quiclab_inputs::MOST_TEXT_BYTES;
use quiclab_pages::results::FAILURES_FOLDER;

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
