//! Whether somebody has set the clock by which packets are stamped.
//!
//! `CLOCK_REALTIME` and `CLOCK_MONOTONIC` run alike: what disciplines one of them disciplines the other. Only setting the time, and a leap
//! second, changes the difference between them. An endpoint has no capability for it, so a step is found after it only where the sandbox
//! round endpoints have failed, or where something else on a host has set the clock.

use anyhow::{Result, ensure};
use nix::time::{ClockId, clock_gettime};

/// Bounds between which the difference between the two clocks was, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    least_ns: i128,
    most_ns: i128,
}

/// The shorter of some readings is taken, because others may have been interrupted.
const READINGS: usize = 3;

/// Does `work`, and finds out whether the clock was set meanwhile. `now` reads the difference: [`Difference::now`].
///
/// # Errors
/// Where the clocks cannot be read. The second result is that of [`Difference::check_since`].
pub fn watched<T>(mut now: impl FnMut() -> Result<Difference>, work: impl FnOnce() -> T) -> Result<(T, Result<()>)> {
    let before = now()?;
    let done = work();
    let after = now()?;
    Ok((done, after.check_since(before)))
}

impl Difference {
    /// The difference now.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn now() -> Result<Self> {
        let mut best: Option<Self> = None;
        for _ in 0..READINGS {
            let before = read(ClockId::CLOCK_MONOTONIC)?;
            let real = read(ClockId::CLOCK_REALTIME)?;
            let after = read(ClockId::CLOCK_MONOTONIC)?;
            let found = Self { least_ns: real - after, most_ns: real - before };
            best = Some(best.filter(|best| best.width() <= found.width()).unwrap_or(found));
        }
        best.ok_or_else(|| anyhow::anyhow!("the clocks were not read"))
    }

    /// Makes sure that the clock was not set since `before`.
    ///
    /// # Errors
    /// Where it was, with the least step that explains what was read.
    pub fn check_since(self, before: Self) -> Result<()> {
        let forward_ns = self.least_ns - before.most_ns;
        let backward_ns = before.least_ns - self.most_ns;
        let step_ns = forward_ns.max(backward_ns);
        let direction = if forward_ns > backward_ns { "forward" } else { "back" };
        ensure!(
            step_ns <= 0,
            "the clock that stamps packets (CLOCK_REALTIME) was set {direction} by {step_ns} ns during the run, so times \
             in the capture are wrong\nhint: stop what sets the time on this machine, and run again"
        );
        Ok(())
    }

    fn width(self) -> i128 {
        self.most_ns - self.least_ns
    }
}

fn read(clock: ClockId) -> Result<i128> {
    let time = clock_gettime(clock)?;
    Ok(i128::from(time.tv_sec()) * 1_000_000_000 + i128::from(time.tv_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_nobody_sets_pass() {
        let before = Difference::now().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        Difference::now().unwrap().check_since(before).unwrap();
    }

    #[test]
    fn a_clock_that_is_set_during_the_work_is_found_after_it() {
        let mut differences = [1_000, 5_000].into_iter().map(|at| Difference { least_ns: at, most_ns: at + 100 });
        let mut found = || Ok(differences.next().unwrap());
        let (done, clock) = watched(&mut found, || "done").unwrap();
        assert_eq!(done, "done");
        assert!(clock.unwrap_err().to_string().contains("set forward by 3900 ns"));
        assert!(watched(Difference::now, || ()).unwrap().1.is_ok());
    }

    #[test]
    fn a_step_is_found_when_readings_do_not_overlap() {
        let between = |least_ns, most_ns| Difference { least_ns, most_ns };
        let before = between(1_000, 1_100);
        for same in [between(1_100, 1_200), between(900, 1_000), before] {
            same.check_since(before).unwrap();
        }
        let forward = between(1_101, 1_200).check_since(before).unwrap_err().to_string();
        assert!(forward.contains("set forward by 1 ns"), "{forward}");
        let back = between(0, 990).check_since(before).unwrap_err().to_string();
        assert!(back.contains("set back by 10 ns"), "{back}");
    }
}
