//! What came of a run: its record, or what is kept of a failure.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use quiclab_experiment::AnyRun;
use quiclab_record::{Draft, Measured, RecordError, Records, RunFile, Seen, link_below};

use super::{RunLock, Target};
use crate::{
    collect::RunFailure,
    perform::{HostUse, PerformError, Performed},
};

/// A run that went well, whose record is complete but not in its place yet. The lock on it is held until then.
#[derive(Debug)]
pub struct Filled {
    pub(super) draft: Draft,
    /// Where remains of an earlier attempt would be.
    pub(super) kept: PathBuf,
    pub(super) measured: Measured,
    pub(super) host_use: HostUse,
    pub(super) elapsed: Duration,
    pub(super) _lock: RunLock,
}

/// What came of a record that was asked for, before it is in its place.
#[derive(Debug)]
pub enum Attempted {
    /// The run was performed.
    Filled(Box<Filled>),
    /// The record was there already, or another process made it meanwhile.
    WasThere,
}

/// What came of a record that was asked for.
#[derive(Debug)]
pub enum Outcome {
    /// The run was performed.
    Performed(Performed),
    /// The record was there already, or another process made it meanwhile.
    WasThere,
}

impl Outcome {
    /// Puts the record of a run, where it is a new one, in its place at once.
    pub(super) fn of(attempted: Attempted) -> Result<Self, PerformError> {
        let filled = match attempted {
            Attempted::WasThere => return Ok(Self::WasThere),
            Attempted::Filled(filled) => *filled,
        };
        Ok(Self::Performed(filled.finish()?))
    }
}

impl Filled {
    /// How long the run took.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Puts the record in its place.
    ///
    /// # Errors
    /// Where something cannot be written.
    pub fn finish(self) -> Result<Performed> {
        let Self { draft, kept, measured, host_use, elapsed, _lock } = self;
        let start = Instant::now();
        let record = draft.finish()?;
        remove_earlier_failure(&kept)?;
        Ok(Performed { record, measured, host_use, elapsed: elapsed + start.elapsed() })
    }

    /// The same for records of one folder, with one pass over the disk for all of them.
    ///
    /// Returns for each what [`Filled::finish`] returns: one that fails does not stop the others.
    pub fn finish_all(all: Vec<Self>) -> Vec<Result<Performed>> {
        let mut drafts = Vec::new();
        let mut rest = Vec::new();
        for Self { draft, kept, measured, host_use, elapsed, _lock } in all {
            drafts.push(draft);
            rest.push((kept, measured, host_use, elapsed, _lock));
        }
        let records = Draft::finish_all(drafts);
        let performed = records.into_iter().zip(rest).map(|(record, (kept, measured, host_use, elapsed, _lock))| {
            let record = record?;
            remove_earlier_failure(&kept)?;
            Ok(Performed { record, measured, host_use, elapsed })
        });
        performed.collect()
    }
}

/// Removes what an earlier attempt left: it would only confuse.
fn remove_earlier_failure(kept: &Path) -> Result<()> {
    match fs::remove_dir_all(kept) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).with_context(|| kept.display().to_string()),
        _ => Ok(()),
    }
}

/// Moves what is known of a failed run to the failures, where it replaces what an earlier attempt left.
pub(super) fn keep_failure(
    target: Target,
    draft: &Draft,
    run: &RunFile<AnyRun>,
    seen: Option<&Seen>,
    failure: &RunFailure,
) -> Result<PathBuf, RecordError> {
    match seen {
        Some(seen) => draft.write_seen(run, seen)?,
        None => draft.write_run(run)?,
    }
    draft.write_failure(&failure.to_string())?;
    let kept = Records::open(target.failures)?.begin(target.name)?;
    link_below(draft.folder(), kept.folder())?;
    kept.finish()
}
