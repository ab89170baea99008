//! A testbed with its stacks: builds them, prepares runs, performs them.

mod outcome;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{AnyRun, id_of_folder, run::Versions, stack::StackManifest};
use quiclab_record::{Records, RunFile, Seen};

use crate::{
    lock::RecordLock,
    perform::{Host, Interrupted, PerformError, Performed},
    quiet::Watch,
    registry::refusal,
    sim::transfers::{HandshakeCosts, HandshakeSeen},
    stack_store::{StackRequest, StackStore},
    testbed::{Built, Manifests, Place, Task, Testbed},
};

use outcome::keep_failure;
pub use outcome::{Attempted, Filled, Outcome};

/// A testbed, and the stacks that it runs.
#[derive(Debug)]
pub struct Laboratory {
    /// Where runs happen.
    pub testbed: Arc<dyn Testbed>,
    /// The stacks and the cache.
    pub stack_store: StackStore,
    rebuilds: Rebuilds,
    /// This machine, for runs in real time.
    watch: Watch,
}

/// What is built again although the cache has it, each once.
#[derive(Debug, Default)]
struct Rebuilds {
    /// Whether anything is.
    asked: bool,
    /// Names of what has been built again.
    done: Mutex<BTreeSet<String>>,
}

/// Variables that replace those of the contract, or come beside them, by role.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The server's.
    pub server: BTreeMap<String, String>,
    /// The client's.
    pub client: BTreeMap<String, String>,
}

/// Where the record of a run goes.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The folder of records.
    pub records: &'a Records,
    /// The record's name in it.
    pub name: &'a str,
    /// Where what is known of a failed run is kept, in a folder of the same name.
    pub failures: &'a Path,
}

/// The right to make the record of a run.
#[derive(Debug)]
struct RunLock {
    id: String,
    _locks: Vec<RecordLock>,
}

impl Laboratory {
    /// Finds the stacks of `testbed`, and the cache. `say` tells people what takes long.
    ///
    /// # Errors
    /// Where there are no stacks, or one's manifest is wrong.
    pub fn open(
        testbed: Arc<dyn Testbed>,
        request: &StackRequest,
        stop: Arc<AtomicBool>,
        say: fn(&str),
    ) -> Result<Self> {
        let stack_store = StackStore::find(&*testbed, request, stop, say)?;
        Ok(Self {
            testbed,
            stack_store,
            rebuilds: Rebuilds { asked: request.rebuild, ..Rebuilds::default() },
            watch: Watch::default(),
        })
    }

    /// `testbed` for runs that need no stacks.
    ///
    /// # Errors
    /// Where there is no place for the cache.
    pub fn without_stacks(testbed: Arc<dyn Testbed>, stop: Arc<AtomicBool>, say: fn(&str)) -> Result<Self> {
        Ok(Self {
            testbed,
            stack_store: StackStore::without_stacks(stop, say)?,
            rebuilds: Rebuilds::default(),
            watch: Watch::default(),
        })
    }

    /// This machine, for worker number `worker`.
    ///
    /// # Errors
    /// As [`Host::of_worker`].
    pub fn host(&self, worker: usize, timeout: Duration) -> Result<Host> {
        Host::of_worker(worker, self.stack_store.stop.clone(), timeout)
    }

    /// Makes what `runs` need, as far as the cache does not have it. A stack that cannot be built is left out, unless none can be:
    /// returns the names of these, and why.
    ///
    /// # Errors
    /// A missing program or package with how to get it, no stack that can be built, or an interruption.
    pub fn prepare(&self, runs: &[AnyRun], timeout: Duration) -> Result<BTreeMap<String, String>> {
        self.testbed.check_machine()?;
        let mut missing = BTreeMap::new();
        let names = stacks_of(runs);
        for name in &names {
            if let Err(error) = self.build(name) {
                missing.insert((*name).clone(), self.skipped(name, error)?);
            }
        }
        if missing.len() == names.len() && !names.is_empty() {
            bail!("no stack could be built");
        }
        for run in runs.iter().filter(|run| !needs_any(run, &missing)) {
            self.prepare_run(run, timeout)?;
        }
        Ok(missing)
    }

    /// Why a stack is left out, which is also told; an interruption remains an error.
    ///
    /// # Errors
    /// The interruption.
    pub fn skipped(&self, name: &str, error: anyhow::Error) -> Result<String> {
        if error.chain().any(|cause| cause.downcast_ref() == Some(&Interrupted::ByRequest)) {
            return Err(error);
        }
        self.stack_store.say(&format!("skipping {name}: {error:#}"));
        Ok(format!("{error:#}"))
    }

    /// Makes what `run` needs besides its stacks, which must be built.
    ///
    /// # Errors
    /// As [`Testbed::prepare`].
    pub fn prepare_run(&self, run: &AnyRun, timeout: Duration) -> Result<()> {
        let manifests = self.manifests(run, &Variables::default())?;
        self.testbed.prepare(&self.stack_store, task(run, &manifests)?, &self.host(0, timeout)?)
    }

