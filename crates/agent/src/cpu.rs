//! CPU time: of the whole machine, or of the endpoints alone.
//!
//! In a virtual machine nothing else runs, and what the kernel does on behalf of the network counts too. On a host with other
//! work only the endpoints' own time says anything about the run.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, ensure};
use quiclab_agent_protocol::report::{CpuUse, CpuUser};

/// Whose CPU time is measured.
#[derive(Clone, Copy, Debug)]
pub enum Meter {
    /// Everything on the machine.
    Machine,
    /// All processes of this process's PID namespace but this one.
    Endpoints,
}

/// CPU time up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    of: CpuUser,
    cpus: u32,
    /// Time in which CPUs were idle, or which the processes used.
    ticks: u64,
}

/// The kernel counts CPU time in hundredths of a second (`USER_HZ`), whatever its own tick is.
pub const TICK_NS: u64 = 10_000_000;

impl Meter {
    /// The CPU time up to now.
    ///
    /// # Errors
    /// Where the kernel's tables in `/proc` cannot be read or understood.
    pub fn used(self) -> Result<Used> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
        let (cpus, idle) = idle_of(&text)
            .with_context(|| format!("/proc/stat: found {:?}, expected the line `cpu`", text.lines().next()))?;
        Ok(match self {
            Self::Machine => Used { of: CpuUser::Machine, cpus, ticks: idle },
            Self::Endpoints => {
                Used { of: CpuUser::Endpoints, cpus, ticks: of_processes(|id| id != std::process::id())? }
            }
        })
    }
}

impl Used {
    /// What was used from `before` until this, with `elapsed` in between.
    ///
    /// The endpoints' time is compared with what one CPU can do: an endpoint with one thread is at its limit when one CPU is, however
    /// many others are idle.
    pub fn since(&self, before: &Self, elapsed: Duration) -> CpuUse {
        let all_ns = (elapsed.as_nanos() as u64).saturating_mul(u64::from(self.cpus));
        let ticks_ns = self.ticks.saturating_sub(before.ticks).saturating_mul(TICK_NS);
        let (time_ns, share) = match self.of {
            CpuUser::Machine => (all_ns.saturating_sub(ticks_ns), 1.0 - ticks_ns as f64 / all_ns.max(1) as f64),
            CpuUser::Endpoints => (ticks_ns, (ticks_ns as f64 / elapsed.as_nanos().max(1) as f64).min(1.0)),
        };
        CpuUse { of: self.of, time_ns, cpus: self.cpus, share }
    }
}

/// Number of CPUs, and their idle time added up (`/proc/stat`, fields `idle` and `iowait` of the line `cpu`).
fn idle_of(text: &str) -> Option<(u32, u64)> {
    let mut fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let idle: u64 = fields.nth(3)?.parse().ok()?;
    let waiting: u64 = fields.next()?.parse().ok()?;
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let cpus = text.lines().filter(is_cpu).count();
    (cpus > 0).then_some((cpus as u32, idle + waiting))
}

/// CPU time of the processes that are `wanted` by their number, and of those they have waited for.
fn of_processes(wanted: impl Fn(u32) -> bool) -> Result<u64> {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").context("/proc")? {
        let entry = entry?;
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if !wanted(process) {
            continue;
        }
        // One that has ended and was waited for in the meantime counts with its parent.
        if let Ok(text) = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")) {
            let used = ticks_of(&text);
            ensure!(used.is_some(), "/proc/{process}/stat: found {text:?}, expected four CPU times");
            ticks += used.unwrap_or(0);
        }
    }
    Ok(ticks)
}

/// Fields 14 to 17 of proc_pid_stat(5): `utime`, `stime`, `cutime`, `cstime`. The second field may hold spaces and brackets.
fn ticks_of(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut sum = 0_u64;
    // Field 3 is the first one behind the bracket.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    for field in fields.get(11..15)? {
        sum += field.parse::<u64>().ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_CPUS: &str =
        "cpu  10 20 30 400 5 0 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\ncpu1 1\ncpu2 1\ncpu3 1\nintr 5\ncpuset 3\n";

    #[test]
    fn idle_time_is_the_fourth_and_fifth_field_and_cpus_are_counted() {
        assert_eq!(idle_of(FOUR_CPUS), Some((4, 405)));
        assert_eq!(idle_of("cpu0 1 2 3 4 5"), None);
        assert_eq!(idle_of("cpu  1 2 3 4 5\n"), None);
        assert_eq!(idle_of(""), None);
    }

    #[test]
    fn one_busy_core_of_four_is_a_quarter_of_a_machine() {
        // In 2 s three of four CPUs are idle: 6 s of idle time, 2 s of work.
        let [before, after] = [1000, 1600].map(|ticks| Used { of: CpuUser::Machine, cpus: 4, ticks });
        let used = after.since(&before, Duration::from_secs(2));
        assert_eq!((used.time_ns, used.cpus), (2_000_000_000, 4));
        assert!((used.share - 0.25).abs() < 1e-12, "{used:?}");
    }

    #[test]
    fn endpoints_that_use_one_cpu_are_busy_however_many_there_are() {
        for cpus in [1, 4, 64] {
            for (ticks, share) in [(0, 0.0), (50, 0.25), (200, 1.0), (300, 1.0)] {
                let [before, after] = [100, 100 + ticks].map(|ticks| Used { of: CpuUser::Endpoints, cpus, ticks });
                let used = after.since(&before, Duration::from_secs(2));
                assert_eq!((used.time_ns, used.cpus), (ticks * TICK_NS, cpus));
                assert!((used.share - share).abs() < 1e-12, "{used:?}");
            }
        }
    }

    #[test]
    fn the_name_of_a_process_may_hold_anything() {
        let text = "42 (a) b (c)) S 1 42 42 0 -1 4194304 100 0 0 0 7 5 2 1 20 0 1 0 100 0 0\n";
        assert_eq!(ticks_of(text), Some(15));
        assert_eq!(ticks_of("42 (a) S 1"), None);
        assert_eq!(ticks_of(""), None);
    }

    #[test]
    fn the_time_of_a_child_that_has_ended_counts() {
        let spawned =
            std::process::Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).spawn();
        let mut child = spawned.unwrap();
        // It is still there as a zombie until it is waited for.
        let is_zombie = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z");
        quiclab_testing::wait_until("the child to end", is_zombie);
        // Not of every process: one of the machine's that ends and is waited for by this process takes its time out of the sum.
        let ticks = of_processes(|id| id == child.id()).unwrap();
        child.wait().unwrap();
        assert!(ticks >= 1, "{ticks}");
    }
}
