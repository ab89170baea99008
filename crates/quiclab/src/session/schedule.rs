//! Performs many runs, some side by side. A run that fails does not stop the others.

mod batch;
mod queue;

use std::{
    fs,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use quiclab_experiment::AnyRun;
use quiclab_pages::results::Results;
use quiclab_record::{Measured, layout::FAILURE_FILE};
use quiclab_testbed::{
    laboratory::{Attempted, Filled, Laboratory, Target},
    perform::{Host, PerformError, Performed},
};
use serde::Serialize;

use crate::{session::signals, terminal::progress::Progress};
use batch::{Batch, LONGEST_WAIT};
use queue::{Queue, Taken};

/// A run to be performed, and the name of its record.
#[derive(Clone, Debug)]
pub struct Job {
    /// The run.
    pub run: AnyRun,
    /// Name of its record.
    pub name: String,
    /// The run in a few words.
    pub label: String,
}

/// What became of the jobs that were started.
#[derive(Debug, Default)]
pub struct Done {
    /// Those that left a record, in the order in which they ended.
    pub performed: Vec<Cost>,
    /// Number of those that failed.
    pub failed: usize,
}

/// What a run cost this machine. Not part of its record, which is the same everywhere.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Name of the record.
    pub record: String,
    /// CPU time of its processes, user and system, in seconds.
    pub cpu_seconds: f64,
    /// Largest resident memory of its processes in bytes.
    pub resident_bytes: u64,
    /// Time from start to end, in seconds of this machine's clock.
    pub elapsed_seconds: f64,
}

/// What to tell people of a run that left a record, before what it cost.
pub type Tell<'a> = &'a (dyn Fn(&Job, &Performed) -> String + Sync);

/// Performs the jobs that `feed` adds to the queue, one at a time on each of `hosts`, until all are done or a host is told to stop. Jobs
/// are performed while `feed` is still preparing others. Also gives what `feed` returns.
///
/// # Errors
/// Those of `feed`; runs that have begun are finished.
pub fn perform_all<T>(
    laboratory: &Laboratory,
    hosts: &[Host],
    results: &Results,
    tell: Tell,
    feed: impl FnOnce(&Feed) -> Result<T>,
) -> Result<(Done, T)> {
    let queue = Queue::default();
    let progress = Progress::new(0, hosts.len());
    let (batch, done) = (Batch::default(), Mutex::new(Done::default()));
    let workers =
        &Workers { laboratory, results, tell, queue: &queue, batch: &batch, progress: &progress, done: &done };
    let fed = thread::scope(|scope| {
        scope.spawn(|| {
            while let Some(filled) = batch.next() {
                workers.finish(filled);
            }
        });
        // Even where a worker panics.
        let _close = CloseBatch(&batch);
        thread::scope(|scope| {
            for host in hosts {
                scope.spawn(move || {
                    while let Some(taken) = workers.queue.take(&host.stop) {
                        if !workers.perform(taken, host) {
                            return;
                        }
                    }
                });
            }
            // However it ends, the workers must not wait for more.
            let _close = Close(&queue);
            let fed = feed(&Feed { queue: &queue, progress: &progress });
            if fed.is_err() {
                queue.clear();
            }
            fed
        })
    });
    progress.finish();
    Ok((done.into_inner().unwrap_or_else(PoisonError::into_inner), fed?))
}

/// Where jobs are added.
pub struct Feed<'a> {
    queue: &'a Queue,
    progress: &'a Progress,
}

impl Feed<'_> {
    /// Adds a job, by its place in the plan.
    pub fn push(&self, place: usize, job: Job) {
        self.queue.push(place, job);
    }

    /// The runs are many and short: progress shows how many are done, and failures, but no line for each.
    pub fn be_brief(&self) {
        self.progress.be_brief();
    }

    /// Says how many jobs there will be in all.
    pub fn expect(&self, total: usize) {
        self.progress.expect(total);
    }
}

struct Close<'a>(&'a Queue);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct CloseBatch<'a>(&'a Batch);

impl Drop for CloseBatch<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What all workers share.
struct Workers<'a> {
    laboratory: &'a Laboratory,
    results: &'a Results,
    tell: Tell<'a>,
    queue: &'a Queue,
    batch: &'a Batch,
    progress: &'a Progress,
    done: &'a Mutex<Done>,
}

