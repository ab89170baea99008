//! Records of short runs, put in their places together: a sync of the disk takes longer than a short simulation.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use quiclab_testbed::laboratory::Filled;

use super::Job;

/// No record waits longer than about this. Longer runs are not worth a batch.
pub const LONGEST_WAIT: Duration = Duration::from_millis(200);
/// Each holds a lock, which is an open file.
const MOST_WAITING: usize = 200;

/// Runs that went well and whose records wait to be put in their places.
#[derive(Debug, Default)]
pub struct Batch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<(Job, Filled)>,
    is_over: bool,
}

impl Batch {
    /// Adds one. Returns all that wait where these are so many that the caller has to see to them.
    pub fn add(&self, job: Job, filled: Filled) -> Vec<(Job, Filled)> {
        let mut state = self.lock();
        state.waiting.push((job, filled));
        if state.waiting.len() < MOST_WAITING { Vec::new() } else { mem::take(&mut state.waiting) }
    }

    /// Waits for some time and returns those that wait then; `None` where no more will come and none is left.
    pub fn next(&self) -> Option<Vec<(Job, Filled)>> {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, LONGEST_WAIT, |state| !state.is_over);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let waiting = mem::take(&mut state.waiting);
        if waiting.is_empty() && state.is_over { None } else { Some(waiting) }
    }

    /// No more will come.
    pub fn close(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