    /// The built stack `name`. Where builds are to be made again it is built again the first time, if it is one of the user's own, or if
    /// there are none of these.
    ///
    /// # Errors
    /// As [`Testbed::build`].
    pub fn build(&self, name: &str) -> Result<Built> {
        let is_meant = self.stack_store.own.is_empty() || self.stack_store.is_own(name);
        self.built(name, self.rebuilds.asked && is_meant && self.rebuilds.is_first(name))
    }

    /// The built stack `name`, which was asked for by this name: built again the first time where that is wanted, whatever others there
    /// are.
    ///
    /// # Errors
    /// As [`Testbed::build`].
    pub fn build_named(&self, name: &str) -> Result<Built> {
        self.built(name, self.rebuilds.asked && self.rebuilds.is_first(name))
    }

    fn built(&self, name: &str, again: bool) -> Result<Built> {
        let source = self.stack_store.source(name)?;
        let version = &source.manifest.version;
        if again {
            self.stack_store.say(&format!("rebuilding {name} {version} (up to some minutes)"));
        } else if !self.testbed.is_built(&self.stack_store, source)? {
            self.stack_store.say(&format!("building {name} {version} (once; up to some minutes)"));
        }
        self.testbed.build(&self.stack_store, source, again)
    }

    /// What `run`, which was prepared, is made with.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &AnyRun) -> Result<Versions> {
        self.versions_with(run, &Variables::default())
    }

    /// The same with other variables in the endpoints' environments.
    ///
    /// # Errors
    /// As [`Laboratory::versions`].
    pub fn versions_with(&self, run: &AnyRun, variables: &Variables) -> Result<Versions> {
        self.testbed.versions(task(run, &self.manifests(run, variables)?)?)
    }

    /// Performs `run`, which was prepared, unless its record is there. Waits where another process is making it.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn perform(&self, run: &AnyRun, target: Target, host: &Host) -> Result<Outcome, PerformError> {
        let attempted = self.attempt(run, target, host, true)?;
        Outcome::of(attempted.context("a lock that was waited for")?)
    }

    /// The same, but leaves it to [`Filled::finish_all`] to put the record in its place. Returns `None` where another process is making the
    /// record and `waits` is false.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn attempt(
        &self,
        run: &AnyRun,
        target: Target,
        host: &Host,
        waits: bool,
    ) -> Result<Option<Attempted>, PerformError> {
        self.testbed.take_turn(&self.stack_store, host)?;
        let variables = Variables::default();
        let Some((lock, has_waited)) = self.lock(run, &variables, target, host, waits)? else { return Ok(None) };
        self.perform_locked(run, &variables, target, host, lock, has_waited).map(Some)
    }

    /// Performs `run`, which was prepared, `count` times with other seeds and without records, and hands over what was measured of each. Returns
    /// the CPU seconds of all of them.
    ///
    /// # Errors
    /// As [`Testbed::handshakes`], and where the setting asks for what the testbed lacks.
    pub fn handshakes(
        &self,
        run: &AnyRun,
        count: u64,
        timeout: Duration,
        each: &mut dyn FnMut(HandshakeSeen) -> Result<()>,
    ) -> Result<HandshakeCosts> {
        if let Some(message) = refusal(&*self.testbed, run) {
            bail!("{message}");
        }
        let manifests = self.manifests(run, &Variables::default())?;
        let scratch = self.stack_store.cache.scratch_for_small_files().context("a folder for the endpoints")?;
        self.testbed.handshakes(task(run, &manifests)?, scratch.path(), &self.host(0, timeout)?, count, each)
    }

    /// Performs `run`, which was prepared, with other variables in the endpoints' environments, into a folder of records that has none
    /// of it yet.
    ///
    /// # Errors
    /// See [`PerformError`].
    pub fn perform_with(
        &self,
        run: &AnyRun,
        variables: &Variables,
        records: &Records,
        failures: &Path,
        host: &Host,
    ) -> Result<Performed, PerformError> {
        self.testbed.take_turn(&self.stack_store, host)?;
        let name = run.folder_name(&self.versions_with(run, variables)?);
        let target = Target { records, name: &name, failures };
        let (lock, _) = self.lock(run, variables, target, host, true)?.context("a lock that was waited for")?;
        match Outcome::of(self.perform_locked(run, variables, target, host, lock, false)?)? {
            Outcome::Performed(performed) => Ok(performed),
            Outcome::WasThere => {
                Err(anyhow::anyhow!("{}: found a record, expected none", records.folder().join(&name).display()).into())
            }
        }
    }

    /// The right to make the record of a run, and whether another process had it meanwhile. `None` where one has it and this one
    /// does not want to wait.
    fn lock(
        &self,
        run: &AnyRun,
        variables: &Variables,
        target: Target,
        host: &Host,
        waits: bool,
    ) -> Result<Option<(RunLock, bool)>> {
        let id = run.id(&self.versions_with(run, variables)?);
        let folder = target.records.folder();
        let mut has_waited = false;
        let mut locks = Vec::new();
        // A name that does not end with the identity is one more thing that two processes could write to.
        let is_of_run = id_of_folder(target.name) == Some(id.as_str());
        for name in [Some(target.name).filter(|_| !is_of_run), Some(id.as_str())].into_iter().flatten() {
            locks.push(match RecordLock::try_take(folder, name)? {
                Some(lock) => lock,
                None if !waits => return Ok(None),
                None => {
                    has_waited = true;
                    RecordLock::take(folder, name, &host.stop)?
                }
            });
        }
        Ok(Some((RunLock { id, _locks: locks }, has_waited)))
    }

    /// Performs a run for who holds the lock. `has_waited`: another process had the lock before.
    fn perform_locked(
        &self,
        run: &AnyRun,
        variables: &Variables,
        target: Target,
        host: &Host,
        lock: RunLock,
        has_waited: bool,
    ) -> Result<Attempted, PerformError> {
        let Target { records, name, failures } = target;
        if records.contains(name) {
            match records.load(name) {
                Ok(_) => return Ok(Attempted::WasThere),
                Err(error) if error.is_damage() => {
                    let kept = records.set_aside(name).map_err(anyhow::Error::from)?;
                    self.stack_store.say(&format!(
                        "{}\n    the record is damaged: it was moved to {}, and its run is performed again",
                        error.brief(),
                        kept.display()
                    ));
                }
                // It may be whole, so it stays where it is.
                Err(error) => return Err(anyhow::Error::from(error).into()),
            }
        }
        if has_waited && let Some(theirs) = records.by_id()?.get(&lock.id) {
            records.adopt(name, records, theirs)?;
            return Ok(Attempted::WasThere);
        }
        let start = Instant::now();
        let manifests = self.manifests(run, variables)?;
        let task = task(run, &manifests)?;
        let run_file = RunFile::of(run, &self.testbed.versions(task)?);
        let begin = || records.begin(name).map_err(anyhow::Error::from);
        let (work, draft) = (begin()?, begin()?);
        let place = Place { draft: draft.folder(), work: work.folder() };
        let checked = self.testbed.runs_here_in_real_time().then(|| {
            self.watch.wait_for_quiet(host.wait_for_quiet, &host.stop, &|message| self.stack_store.say(message))
        });
        if host.stop.load(Ordering::Relaxed) {
            return Err(anyhow::Error::from(Interrupted::ByRequest).into());
        }
        let mut attempt = self.testbed.perform(task, place, host)?;
        if let Some(checked) = checked {
            let machine = self.watch.finish(checked);
            if let Some(Seen::Transfer(observed)) = &mut attempt.seen {
                observed.machine = Some(machine);
            }
        }
        drop(work);
        if let Some(failure) = attempt.failure {
            let kept = keep_failure(target, &draft, &run_file, attempt.seen.as_ref(), &failure);
            return Err(PerformError::Run { failure, kept: Some(kept.map_err(anyhow::Error::from)?) });
        }
        let seen = attempt.seen.context("the testbed says nothing of a run that did not fail")?;
        let measured = draft.fill(&run_file, &seen).map_err(anyhow::Error::from)?;
        Ok(Attempted::Filled(Box::new(Filled {
            draft,
            kept: failures.join(name),
            measured,
            host_use: attempt.host_use,
            elapsed: start.elapsed(),
            _lock: lock,
        })))
    }

    /// What the stacks of a run say of themselves: the server's, the client's; none of a run without stacks.
    fn manifests(&self, run: &AnyRun, variables: &Variables) -> Result<Vec<StackManifest>> {
        let manifest = |(name, variables): (&String, &BTreeMap<String, String>)| -> Result<StackManifest> {
            let mut manifest = self.stack_store.source(name)?.manifest.clone();
            manifest.guest.environment.extend(variables.clone());
            Ok(manifest)
        };
        run.stacks().into_iter().zip([&variables.server, &variables.client]).map(manifest).collect()
    }
}

/// A run with the manifests of its stacks.
fn task<'a>(run: &'a AnyRun, manifests: &'a [StackManifest]) -> Result<Task<'a>> {
    match (run, manifests) {
        (AnyRun::Transfer(run), [server, client]) => Ok(Task::Transfer(run, Manifests { server, client })),
        (AnyRun::Transfer(_), other) => {
            bail!("found {} manifests, expected the server's and the client's", other.len())
        }
        (AnyRun::Models(run), _) => Ok(Task::Models(run)),
    }
}

impl Rebuilds {
    /// True where `name` was not built again yet; it counts as built then.
    fn is_first(&self, name: &str) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
    }
}

/// Names of the stacks that runs need.
pub fn stacks_of(runs: &[AnyRun]) -> BTreeSet<&String> {
    runs.iter().flat_map(AnyRun::stacks).collect()
}

/// True where a run needs one of these stacks.
pub fn needs_any<T>(run: &AnyRun, stacks: &BTreeMap<String, T>) -> bool {
    run.stacks().into_iter().any(|name| stacks.contains_key(name))
}
