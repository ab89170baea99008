//! How late this machine wakes a thread: the measure for tests of real time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// What the thread that is watched sleeps each time.
const SLEEP: Duration = Duration::from_millis(1);
/// Sleeps of [`wake_delay`].
const SLEEPS: usize = 50;

/// How much later than asked for this machine wakes a thread right now: the most of fifty sleeps of a millisecond.
pub fn wake_delay() -> Duration {
    (0..SLEEPS).map(|_| delay()).max().unwrap_or_default()
}

fn delay() -> Duration {
    let start = Instant::now();
    thread::sleep(SLEEP);
    start.elapsed().saturating_sub(SLEEP)
}

/// A thread that sleeps a millisecond again and again beside what is measured, and remembers how late it was woken.
pub struct Wakings {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

impl Wakings {
    /// Starts the thread.
    #[must_use]
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut delays = vec![delay()];
            while !stopped.load(Ordering::Relaxed) {
                delays.push(delay());
            }
            delays.sort_unstable();
            delays
        });
        Self { stop, thread }
    }

    /// Ends the thread, and gives its delays from the least to the most, of which there is one at least.
    ///
    /// # Panics
    /// Where the thread did, which it never does.
    #[must_use]
    pub fn delays(self) -> Vec<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("sleeping does not panic")
    }

    /// Ends the thread, and gives the most of its delays.
    #[must_use]
    pub fn latest(self) -> Duration {
        self.delays().pop().unwrap_or_default()
    }
}