impl Workers<'_> {
    /// Performs a job; false after an interruption.
    fn perform(&self, taken: Taken, host: &Host) -> bool {
        let Taken { job, waits, .. } = &taken;
        let failures = self.results.failures();
        let target = Target { records: &self.results.records, name: &job.name, failures: &failures };
        self.progress.on_start(&job.label);
        let start = Instant::now();
        match self.laboratory.attempt(&job.run, target, host, *waits) {
            // A short one waits for others, so that they reach the disk together.
            Ok(Some(Attempted::Filled(filled))) => {
                let together = if filled.elapsed() < LONGEST_WAIT {
                    self.batch.add(taken.job, *filled)
                } else {
                    vec![(taken.job, *filled)]
                };
                self.finish(together);
            }
            Ok(Some(Attempted::WasThere)) => {
                self.progress.on_end(&job.label, start.elapsed(), "performed by another process");
            }
            Ok(None) => {
                self.progress.on_put_back(&job.label);
                self.queue.put_back(taken);
            }
            Err(PerformError::Testbed(error)) if signals::is_interruption(&error) => return false,
            Err(error) => self.fail(job, start.elapsed(), &error),
        }
        true
    }

    /// Puts records in their places.
    fn finish(&self, mut filled: Vec<(Job, Filled)>) {
        let many = match filled.pop() {
            None => return,
            Some((job, one)) if filled.is_empty() => {
                let elapsed = one.elapsed();
                match one.finish() {
                    Ok(performed) => self.succeed(&job, &performed),
                    Err(error) => self.fail(&job, elapsed, &error.into()),
                }
                return;
            }
            Some(last) => {
                filled.push(last);
                filled
            }
        };
        let (jobs, many): (Vec<_>, Vec<_>) = many.into_iter().unzip();
        for (job, finished) in jobs.iter().zip(Filled::finish_all(many)) {
            match finished {
                Ok(performed) => self.succeed(job, &performed),
                Err(error) => self.fail(job, Duration::ZERO, &error.into()),
            }
        }
    }

    fn succeed(&self, job: &Job, performed: &Performed) {
        let what = format!("{} {}", (self.tell)(job, performed), describe_cost(performed));
        self.progress.on_end(&job.label, performed.elapsed, &what);
        self.done().performed.push(cost(&job.name, performed));
    }

    fn fail(&self, job: &Job, elapsed: Duration, error: &PerformError) {
        let kept = keep(error, &self.results.failures().join(&job.name));
        self.progress.on_failure(&job.label, elapsed, &format!("FAILED: {error}{kept}"));
        self.done().failed += 1;
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its goodput and how many warnings there are, in a few words.
pub fn tell_goodput(performed: &Performed) -> String {
    let (goodput, place) = match &performed.measured {
        Measured::Transfer(measured) => match measured.metrics.goodput_wire_bps {
            None => (measured.metrics.goodput_process_bps, "by the client's lifetime"),
            wire => (wire, "on the wire"),
        },
        Measured::Models(measured) => (measured.metrics.get("goodput_bps").copied().flatten(), "of all flows"),
    };
    let goodput = goodput.map_or_else(|| "no goodput".to_owned(), |bps| format!("{:.2} Mbit/s {place}", bps / 1e6));
    match performed.measured.warnings().len() {
        0 => goodput,
        1 => format!("{goodput}, 1 warning"),
        count => format!("{goodput}, {count} warnings"),
    }
}

fn describe_cost(performed: &Performed) -> String {
    format!("({:.1} CPU s, {:.1} s)", performed.host_use.cpu_seconds, performed.elapsed.as_secs_f64())
}

/// What the run with the record `name` cost.
pub fn cost(name: &str, performed: &Performed) -> Cost {
    Cost {
        record: name.to_owned(),
        cpu_seconds: performed.host_use.cpu_seconds,
        resident_bytes: performed.host_use.resident_bytes,
        elapsed_seconds: performed.elapsed.as_secs_f64(),
    }
}

/// Where to look for more. A failure of the testbed leaves its message there, so that the report can show it.
fn keep(error: &PerformError, folder: &Path) -> String {
    match error {
        PerformError::Run { kept, .. } => {
            kept.as_ref().map_or_else(String::new, |kept| format!("\n    more in {}", kept.display()))
        }
        PerformError::Testbed(error) => {
            // On a full disk this fails as well; the message has been printed.
            let _ =
                fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(FAILURE_FILE), format!("{error:#}\n")));
            String::new()
        }
    }
}
