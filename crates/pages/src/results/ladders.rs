//! Pages with the handshakes of a folder's runs.

use std::collections::BTreeMap;

use crate::ladder::pages::{self, LADDERS_FOLDER};
use anyhow::Result;
use quiclab_record::Record;
use quiclab_report::{Ladder, ReportInput, is_of_handshakes};
use rayon::prelude::*;

use super::Results;

/// Ladders of handshakes that are written without being asked for: of the first runs of the plan.
const MOST_LADDERS: usize = 200;

/// Selects the runs whose handshakes a report writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladders {
    /// The first [`MOST_LADDERS`] runs, and only where handshakes are what the experiment is about.
    Default,
    /// Every run.
    All,
}

impl Results {
    /// Writes pages with the handshakes of runs, also of those that failed; gives where they are, by name of the record.
    pub(super) fn write_ladders(&self, input: &ReportInput, ladders: Ladders) -> Result<BTreeMap<String, String>> {
        let most = match ladders {
            Ladders::All => usize::MAX,
            Ladders::Default if is_of_handshakes(input) => MOST_LADDERS,
            Ladders::Default => return Ok(BTreeMap::new()),
        };
        let folder = self.folder.join(LADDERS_FOLDER);
        let write = |name: &String, ladder: Option<Ladder>| -> Result<_> {
            let Some(ladder) = ladder else { return Ok(None) };
            let file = format!("{name}.html");
            pages::write(&ladder, &folder, &file)?;
            Ok(Some((name.clone(), format!("{LADDERS_FOLDER}/{file}"))))
        };
        let runs: Vec<_> = input.runs.iter().take(most).map(|run| &run.folder).collect();
        let of_runs = runs.into_par_iter().map(|name| {
            let record = Record::load(&self.folder.join(name))?;
            write(name, pages::of_record(&record)?)
        });
        let mut written = of_runs.collect::<Result<Vec<_>>>()?;
        for failure in input.failures.iter().take(most) {
            // The capture of a run that failed may end anywhere.
            let ladder = pages::of_failure(&self.failures().join(&failure.folder), &failure.message).ok().flatten();
            written.push(write(&failure.folder, ladder)?);
        }
        Ok(written.into_iter().flatten().collect())
    }
}
