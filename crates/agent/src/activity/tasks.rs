//! CPU time and context switches of processes and threads, by the kernel's tables of processes.
//!
//! A thread's own clock is exact (`schedstat`), but goes away with it. A process's clock has the time of threads that have ended, in
//! hundredths of a second. Of both, which never say too much, the larger one counts.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_agent_protocol::activity::Subject;

use super::{
    Watched,
    recorder::{Recorder, TrackId},
};
use crate::cpu::TICK_NS;

/// What is counted of a thread and of an endpoint. User and system time are those of the kernel's clock of hundredths of a second.
const COUNTERS: &[&str] = &["cpu_ns", "user_ns", "system_ns", "wait_ns", "voluntary_switches", "involuntary_switches"];
/// Threads that are listed at the same time and over a whole run. Each takes three open files.
const MOST_OPEN: usize = 200;
const MOST_LISTED: usize = 2000;

type Counted = [u64; 6];

/// All processes of a run.
pub struct Tasks {
    /// The endpoints', and the agent itself.
    groups: Vec<Group>,
    listed: usize,
    open: usize,
    not_listed: u64,
    buffer: Vec<u8>,
}

struct Group {
    of: &'static str,
    /// Its table of processes.
    table: PathBuf,
    /// The agent is one process, and has no sum.
    only: Option<u32>,
    processes: BTreeMap<u32, Process>,
    /// Counters of processes that have ended.
    ended: Counted,
    sum: Option<TrackId>,
}

#[derive(Default)]
struct Process {
    threads: BTreeMap<u32, Thread>,
    /// Counters of threads that have ended.
    ended: Counted,
    /// CPU times by the process's own clock.
    times: Times,
    is_there: bool,
}

impl Process {
    /// Everything that is known of it, without its children.
    fn counted(&self) -> Counted {
        let mut all = self.ended;
        self.threads.values().for_each(|thread| add(&mut all, &thread.last));
        let [user, system] = [self.times.user, self.times.system];
        all[0] = all[0].max(user + system);
        // Threads have these in the same clock, so the process's has them all.
        [all[1], all[2]] = [user, system];
        all
    }
}

struct Thread {
    files: Option<Files>,
    track: Option<TrackId>,
    name: String,
    last: Counted,
    is_there: bool,
}

struct Files {
    stat: File,
    schedstat: File,
    status: File,
}

/// CPU times of a process, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    user: u64,
    system: u64,
    /// User time of children that were waited for; `children_system` is their time in the kernel.
    children_user: u64,
    children_system: u64,
}

fn add(sum: &mut Counted, other: &Counted) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

impl Tasks {
    /// Watches the tasks of these endpoints, and this process.
    pub fn new(watched: &[Watched]) -> Self {
        let group = |of, table: &Path, only| Group {
            of,
            table: table.to_owned(),
            only,
            processes: BTreeMap::new(),
            ended: Counted::default(),
            sum: None,
        };
        let mut groups: Vec<_> = watched.iter().map(|one| group(one.role, one.sandbox.processes(), None)).collect();
        groups.push(group("agent", Path::new("/proc"), Some(std::process::id())));
        Self { groups, listed: 0, open: 0, not_listed: 0, buffer: vec![0; 1 << 12] }
    }

