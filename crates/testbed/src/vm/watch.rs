//! Whether a guest that was restored is alive, seen from outside without touching it.
//!
//! Two signs: QEMU's memory has pages of the slot, which is where the agent reads its orders first; and QEMU works, or waits for the disk or
//! for the CPU. What counts is progress and not speed: a slow or busy machine gives a guest all the time that it needs.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::guest::machine::names;

/// How long a guest may do nothing that can be seen.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// CPU time in which it reads its orders.
    pub to_begin: Duration,
    /// CPU time after which to look whether it has. Most runs are over by then, and the look takes some milliseconds.
    pub first_look: Duration,
    /// How long QEMU may sleep. Where its guest has nothing to do it moves virtual time to the next timer, so that it is never idle.
    pub asleep: Duration,
}

/// Reading orders takes a guest less than a hundredth of this.
pub const TIMEOUTS: Timeouts =
    Timeouts { to_begin: Duration::from_secs(10), first_look: Duration::from_secs(1), asleep: Duration::from_secs(10) };
/// CPU time that QEMU's own threads use while the guest sleeps, at most.
const USED_ASLEEP: Duration = Duration::from_millis(200);

/// How a guest shows that it will never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lifeless {
    /// It computes and does not begin with the run.
    #[error("the guest showed no sign of life: it has not read its orders in {:.0} s of CPU time", .0.as_secs_f64())]
    NeverBegan(Duration),
    /// QEMU itself waits for something that never comes.
    #[error("the guest showed no sign of life: QEMU slept for {:.0} s, which it does not do while its guest runs", .0.as_secs_f64())]
    Sleeps(Duration),
}

/// What is seen of QEMU at one moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Time since the guest was started.
    at: Duration,
    /// CPU time that QEMU has used since then.
    used: Duration,
    /// True where all its threads sleep: none runs, waits for a CPU or for a disk, or was stopped.
    sleeps: bool,
}

/// A guest that was restored a moment ago.
#[derive(Debug)]
pub struct Watch {
    process: u32,
    start: Instant,
    used_before: Duration,
    judge: Judge,
}

/// What was seen so far.
#[derive(Debug)]
struct Judge {
    timeouts: Timeouts,
    has_begun: bool,
    /// Time at which it was first seen asleep, and what it had used then; `None` while it is awake.
    asleep_since: Option<(Duration, Duration)>,
}

impl Watch {
    /// Begins to watch a QEMU.
    ///
    /// # Errors
    /// Where the kernel does not say what QEMU does.
    pub fn new(process: u32, timeouts: Timeouts) -> Result<Self> {
        let used_before = seen_of(process)?.map_or(Duration::ZERO, |(used, _)| used);
        Ok(Self { process, start: Instant::now(), used_before, judge: Judge::new(timeouts) })
    }

    /// Looks at QEMU. Says how one can tell that its guest is dead, if one can.
    ///
    /// # Errors
    /// Where the kernel does not say what QEMU does.
    pub fn look(&mut self) -> Result<Option<Lifeless>> {
        // It has ended, which the monitor notices.
        let Some((used, sleeps)) = seen_of(self.process)? else { return Ok(None) };
        let look = Look { at: self.start.elapsed(), used: used.saturating_sub(self.used_before), sleeps };
        let process = self.process;
        // Where it cannot be known, it counts as alive.
        self.judge.judge(look, || matches!(has_pages_of(process, names::SLOT), Ok(None | Some(true)) | Err(_)))
    }
}

impl Judge {
    fn new(timeouts: Timeouts) -> Self {
        Self { timeouts, has_begun: false, asleep_since: None }
    }

    fn judge(&mut self, look: Look, has_begun: impl FnOnce() -> bool) -> Result<Option<Lifeless>> {
        if !self.has_begun && look.used >= self.timeouts.first_look {
            self.has_begun = has_begun();
            if !self.has_begun && look.used >= self.timeouts.to_begin {
                return Ok(Some(Lifeless::NeverBegan(look.used)));
            }
        }
        match self.asleep_since {
            Some((since, used)) if look.sleeps && look.used.saturating_sub(used) <= USED_ASLEEP => {
                let slept = look.at.saturating_sub(since);
                Ok((slept >= self.timeouts.asleep).then_some(Lifeless::Sleeps(slept)))
            }
            _ => {
                self.asleep_since = look.sleeps.then_some((look.at, look.used));
                Ok(None)
            }
        }
    }
}

/// CPU time that a process has used, and whether all its threads sleep; `None` where it has ended.
fn seen_of(process: u32) -> Result<Option<(Duration, bool)>> {
    let folder = format!("/proc/{process}/task");
    let threads = match fs::read_dir(&folder) {
        Err(error) if is_gone(&error) => return Ok(None),
        threads => threads.context(folder)?,
    };
    let (mut ticks, mut sleep) = (0, true);
    for thread in threads {
        let path = match thread {
            Err(error) if is_gone(&error) => return Ok(None),
            thread => thread?.path().join("stat"),
        };
        let text = match fs::read_to_string(&path) {
            // It has ended meanwhile.
            Err(error) if is_gone(&error) => continue,
            text => text.with_context(|| path.display().to_string())?,
        };
        let (state, used) = state_and_ticks(&text).with_context(|| format!("{}: found {text:?}", path.display()))?;
        sleep &= state == "S";
        ticks += used;
    }
    // USER_HZ, the same for all programs on x86-64.
    const PER_SECOND: u64 = 100;
    Ok(Some((Duration::from_millis(ticks * 1000 / PER_SECOND), sleep)))
}

/// State and ticks in a line of proc(5): behind the name in brackets, the state is the 1st, user time the 12th, system time the 13th.
fn state_and_ticks(line: &str) -> Option<(&str, u64)> {
    let mut fields = line.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let mut ticks = fields.skip(10).take(2).map(str::parse::<u64>);
    Some((state, ticks.next()?.ok()? + ticks.next()?.ok()?))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Whether a process has touched the memory that it has mapped of a file of this name; `None` where it has mapped none.
fn has_pages_of(process: u32, name: &str) -> io::Result<Option<bool>> {
    // Not text: the paths in it can be anything.
    let maps = fs::read(format!("/proc/{process}/smaps"))?;
    Ok(has_pages(&String::from_utf8_lossy(&maps), name))
}

fn has_pages(maps: &str, name: &str) -> Option<bool> {
    let (mut is_of_file, mut found) = (false, None);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("Rss:") if is_of_file => {
                let is_touched = words.next().is_some_and(|kibibytes| kibibytes != "0");
                found = Some(found.unwrap_or(false) || is_touched);
            }
            // ADDRESSES PERMISSIONS OFFSET DEVICE INODE PATH, where the path may have spaces.
            Some(addresses) if addresses.contains('-') && !addresses.ends_with(':') => {
                is_of_file = line.ends_with(&format!("/{name}"));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
