//! Counters of the kernel that tell how busy a machine is.

use std::{fs, path::Path, time::Instant};

use nix::sys::resource::{UsageWho, getrusage};
use quiclab_record::MachineWindow;
use quiclab_units::Duration;

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    /// When they were read.
    pub(super) taken: Instant,
    cpus: u32,
    times: Option<Times>,
    /// CPU time of this process.
    own: Duration,
    waiting: Option<Duration>,
    throttles: Option<u64>,
}

/// CPU times of `/proc/stat`, summed over all CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    /// Time in user mode, in the kernel, and in interrupts.
    busy: Duration,
    steal: Duration,
}

impl Counters {
    /// Reads those below `root`; `own` is the CPU time of this process so far.
    pub(super) fn read(root: &Path, own: Duration) -> Self {
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let stat = text("proc/stat").unwrap_or_default();
        Self {
            cpus: stat.lines().filter(|line| is_of_one_cpu(line)).count() as u32,
            times: times(&stat),
            own,
            waiting: text("proc/pressure/cpu").as_deref().and_then(waiting),
            throttles: throttles(root),
            taken: Instant::now(),
        }
    }

    /// The time from `earlier` to these.
    pub(super) fn since(&self, earlier: &Self) -> MachineWindow {
        let own = less(self.own, earlier.own);
        let both = self.times.zip(earlier.times);
        MachineWindow {
            length: Duration::from_nanos((self.taken - earlier.taken).as_nanos() as u64),
            cpus: self.cpus,
            others: both.map(|(now, then)| less(less(now.busy, then.busy), own)),
            steal: both.map(|(now, then)| less(now.steal, then.steal)),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| less(now, then)),
            throttles: self.throttles.zip(earlier.throttles).map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Counters of CPUs that were taken offline can go back.
fn less(now: Duration, then: Duration) -> Duration {
    Duration::from_nanos(now.as_nanos().saturating_sub(then.as_nanos()))
}

fn is_of_one_cpu(line: &str) -> bool {
    line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// The line of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)). Time as a guest's host is in user and nice.
fn times(stat: &str) -> Option<Times> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else { return None };
    // SAFETY: it takes and gives plain numbers.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|rate| *rate > 0)?;
    let time = |ticks: u64| Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / per_second));
    Some(Times { busy: time(user + nice + system + irq + softirq), steal: time(steal) })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, in microseconds.
fn waiting(pressure: &str) -> Option<Duration> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(Duration::from_nanos(total.parse::<u64>().ok()?.checked_mul(1000)?))
}

/// Sum over all CPUs of how often they were throttled; `None` where no CPU counts it.
fn throttles(root: &Path) -> Option<u64> {
    let pattern = root.join("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count");
    let files = glob::glob(&pattern.to_string_lossy()).ok()?.flatten();
    let counts = files.filter_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    counts.fold(None, |sum, count| Some(sum.unwrap_or(0) + count))
}

/// CPU time of this process and all its threads.
pub(super) fn own() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let nanos = |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    Duration::from_nanos(nanos(usage.user_time()) + nanos(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_but_idle_waiting_for_disks_and_steal() {
        let times = times("cpu  1 2 3 1000 2000 4 5 7 0 0\ncpu0 1 2 3 1000 2000 4 5 7 0 0\n").unwrap();
        // Ticks of 10 ms.
        assert_eq!(times, Times { busy: Duration::from_millis(150), steal: Duration::from_millis(70) });
        assert_eq!(super::times("cpu  1 2 3\n"), None);
        assert_eq!(super::times("intr 5\n"), None);
    }

    #[test]
    fn the_time_that_tasks_waited_is_in_microseconds() {
        let text =
            "some avg10=97.88 avg60=98.08 avg300=78.84 total=42637\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(waiting(text), Some(Duration::from_nanos(42_637_000)));
        assert_eq!(waiting("full total=1\n"), None);
    }
}
