//! Jobs on their way to the workers: they come while others are performed already.

use std::{
    collections::BTreeMap,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::Job;

/// How often a worker that has nothing to do looks whether it is to stop.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Jobs that no worker has taken yet.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Jobs by their place in the plan, so that what becomes ready late does not have to wait behind all others.
    ready: BTreeMap<usize, Job>,
    /// Those whose record another process was making.
    busy: BTreeMap<usize, Job>,
    is_closed: bool,
}

/// A job for a worker.
pub struct Taken {
    /// Its place in the plan.
    pub place: usize,
    /// What is to be done.
    pub job: Job,
    /// True where there is nothing better to do than to wait for another process that is making its record.
    pub waits: bool,
}

impl Queue {
    /// Adds a job, by its place in the plan.
    pub fn push(&self, place: usize, job: Job) {
        self.lock().ready.insert(place, job);
        self.changed.notify_one();
    }

    /// Puts a job back whose record another process is making: it is taken again when there is nothing else to do.
    pub fn put_back(&self, taken: Taken) {
        self.lock().busy.insert(taken.place, taken.job);
    }

    /// Removes all jobs that no worker has taken.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.ready.clear();
        state.busy.clear();
    }

    /// No more jobs will come.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// The next job. Waits for one; `None` where there are no more, or `stop` is set.
    pub fn take(&self, stop: &AtomicBool) -> Option<Taken> {
        let mut state = self.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some((place, job)) = state.ready.pop_first() {
                return Some(Taken { place, job, waits: false });
            }
            if state.is_closed {
                let (place, job) = state.busy.pop_first()?;
                return Some(Taken { place, job, waits: true });
            }
            state = self.changed.wait_timeout(state, BETWEEN_LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use quiclab_experiment::{AnyRun, Experiment, Overrides};

    use super::*;

    fn run() -> AnyRun {
        let stacks = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
        let sources = quiclab_testbed::stack::sources(&stacks).unwrap();
        let manifests = sources.into_iter().map(|(name, source)| (name, source.manifest)).collect();
        let text = "name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"ngtcp2\"\n";
        let plan = Experiment::parse("x.toml", text, None).unwrap().plan(&manifests, &Overrides::default()).unwrap();
        plan.runs[0].clone().into()
    }

    fn job(name: &str) -> Job {
        Job { run: run(), name: name.to_owned(), label: name.to_owned() }
    }

    #[test]
    fn jobs_are_taken_in_the_order_of_the_plan_and_busy_ones_last() {
        let (queue, stop) = (Queue::default(), AtomicBool::new(false));
        for (place, name) in [(3, "d"), (1, "b"), (0, "a")] {
            queue.push(place, job(name));
        }
        let first = queue.take(&stop).unwrap();
        assert_eq!((first.job.name.as_str(), first.waits), ("a", false));
        queue.put_back(first);
        queue.push(2, job("c"));
        queue.close();
        let names: Vec<_> =
            std::iter::from_fn(|| queue.take(&stop)).map(|taken| (taken.job.name, taken.waits)).collect();
        assert_eq!(names, [("b", false), ("c", false), ("d", false), ("a", true)].map(|(n, w)| (n.to_owned(), w)));
    }

    #[test]
    fn a_worker_waits_for_a_job_and_ends_when_it_is_told_to() {
        let (queue, stop) = (Queue::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            let worker = scope.spawn(|| queue.take(&stop).map(|taken| taken.job.name));
            thread::sleep(Duration::from_millis(20));
            queue.push(0, job("late"));
            assert_eq!(worker.join().unwrap().as_deref(), Some("late"));
            let worker = scope.spawn(|| queue.take(&stop).is_none());
            stop.store(true, Ordering::Relaxed);
            assert!(worker.join().unwrap());
        });
    }
}
