//! Jobs for the workers, as soon as their stacks are there: what needs no compiling is run while the rest is being built.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Result, bail};
use quiclab_experiment::{AnyRun, id_of_folder};
use quiclab_pages::results::{Results, order::Order};
use quiclab_record::Records;
use quiclab_testbed::{
    laboratory::{Laboratory, stacks_of},
    lock::RecordLock,
};

use crate::{
    session::{
        planned::Planned,
        schedule::{Feed, Job},
    },
    terminal::progress,
};

/// Most stacks that are compiled at the same time.
const AT_ONCE: usize = 2;

/// Finds out what is to be run, stack by stack.
pub struct Supply<'a> {
    plan: &'a Planned,
    laboratory: &'a Laboratory,
    results: &'a Results,
    /// The records of the experiments beside this one, by identity.
    others: Vec<(BTreeMap<String, String>, Records)>,
    timeout: Duration,
    /// When each run in real time is performed, by its place in the plan. Then nothing is performed while stacks are being built.
    places: Option<Vec<usize>>,
    state: Mutex<State>,
}

/// What is known so far.
#[derive(Default)]
struct State {
    built: BTreeSet<String>,
    missing: BTreeMap<String, String>,
    /// The name of each run's record, by the run's place in the plan.
    records: BTreeMap<usize, String>,
    /// Runs that have a record here.
    there: usize,
    /// Runs that have a record in another experiment's folder.
    adopted: usize,
}

/// What is known at the end.
pub struct Ready {
    /// Names of the records of all runs whose stacks are there, in the order of the plan.
    pub records: Vec<String>,
    /// The stacks that could not be built, and why.
    pub missing: BTreeMap<String, String>,
}

impl<'a> Supply<'a> {
    /// Makes the supply of the runs of `plan`. Where the folder of results is one of several experiments' (`is_shared`), what the others
    /// have performed already is taken over.
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn new(
        plan: &'a Planned,
        laboratory: &'a Laboratory,
        results: &'a Results,
        is_shared: bool,
        timeout: Duration,
    ) -> Result<Self> {
        let others = if is_shared { others(results)? } else { Vec::new() };
        Ok(Self { plan, laboratory, results, others, timeout, places: None, state: Mutex::default() })
    }

    /// The same, whose runs are performed in this order, and only when all stacks are built: in real time a build beside a run would be measured.
    pub fn ordered(self, order: Option<Order>) -> Self {
        Self { places: order.map(|order| order.places(&self.plan.runs)), ..self }
    }

    /// Builds what is not built yet and feeds the runs to the workers, those first whose stacks are there.
    ///
    /// # Errors
    /// A missing program, no stack that can be built, an interruption.
    pub fn supply(&self, feed: &Feed) -> Result<Ready> {
        self.laboratory.testbed.check_machine()?;
        feed.expect(self.plan.runs.len());
        if self.plan.kind == AnyRun::MODELS {
            feed.be_brief();
        }
        let names = stacks_of(&self.plan.runs);
        let needs_stacks = !names.is_empty();
        let (mut there, mut quick, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let source = self.laboratory.stack_store.source(name)?;
            let is_built = self.laboratory.testbed.is_built(&self.laboratory.stack_store, source)?;
            match is_built {
                true => there.push(name),
                // It needs no toolchain: its packages come from Debian.
                false if source.manifest.build.host_tools.is_empty() => quick.push(name),
                false => slow.push(name),
            }
        }
        self.build(&there, feed, false)?;
        if !quick.is_empty() || !slow.is_empty() {
            self.build_side_by_side(&quick, &slow, feed)?;
        }
        if self.places.is_some() {
            self.feed_ready(feed)?;
        }
        let mut state = self.lock();
        if state.built.is_empty() && needs_stacks {
            bail!("no stack could be built");
        }
        let all = state.records.len();
        if state.there > 0 {
            progress::say(&format!("{} of {all} runs have a record already", state.there));
        }
        if state.adopted > 0 {
            progress::say(&format!("{} runs have a record in an experiment beside this one", state.adopted));
        }
        feed.expect(all - state.there - state.adopted);
        let State { records, missing, .. } = std::mem::take(&mut *state);
        Ok(Ready { records: records.into_values().collect(), missing })
    }