    /// Adds what is counted now.
    ///
    /// # Errors
    /// Where a table cannot be read or understood.
    pub fn sample(&mut self, recorder: &mut Recorder) -> Result<()> {
        let Self { groups, listed, open, not_listed, buffer } = self;
        for group in groups {
            for number in group.numbers()? {
                let process = group.processes.entry(number).or_default();
                let folder = group.table.join(number.to_string());
                // One that ends while it is looked at is gone the next time.
                let Ok(text) = File::open(folder.join("stat")).and_then(|file| read(&file, buffer)) else { continue };
                process.times = times_of(&text).with_context(|| format!("/proc/{number}/stat: found {text:?}"))?;
                process.is_there = true;
                let Ok(threads) = fs::read_dir(folder.join("task")) else { continue };
                for entry in threads.flatten() {
                    let Some(thread) = number_of(&entry) else { continue };
                    let thread = process.threads.entry(thread).or_insert_with(|| {
                        let may_be_listed = *open < MOST_OPEN && *listed < MOST_LISTED;
                        let files = may_be_listed.then(|| Files::open(&entry.path()).ok()).flatten();
                        let track = files.is_some().then(|| {
                            *listed += 1;
                            *open += 1;
                            let name = String::new();
                            recorder.begin(group.of, Subject::Thread { process: number, thread, name }, COUNTERS)
                        });
                        *not_listed += u64::from(!may_be_listed);
                        Thread { files, track, name: String::new(), last: Counted::default(), is_there: true }
                    });
                    thread.is_there = true;
                    thread.look(recorder, buffer);
                }
                let ended = &mut process.ended;
                process.threads.retain(|_, thread| {
                    let is_there = std::mem::take(&mut thread.is_there);
                    if !is_there {
                        *open -= usize::from(thread.files.is_some());
                        add(ended, &thread.last);
                    }
                    is_there
                });
            }
            let ended = &mut group.ended;
            group.processes.retain(|_, process| {
                let is_there = std::mem::take(&mut process.is_there);
                if !is_there {
                    *open -= process.threads.values().filter(|thread| thread.files.is_some()).count();
                    add(ended, &process.counted());
                }
                is_there
            });
            if group.only.is_none() {
                let sum = *group.sum.get_or_insert_with(|| recorder.begin(group.of, Subject::Endpoint, COUNTERS));
                recorder.push(sum, &group.counted());
            }
        }
        Ok(())
    }

    /// Threads beyond the bound.
    pub fn not_listed(&self) -> u64 {
        self.not_listed
    }
}

impl Group {
    fn numbers(&self) -> Result<Vec<u32>> {
        if let Some(only) = self.only {
            return Ok(vec![only]);
        }
        let entries = fs::read_dir(&self.table).with_context(|| self.table.display().to_string())?;
        // Process 1 keeps the namespace, and is the agent's.
        Ok(entries.flatten().filter_map(|entry| number_of(&entry)).filter(|number| *number != 1).collect())
    }

    /// Sum over processes that live and that have ended. The time of one that has ended is in its parent's clock as well, if that one
    /// waited for it, and there is the time of those that nobody saw; so the larger of both counts.
    fn counted(&self) -> Counted {
        let mut all = Counted::default();
        let mut waited = [0; 2];
        for process in self.processes.values() {
            add(&mut all, &process.counted());
            waited[0] += process.times.children_user;
            waited[1] += process.times.children_system;
        }
        let [user, system] = waited;
        all[0] += self.ended[0].max(user + system);
        all[1] += self.ended[1].max(user);
        all[2] += self.ended[2].max(system);
        for (all, ended) in all.iter_mut().zip(&self.ended).skip(3) {
            *all += ended;
        }
        all
    }
}

impl Thread {
    /// What is counted now, unless it has just ended.
    fn look(&mut self, recorder: &mut Recorder, buffer: &mut [u8]) {
        let (Some(files), Some(track)) = (&self.files, self.track) else { return };
        let Some((name, counted)) = files.counted(buffer) else { return };
        if name != self.name {
            recorder.rename(track, &name);
            self.name = name;
        }
        recorder.push(track, &counted);
        self.last = counted;
    }
}

impl Files {
    fn open(folder: &Path) -> io::Result<Self> {
        let open = |name| File::open(folder.join(name));
        Ok(Self { stat: open("stat")?, schedstat: open("schedstat")?, status: open("status")? })
    }

    fn counted(&self, buffer: &mut [u8]) -> Option<(String, Counted)> {
        let stat = read(&self.stat, buffer).ok()?;
        let Times { user, system, .. } = times_of(&stat)?;
        let name = stat.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
        let schedstat = read(&self.schedstat, buffer).ok()?;
        // proc_pid_schedstat: time on a CPU, time waiting for one, number of time slices.
        let mut words = schedstat.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        let (exact, wait) = (words.next()??, words.next()??);
        let status = read(&self.status, buffer).ok()?;
        let [voluntary, involuntary] = switches_of(&status)?;
        Some((name, [exact.max(user + system), user, system, wait, voluntary, involuntary]))
    }
}

