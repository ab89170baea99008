//! A guest that runs, and what ends it.
//!
//! A guest consists of the kernel's process and of a process of the host for each address space in it. Virtual time stops while one of these computes,
//! so one that computes for ever, without a system call, never reaches a timeout of the guest. [`Judge`] tells that by the processor time that
//! one process takes while no other takes any; how busy the machine is does not matter.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    sys::{
        personality::{self, Persona},
        signal::{Signal, killpg},
    },
    unistd::Pid,
};

use crate::{
    cache::Verifying,
    child::{End, describe, reap},
    cores::{Seat, bind_to, cores},
    perform::{Host, Interrupted},
    sandbox::Sandbox,
};

/// Time between two checks whether the guest has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time between two checks whether the guest spins.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Processor time that programs take in one piece, without a system call or a page fault, before they are said to spin.
const LONGEST_COMPUTATION: Duration = Duration::from_secs(30);

/// A guest. It is killed when this is dropped, and when this process dies in any way.
pub(super) struct Guest {
    child: Child,
    stop: Arc<AtomicBool>,
    timeout: Duration,
    start: Instant,
    end: Option<End>,
    /// Its core, until it is dropped.
    _seat: Seat,
}

/// How a guest ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Its status, and what it used.
    pub(super) end: End,
    /// True where it was ended because a program in it did nothing but compute.
    spins: bool,
}

impl Guest {
    /// Boots it in its sandbox, on the worker's core, or on another one where a machine of quiclab has that.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub(super) fn start(mut command: Command, mut sandbox: Sandbox, host: &Host) -> Result<Self> {
        // A group of its own: its processes end with it, and Ctrl-C reaches quiclab, which then ends it in order.
        command.process_group(0);
        let parent = std::process::id();
        let seat = Seat::take(host.core, &cores()?);
        let core = seat.core;
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                bind_to(core)?;
                // The kernel would set it and execute itself again, by a name that the sandbox does not have.
                personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?;
                sandbox.enter(parent)
            });
        }
        let program = command.get_program().to_owned();
        let child = command.spawn().with_context(|| format!("starting {}", program.display()))?;
        let (stop, timeout) = (host.stop.clone(), host.timeout);
        Ok(Self { child, stop, timeout, start: Instant::now(), end: None, _seat: seat })
    }

    /// Waits until it ends by itself. Ends it early where it will never end, or what it is made of turns out to be damaged.
    ///
    /// # Errors
    /// On [`Interrupted`], and on damage.
    pub(super) fn watch(mut self, verifying: &Verifying) -> Result<Ended> {
        let mut judge = Judge::default();
        let mut next_check = CHECK_INTERVAL;
        loop {
            if let Some(end) = reap(&self.child, libc::WNOHANG)? {
                self.end = Some(end);
                return Ok(Ended { end, spins: false });
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            let elapsed = self.start.elapsed();
            if elapsed >= self.timeout {
                return Err(Interrupted::ByDeadline(self.timeout).into());
            }
            if elapsed >= next_check {
                next_check = elapsed + CHECK_INTERVAL;
                verifying.so_far()?;
                if judge.spins(used_by(self.child.id())?) {
                    return Ok(Ended { end: self.kill()?, spins: true });
                }
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn kill(&mut self) -> Result<End> {
        // Where there are namespaces, all processes in them end with this one as well.
        let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
        let end = reap(&self.child, 0)?.context("the end of a guest")?;
        self.end = Some(end);
        Ok(end)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.end.is_none() {
            let _ = self.kill();
        }
    }
}

impl Ended {
    /// True where it has switched itself off.
    pub(super) fn is_switched_off(&self) -> bool {
        self.end.status.success()
    }

    /// How it ended, for people.
    pub(super) fn in_words(&self) -> String {
        if self.spins {
            return format!(
                "a program in the guest computed for {LONGEST_COMPUTATION:?} without a system call. Virtual time does not advance while it does, so \
                 no timeout of the run can end it, and quiclab ended the guest\nhint: use --testbed vm, where time also passes while programs \
                 compute\n"
            );
        }
        match self.end.status.success() {
            true => "the guest switched itself off before the agent had handed over the results".to_owned(),
            false => format!("the kernel {}", describe(self.end.status)),
        }
    }
}

/// Processor time of each process of a guest, by its number.
type Used = BTreeMap<u32, Duration>;

/// What was seen when more than one process had last done something.
#[derive(Debug, Default)]
struct Judge(Used);

impl Judge {
    fn spins(&mut self, now: Used) -> bool {
        let done = |(process, time): (&u32, &Duration)| {
            time.saturating_sub(self.0.get(process).copied().unwrap_or(Duration::ZERO))
        };
        let done: Vec<Duration> = now.iter().map(done).filter(|time| !time.is_zero()).collect();
        let has_same_processes = now.keys().eq(self.0.keys());
        match done[..] {
            [alone] if has_same_processes => alone >= LONGEST_COMPUTATION,
            [] if has_same_processes => false,
            _ => {
                self.0 = now;
                false
            }
        }
    }
}

/// Processor time of the processes in a group.
fn used_by(group: u32) -> Result<Used> {
    let mut used = Used::new();
    for entry in fs::read_dir("/proc").context("/proc")? {
        let Some(process) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // It may have ended meanwhile.
        let Ok(text) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        if let Some((_, time)) = group_and_time(&text).filter(|(found, _)| *found == group) {
            used.insert(process, time);
        }
    }
    Ok(used)
}

/// Group and processor time in a line of proc(5): behind the name in brackets, the group is the 3rd, user time the 12th, system time the 13th.
fn group_and_time(line: &str) -> Option<(u32, Duration)> {
    let fields: Vec<&str> = line.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // USER_HZ, the same for all programs on x86-64.
    let time = Duration::from_millis(ticks(11)?.saturating_add(ticks(12)?).saturating_mul(10));
    Some((fields.get(2)?.parse().ok()?, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(kernel: u64, program: u64) -> Used {
        [(7, kernel), (8, program)].map(|(process, seconds)| (process, Duration::from_secs(seconds))).into()
    }

    #[test]
    fn a_guest_spins_where_one_process_computes_alone() {
        let mut judge = Judge::default();
        assert!(!judge.spins(used(1, 100)));
        assert!(!judge.spins(used(1, 129)));
        assert!(judge.spins(used(1, 130)));
        // The kernel has done something meanwhile.
        assert!(!judge.spins(used(2, 200)));
        assert!(!judge.spins(used(2, 229)));
        // The kernel alone, which has nothing to wait for.
        assert!(!judge.spins(used(3, 230)));
        assert!(judge.spins(used(33, 230)));
        // A process has come, and one has ended.
        let mut three = used(33, 230);
        three.insert(9, Duration::ZERO);
        assert!(!judge.spins(three));
        assert!(!judge.spins(used(33, 260)));
        assert!(judge.spins(used(33, 290)));
    }

    #[test]
    fn group_and_time_are_read_from_a_line_of_proc() {
        let line = "7 (a) b) S 1 5 7 0 -1 0 0 0 0 0 12 34 0 0 20 0 1 0 9";
        assert_eq!(group_and_time(line), Some((5, Duration::from_millis(460))));
        assert_eq!(group_and_time("7 (a"), None);
    }
}