    /// Builds the stacks that need no compiling, those that do, and the kernels, at the same time.
    fn build_side_by_side(&self, quick: &[&String], slow: &[&String], feed: &Feed) -> Result<()> {
        let Laboratory { testbed, stack_store, .. } = self.laboratory;
        let broke_down = |_| Err(anyhow::anyhow!("building stacks broke down"));
        // The last part of most builds occupies one core only, so two share the machine better than one.
        let next = Mutex::new(slow.iter());
        let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
        let compile = || std::iter::from_fn(take).try_for_each(|name| self.build(&[name], feed, true));
        thread::scope(|scope| {
            let early = |run: &AnyRun| match run {
                AnyRun::Transfer(run) => testbed.prepare_early(stack_store, run),
                AnyRun::Models(_) => Ok(()),
            };
            let kernels = scope.spawn(move || self.plan.runs.iter().try_for_each(early));
            let compiling: Vec<_> = (0..AT_ONCE.min(slow.len())).map(|_| scope.spawn(compile)).collect();
            let quick = self.build(quick, feed, true);
            let kernels = kernels.join().unwrap_or_else(broke_down);
            let join = |thread: thread::ScopedJoinHandle<'_, Result<()>>| thread.join().unwrap_or_else(broke_down);
            compiling.into_iter().map(join).fold(quick.and(kernels), Result::and)
        })
    }

    /// Builds stacks, and feeds the runs that become ready by it: after each stack, or at the end.
    fn build(&self, names: &[&String], feed: &Feed, one_by_one: bool) -> Result<()> {
        for name in names {
            match self.laboratory.build(name) {
                Ok(_) => {
                    self.lock().built.insert((*name).clone());
                }
                Err(error) => {
                    let why = self.laboratory.skipped(name, error)?;
                    self.lock().missing.insert((*name).clone(), why);
                }
            }
            if one_by_one && self.places.is_none() {
                self.feed_ready(feed)?;
            }
        }
        if one_by_one || self.places.is_some() { Ok(()) } else { self.feed_ready(feed) }
    }

    /// Feeds the runs whose stacks are there and that were not fed yet, once all of them are prepared: what one of them lacks is found before
    /// any is performed.
    fn feed_ready(&self, feed: &Feed) -> Result<()> {
        let by_id = self.results.records.by_id()?;
        // Held all the time: two threads build, one at a time prepares.
        let mut state = self.lock();
        let mut jobs = Vec::new();
        for (place, run) in self.plan.runs.iter().enumerate() {
            let is_built = run.stacks().into_iter().all(|name| state.built.contains(name));
            if !is_built || state.records.contains_key(&place) {
                continue;
            }
            self.laboratory.prepare_run(run, self.timeout)?;
            let name = run.folder_name(&self.laboratory.versions(run)?);
            let (name, is_there) = self.results.find_in(&by_id, &name)?;
            state.records.insert(place, name.clone());
            if is_there {
                state.there += 1;
                self.results.forget_failure(&name)?;
            } else if self.adopt(&name)? {
                state.adopted += 1;
            } else {
                jobs.push((place, Job { run: run.clone(), name, label: self.plan.labels[place].clone() }));
            }
        }
        let when = |place: usize| self.places.as_ref().map_or(place, |places| places[place]);
        let mut jobs: Vec<_> = jobs.into_iter().map(|(place, job)| (when(place), job)).collect();
        // A worker takes what is there, so the first one has to come first.
        jobs.sort_by_key(|(place, _)| *place);
        jobs.into_iter().for_each(|(place, job)| feed.push(place, job));
        Ok(())
    }

    /// Takes over the record from an experiment beside this one, if one has performed the same run.
    fn adopt(&self, name: &str) -> Result<bool> {
        let id = id_of_folder(name).unwrap_or(name);
        let Some((theirs, other)) = self.others.iter().find_map(|(by_id, other)| Some((by_id.get(id)?, other))) else {
            return Ok(false);
        };
        // Where another process is at work on it, it is waited for like any other.
        let Some(_lock) = RecordLock::try_take(self.results.records.folder(), name)? else { return Ok(false) };
        if self.results.records.contains(name) {
            // Another process has made it meanwhile, or it is damaged: whoever gets the job finds out.
            return Ok(false);
        }
        match self.results.records.adopt(name, other, theirs) {
            Ok(_) => Ok(true),
            Err(error) if error.is_damage() => {
                progress::say(&format!("not using a damaged record of another experiment: {}", error.brief()));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records of the experiments beside this one.
fn others(results: &Results) -> Result<Vec<(BTreeMap<String, String>, Records)>> {
    let folder = results.records.folder();
    let is_other = |path: &PathBuf| path.is_dir() && path.file_name() != folder.file_name();
    let entries = folder.parent().map(fs::read_dir).into_iter().flatten().flatten().flatten();
    let mut others: Vec<_> = entries.map(|entry| entry.path()).filter(is_other).collect();
    others.sort();
    let open = |path: PathBuf| {
        let records = Records::open(&path)?;
        Ok((records.by_id()?, records))
    };
    others.into_iter().map(open).collect()
}
