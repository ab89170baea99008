//! What agents of real kernels handed over, written to the files of a record.

use std::{
    collections::BTreeSet,
    fs::{self, File},
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{activity::ACTIVITY, orders::Orders, slot::SlotError};
use quiclab_experiment::run::Run;
use quiclab_record::{Observed, layout::HOST_FILE};

use super::{activity::host_activity, path::choose};
use crate::{
    collect::RunFailure,
    guest::{
        path::StageNames,
        results::{Results, damaged_capture},
    },
    testbed::Place,
};

/// Name of the file with what was handed over.
pub(crate) const SLOT: &str = "slot";

/// Why the run failed, if it did, and what was seen of it.
pub(crate) type Collected = (Option<RunFailure>, Observed);

/// Writes the files of the record of a run on kernels that lack these disciplines. `of_hosts` says in errors what the activity is. The
/// inner error: what was handed over is damaged, and how.
///
/// # Errors
/// Where something cannot be written.
pub(crate) fn collect(
    testbed: &str,
    run: &Run,
    orders: &Orders,
    lacks: &BTreeSet<String>,
    place: Place,
    of_hosts: &str,
) -> Result<Result<Collected, String>> {
    let backend = choose(&run.settings, lacks).map_err(anyhow::Error::msg)?;
    let names = StageNames::by(&run.settings, backend);
    let opened = File::open(place.work.join(SLOT)).map_err(SlotError::from);
    let mut results = match opened.and_then(|slot| Results::open(testbed, slot, orders, &names)) {
        Ok(results) => results,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if let Some(answer) = results.bytes(ACTIVITY)? {
        match host_activity(&answer) {
            Ok(activity) => {
                let path = place.draft.join(HOST_FILE);
                fs::write(&path, activity.to_json()).with_context(|| path.display().to_string())?;
            }
            Err(why) => return Ok(Err(format!("{of_hosts}: {why}"))),
        }
    }
    let collected =
        results.failure(run).and_then(|failure| results.write_what_happened(place.draft, run).map(|()| failure));
    match collected {
        Ok(failure) => Ok(Ok((failure, results.observed().clone()))),
        Err(error) => damaged_capture(&error).map(Err).ok_or(error),
    }
}
