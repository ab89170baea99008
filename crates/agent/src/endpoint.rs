//! Starts an endpoint in its namespace, watches it, and ends it.

use std::{
    ffi::CString,
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, ppoll},
    sched::CpuSet,
    sys::{
        resource::{Usage, UsageWho},
        signal::{Signal, killpg},
        time::{TimeSpec, TimeVal, TimeValLike},
    },
    unistd::{Pid, getpgid},
};
use quiclab_agent_protocol::{
    orders::Program,
    places::{LOGS, OUTPUTS, QLOG},
    report::ProcessEnd,
};
use quiclab_sandbox::Filter;

use crate::{
    namespace::Namespace,
    profile::{self, Profiler},
    root::Root,
};

/// How often to look whether processes are gone.
const POLL: Duration = Duration::from_millis(2);

/// A started endpoint.
pub struct Endpoint {
    child: Child,
    watch: OwnedFd,
    profiler: Option<Profiler>,
}

/// What came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The first endpoint ended.
    One,
    /// The second endpoint ended, the first did not.
    Other,
    /// Neither ended, and the path between them failed.
    Path,
    /// Neither ended in time.
    Neither,
}

impl Endpoint {
    /// Starts `program` in the network `namespace`, in the sandbox of `root`, with its output in its folder of logs. Its timers may be
    /// late by `timer_slack_ns`. It
    /// runs on `cpus`, or anywhere if there are none. Where its CPU time goes is sampled each `profile_period_ns` of it, if that is some.
    ///
    /// # Errors
    /// Where the folder cannot be written or the program cannot be started.
    pub fn start(
        program: &Program,
        timer_slack_ns: u64,
        cpus: &[u32],
        profile_period_ns: Option<u64>,
        namespace: &Namespace,
        root: &Root,
    ) -> Result<Self> {
        let sandbox = root.sandbox();
        let folder = root.outside(LOGS);
        let qlog = folder.join(QLOG);
        fs::create_dir_all(&qlog).with_context(|| qlog.display().to_string())?;
        sandbox.give(&qlog)?;
        let output = |name| -> Result<File> {
            let path = folder.join(name);
            let file = File::create(&path).with_context(|| path.display().to_string())?;
            sandbox.give(&path)?;
            Ok(file)
        };
        let [executable, arguments @ ..] = &program.command[..] else {
            anyhow::bail!("{}: found no command, expected at least one word", namespace.name);
        };
        let mut command = Command::new(executable);
        command
            .args(arguments)
            .env_clear()
            .envs(&program.environment)
            .stdin(Stdio::null())
            .stdout(output(OUTPUTS[0])?)
            .stderr(output(OUTPUTS[1])?)
            .process_group(0);
        let new_root = CString::new(root.folder().as_os_str().as_encoded_bytes())?;
        let start_folder = CString::new(program.folder.as_str())?;
        let entrance = sandbox.entrance();
        let sandboxed = quiclab_sandbox::Program::Endpoint { shares_files: root.shares_files(), shares_network: false };
        let filter = Filter::of(sandboxed).context("the filter of system calls")?;
        let cpus = cpu_set(cpus)?;
        let enter = move || {
            // SAFETY: plain system call.
            if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, timer_slack_ns) } != 0 {
                return Err(io::Error::last_os_error());
            }
            if let Some(cpus) = &cpus {
                nix::sched::sched_setaffinity(Pid::from_raw(0), cpus)?;
            }
            entrance.enter(&new_root, &start_folder, &filter)
        };
        // SAFETY: between fork and exec the closure makes system calls and allocates nothing.
        unsafe { command.pre_exec(enter) };
        // The child inherits its namespaces: entering these here and coming back needs no work between fork and exec.
        let mut start = || {
            let spawn = || command.spawn().with_context(|| format!("starting {executable}"));
            namespace.inside(|| sandbox.among_processes(spawn))
        };
        let (child, profiler) = match profile_period_ns {
            None => (start()?, None),
            Some(period_ns) => {
                // What is sampled follows from the thread that starts it: the next endpoint must not come from the same.
                let mut sampled = || -> Result<_> {
                    let profiler = Profiler::of_this_thread(period_ns).context("perf_event_open")?;
                    Ok((start()?, Some(profiler)))
                };
                let joined = thread::scope(|scope| scope.spawn(&mut sampled).join());
                joined.map_err(|_| anyhow::anyhow!("the thread that starts {executable} panicked"))??
            }
        };
        // SAFETY: plain system call; the child is ours and not yet reaped.
        let watch = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
        if watch < 0 {
            return Err(io::Error::last_os_error()).context("pidfd_open");
        }
        // SAFETY: the descriptor is new and ours.
        let watch = unsafe { OwnedFd::from_raw_fd(watch as i32) };
        Ok(Self { child, watch, profiler })
    }

    /// Waits until this endpoint or `other` ends, or `path` becomes readable, at most for `timeout_ns`.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait_with(&self, other: &Self, path: Option<BorrowedFd>, timeout_ns: u64) -> Result<First> {
        let watch = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut watched = vec![watch(self.watch.as_fd()), watch(other.watch.as_fd())];
        watched.extend(path.map(watch));
        ppoll(&mut watched, Some(TimeSpec::nanoseconds(timeout_ns as i64)), None)?;
        let is_first = |place: usize| watched.get(place).is_some_and(|one| one.any().unwrap_or(false));
        Ok(match [is_first(0), is_first(1), is_first(2)] {
            [true, ..] => First::One,
            [_, true, _] => First::Other,
            [_, _, true] => First::Path,
            _ => First::Neither,
        })
    }

    /// Number of its first process, as the agent sees it.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Readable as soon as the process has ended.
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// True where the process has ended.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn has_ended(&self) -> Result<bool> {
        let mut watched = [PollFd::new(self.watch.as_fd(), PollFlags::POLLIN)];
        Ok(nix::poll::poll(&mut watched, PollTimeout::ZERO)? > 0)
    }

    /// Asks the process group to end, insists after a second, ends what else lives in the sandbox of `root`, and says how it ended
    /// and what it left.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn end(mut self, root: &Root) -> Result<ProcessEnd> {
        let group = Pid::from_raw(self.child.id() as i32);
        let ended_by_itself = self.has_ended()?;
        if !ended_by_itself {
            let _ = killpg(group, Signal::SIGTERM);
            if getpgid(Some(group)) != Ok(group) {
                // It has left the group that it was started as.
                self.signal(Signal::SIGTERM);
            }
            let mut watched = [PollFd::new(self.watch.as_fd(), PollFlags::POLLIN)];
            let timeout = PollTimeout::try_from(Duration::from_secs(1)).unwrap_or(PollTimeout::MAX);
            if nix::poll::poll(&mut watched, timeout)? == 0 {
                let _ = killpg(group, Signal::SIGKILL);
                self.signal(Signal::SIGKILL);
            }
        }
        let mut end = self.reap()?;
        if !ended_by_itself {
            // One that is told to end takes the others of its group along.
            let _ = killpg(group, Signal::SIGKILL);
            wait_until_empty(group);
        }
        let sandbox = root.sandbox();
        end.processes_left = sandbox.count_processes().context("looking for processes left behind")?;
        sandbox.end_processes()?;
        end.stray_files = root.stray_files();
        if let Some(profiler) = self.profiler.take() {
            profile::write(&profiler.finish(root)?, root).context("the profile of CPU time")?;
        }
        Ok(end)
    }

    /// Signals its first process, whatever group that has joined.
    fn signal(&self, signal: Signal) {
        let watch = self.watch.as_raw_fd();
        // SAFETY: plain system call on a descriptor that is ours.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, watch, signal as libc::c_int, 0_usize, 0) };
    }

    fn reap(&mut self) -> Result<ProcessEnd> {
        // Children are reaped one at a time, so the difference in the sum over all children is this one's use.
        let before = used_by_children()?;
        let status = self.child.wait()?;
        let after = used_by_children()?;
        let used = |time: fn(&Usage) -> TimeVal| {
            (time(&after).num_microseconds() - time(&before).num_microseconds()) as u64 * 1000
        };
        Ok(ProcessEnd {
            exit_code: status.code(),
            signal: std::os::unix::process::ExitStatusExt::signal(&status),
            user_time_ns: used(Usage::user_time),
            system_time_ns: used(Usage::system_time),
            processes_left: 0,
            stray_files: Vec::new(),
        })
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // As long as it is there, even as a zombie, its PID namespace cannot end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A set of CPUs for the kernel; `None` of an empty list.
///
/// # Errors
/// A number that no kernel has.
pub fn cpu_set(cpus: &[u32]) -> Result<Option<CpuSet>> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize).with_context(|| format!("found CPU {cpu}, expected less than {}", CpuSet::count()))?;
    }
    Ok((!cpus.is_empty()).then_some(set))
}

/// Waits until a process group has no member any more, a second at most.
fn wait_until_empty(group: Pid) {
    let start = Instant::now();
    while killpg(group, None).is_ok() && start.elapsed() < Duration::from_secs(1) {
        sleep(POLL);
    }
}

fn used_by_children() -> Result<Usage> {
    Ok(nix::sys::resource::getrusage(UsageWho::RUSAGE_CHILDREN)?)
}

/// Hands every file below `folder` to `visit`, as a path relative to it, in no order and at most `most`. Answers what kept it from seeing
/// others, if anything did.
pub fn files_below(folder: &Path, most: usize, mut visit: impl FnMut(PathBuf)) -> Option<String> {
    let mut missed = None;
    let mut folders = vec![folder.to_path_buf()];
    let mut count = 0;
    while let Some(next) = folders.pop() {
        let entries = match fs::read_dir(&next) {
            Ok(entries) => entries,
            Err(error) => {
                missed.get_or_insert(error.to_string());
                continue;
            }
        };
        for entry in entries.flatten() {
            count += 1;
            if count > most {
                return Some(format!("there are more than {most}"));
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file()
                && let Ok(file) = path.strip_prefix(folder)
            {
                visit(file.to_path_buf());
            }
        }
    }
    missed
}
