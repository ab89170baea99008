//! Performs the runs of a file in rounds: after each, some settings get more repetitions.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use quiclab_report::group_key;
use quiclab_testbed::{laboratory::Laboratory, perform::Interrupted};

use super::perform;
use quiclab_pages::results::Results;

use crate::{
    session::{planned::Planned, schedule::Done},
    settings::RunSettings,
};

/// What the rounds of a file have in common.
pub struct Rounds<'a> {
    /// The experiment file.
    pub file: &'a Path,
    pub settings: &'a RunSettings,
    pub laboratory: &'a Laboratory,
    /// Set when the user wants it to end.
    pub stop: &'a AtomicBool,
    /// Repetitions in the first round.
    pub first: u32,
}

impl Rounds<'_> {
    /// Performs rounds until `next` wants no more. `plan` makes the plan with so many repetitions of everything. `next` is given the results so
    /// far, the plan, and how many repetitions settings have that have more than the first ones, by [`group_key`]; it returns how many
    /// settings are to have in all.
    ///
    /// # Errors
    /// A missing program, an interruption, and what `plan` and `next` answer.
    pub fn perform(
        &self,
        plan: impl Fn(u32) -> Result<Planned>,
        mut next: impl FnMut(&Results, &Planned, &BTreeMap<String, u32>) -> Result<Vec<(String, u32)>>,
    ) -> Result<(Results, Done)> {
        let mut all = Done::default();
        let mut more: BTreeMap<String, u32> = BTreeMap::new();
        loop {
            let most = more.values().copied().max().unwrap_or(self.first);
            let mut planned = plan(most)?;
            planned.retain(|run| run.repetition() <= more.get(&group_key(run)).copied().unwrap_or(self.first));
            let (results, done) = perform(self.file, &planned, self.settings, self.laboratory)?;
            all.performed.extend(done.performed);
            // A run that failed is tried again in each round.
            all.failed = done.failed;
            if self.stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            let wanted = next(&results, &planned, &more)?;
            if wanted.is_empty() {
                return Ok((results, all));
            }
            more.extend(wanted);
        }
    }
}
