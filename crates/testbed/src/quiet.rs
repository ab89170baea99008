//! Whether this machine is quiet enough for a run in real time.
//!
//! A window of time is looked at, not a moment: what other processes used of the CPUs, what the host of a virtual machine took, whether tasks
//! waited, whether CPUs were throttled. Between two runs the time in which the record of the first is measured and written serves as the window,
//! without this process's own share, so that a check costs nothing on a quiet machine. docs/concepts/noise.md says what counts as quiet.

mod counters;
mod facts;
mod judge;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use quiclab_record::{MachineSeen, MachineWindow};

use counters::Counters;

/// The shortest time that is looked at. Kernels count CPU time in steps of 10 ms.
const WINDOW: Duration = Duration::from_millis(100);
/// The longest: what was before says little of now.
const LONGEST_WINDOW: Duration = Duration::from_secs(2);

/// Watches this machine from run to run.
#[derive(Debug)]
pub struct Watch {
    /// Where `proc` and `sys` are.
    root: PathBuf,
    /// CPU time of this process.
    own: fn() -> quiclab_units::Duration,
    /// The end of the last run.
    last: Mutex<Option<Counters>>,
}

/// A check that is over, and the counters at its end.
#[derive(Debug)]
pub struct Checked {
    seen: MachineSeen,
    end: Counters,
}

impl Default for Watch {
    fn default() -> Self {
        Self::of(Path::new("/"), counters::own)
    }
}

impl Watch {
    /// Makes the watch of a machine whose `proc` and `sys` are in this folder; `own` says how much CPU time this process used on it.
    fn of(root: &Path, own: fn() -> quiclab_units::Duration) -> Self {
        Self { root: root.to_path_buf(), own, last: Mutex::new(None) }
    }

    /// Looks whether the machine is quiet. Waits for it up to `longest_wait`, or until `stop` is set; `say` is called once where it has to wait.
    pub fn wait_for_quiet(&self, longest_wait: Duration, stop: &AtomicBool, say: &dyn Fn(&str)) -> Checked {
        let start = Instant::now();
        let marked = self.lock().take().filter(|mark| mark.taken.elapsed() <= LONGEST_WINDOW);
        let mut window = marked.map(|mark| self.window_from(mark));
        let mut has_said = false;
        loop {
            let is_fresh = window.is_none();
            let (seen, end) =
                window.take().unwrap_or_else(|| self.window_from(Counters::read(&self.root, (self.own)())));
            let hottest = facts::hottest(&self.root);
            let not_quiet = judge::reasons(&seen, hottest.as_ref());
            let waited = start.elapsed();
            // The first window may have work of this process in it: only one without speaks against the machine.
            let is_over = is_fresh && (waited >= longest_wait || stop.load(Ordering::Relaxed));
            if not_quiet.is_empty() || is_over {
                let is_quiet = not_quiet.is_empty();
                let seen = MachineSeen {
                    started_unix_ms: unix_ms(),
                    not_quiet,
                    waited: if is_quiet && !has_said { Default::default() } else { units(waited) },
                    longest_wait: units(longest_wait),
                    load_1_minute: facts::load(&self.root),
                    before: seen,
                    during: None,
                    frequency: facts::frequency(&self.root),
                    hottest,
                };
                return Checked { seen, end };
            }
            if is_fresh && !has_said {
                has_said = true;
                say(&format!(
                    "waiting up to {:.0} s for a quiet machine: {}",
                    longest_wait.as_secs_f64(),
                    not_quiet.join("; ")
                ));
            }
        }
    }

    /// What was seen of the machine around the run that the check was for, which is over now.
    pub fn finish(&self, checked: Checked) -> MachineSeen {
        let Checked { seen, end } = checked;
        let now = Counters::read(&self.root, (self.own)());
        // What others did cannot be told from what the run's own processes did.
        let during = MachineWindow { others: None, waiting: None, ..now.since(&end) };
        *self.lock() = Some(now);
        MachineSeen { during: Some(during), ..seen }
    }

    /// The time from `start` to now, or somewhat later if it is too short.
    fn window_from(&self, start: Counters) -> (MachineWindow, Counters) {
        thread::sleep(WINDOW.saturating_sub(start.taken.elapsed()));
        let end = Counters::read(&self.root, (self.own)());
        (end.since(&start), end)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Counters>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

fn units(time: Duration) -> quiclab_units::Duration {
    quiclab_units::Duration::from_nanos(time.as_nanos() as u64)
}