fn number_of(entry: &fs::DirEntry) -> Option<u32> {
    entry.file_name().to_str()?.parse().ok()
}

/// A file of `/proc`, from its beginning. Those that are read here are short.
fn read(file: &File, buffer: &mut [u8]) -> io::Result<String> {
    let length = file.read_at(buffer, 0)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Fields 14 to 17 of proc_pid_stat(5). The second field may hold spaces and brackets.
fn times_of(text: &str) -> Option<Times> {
    let (_, rest) = text.rsplit_once(')')?;
    // Field 3 is the first one behind the bracket.
    let mut fields = rest.split_ascii_whitespace().skip(11).map(|word| Some(word.parse::<u64>().ok()? * TICK_NS));
    let mut next = || fields.next()?;
    Some(Times { user: next()?, system: next()?, children_user: next()?, children_system: next()? })
}

/// The last two lines of `status`.
fn switches_of(text: &str) -> Option<[u64; 2]> {
    let of_name = |name: &str| {
        let line = text.lines().rev().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse().ok()
    };
    Some([of_name("voluntary_ctxt_switches")?, of_name("nonvoluntary_ctxt_switches")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_switches_are_found_whatever_a_process_is_called() {
        let text = "42 (a) b (c)) S 1 42 42 0 -1 4194304 100 0 0 0 7 5 2 1 20 0 1 0 100 0 0\n";
        let times = times_of(text).unwrap();
        let expected = [7, 5, 2, 1].map(|ticks| ticks * TICK_NS);
        assert_eq!([times.user, times.system, times.children_user, times.children_system], expected);
        assert_eq!(times_of("42 (a) S 1"), None);
        let status =
            "Name:\tvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n";
        assert_eq!(switches_of(status), Some([3, 4]));
        assert_eq!(switches_of("Name: x\n"), None);
    }

    fn process(ticks: [u64; 4], threads: &[u64]) -> Process {
        let [user, system, children_user, children_system] = ticks.map(|ticks| ticks * TICK_NS);
        let thread = |cpu: &u64| Thread {
            files: None,
            track: None,
            name: String::new(),
            last: [*cpu, 0, 0, 0, 1, 1],
            is_there: true,
        };
        Process {
            threads: (0..).zip(threads.iter().map(thread)).collect(),
            times: Times { user, system, children_user, children_system },
            ..Process::default()
        }
    }

    #[test]
    fn the_exact_clock_of_threads_counts_and_that_of_the_process_where_threads_have_ended() {
        let exact = process([1, 0, 0, 0], &[12_345_678, 1]);
        assert_eq!(exact.counted()[..3], [12_345_679, TICK_NS, 0]);
        let ended = process([9, 3, 0, 0], &[12_345_678]);
        assert_eq!(ended.counted()[..3], [12 * TICK_NS, 9 * TICK_NS, 3 * TICK_NS]);
    }

    #[test]
    fn the_time_of_a_child_that_has_ended_counts_once() {
        let mut group = Group {
            of: "server",
            table: PathBuf::new(),
            only: None,
            processes: [(2, process([1, 0, 0, 0], &[0]))].into(),
            ended: [5 * TICK_NS, 5 * TICK_NS, 0, 0, 2, 2],
            sum: None,
        };
        assert_eq!(group.counted()[0], 6 * TICK_NS, "nobody waited for the child");
        group.processes.get_mut(&2).unwrap().times.children_user = 5 * TICK_NS;
        assert_eq!(group.counted()[0], 6 * TICK_NS, "its parent waited for it");
        group.processes.get_mut(&2).unwrap().times.children_system = 3 * TICK_NS;
        assert_eq!(group.counted()[0], 9 * TICK_NS, "there was another one that was too short-lived to be seen");
        assert_eq!(group.counted()[4..], [3, 3]);
    }
}
