//! A process in new namespaces, and everything that it starts.

use std::{
    fmt, fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    sync::atomic::{AtomicI32, Ordering},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    fcntl::OFlag,
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::SigSet,
    },
    unistd::{getgid, getuid, pipe2, read, setresuid, write},
};

/// Who the users of a new user namespace are outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// There is one, root, and it is whoever makes the namespace.
    Me,
    /// The same numbers as outside. Root is root, but its capabilities end at the namespace.
    Same,
    /// Root is this user, and the others follow it. Together they may run [`Users::PROCESSES`] processes.
    From(u32),
}

impl Users {
    /// Users of one namespace, from 0: as many as images of Debian know.
    pub const NUMBER: u32 = 1 << 16;
    /// Most processes and threads of a namespace whose users are nobody outside.
    pub const PROCESSES: u64 = 256;

    /// The texts of `uid_map` and `gid_map`.
    fn maps(self) -> Result<[String; 2]> {
        let same = |path: &str| -> Result<String> {
            let text = fs::read_to_string(path).context(path.to_owned())?;
            let same = |line: &str| {
                let mut words = line.split_ascii_whitespace();
                let (first, count) = (words.next()?, words.nth(1)?);
                Some(format!("{first} {first} {count}\n"))
            };
            text.lines().map(same).collect::<Option<String>>().with_context(|| format!("{path}: found {text:?}"))
        };
        Ok(match self {
            Self::Me => [format!("0 {} 1", getuid()), format!("0 {} 1", getgid())],
            Self::Same => [same("/proc/self/uid_map")?, same("/proc/self/gid_map")?],
            Self::From(first) => [format!("0 {first} {}", Self::NUMBER), format!("0 {first} {}", Self::NUMBER)],
        })
    }

    /// Makes the caller the user who is to own the namespace: its processes are counted together with those of its owner, and the owner's
    /// limit becomes theirs. [`Users::become_root_again`] undoes it.
    fn become_owner(self) -> Result<()> {
        let Self::From(first) = self else { return Ok(()) };
        let (_, hard) = getrlimit(Resource::RLIMIT_NPROC)?;
        setrlimit(Resource::RLIMIT_NPROC, Self::PROCESSES, hard)?;
        // The saved user stays root, so root's capabilities can be taken up again.
        setresuid(first.into(), first.into(), 0.into()).context("becoming the owner of a user namespace")
    }

    fn become_root_again(self) -> Result<()> {
        let Self::From(_) = self else { return Ok(()) };
        setresuid(0.into(), 0.into(), 0.into()).context("becoming root again")?;
        let (_, hard) = getrlimit(Resource::RLIMIT_NPROC)?;
        setrlimit(Resource::RLIMIT_NPROC, hard, hard).context("lifting the limit of processes")?;
        // The kernel has forgotten it: it does with every change of users.
        end_with_parent();
        Ok(())
    }
}

/// A process in namespaces of its own. Dropping it ends it and all that it has started.
pub struct Jail {
    process: libc::pid_t,
    watch: OwnedFd,
    has_ended: bool,
    /// End of a pipe: as long as it is open, the process knows that this one lives.
    lives: OwnedFd,
}

/// How the process ended.
pub enum End {
    /// It ended by itself, with this status.
    Exit(i32),
    /// It was ended by this signal.
    Signal(i32),
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(status) => write!(formatter, "exit status {status}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

impl Jail {
    /// Runs `work` in a new process, which ends with the status that `work` returns. It is in new namespaces of these kinds
    /// (`CLONE_NEWPID` and so on), and root of a new user namespace with these `users` if there are any. This process must have one
    /// thread.
    ///
    /// # Errors
    /// Where the kernel allows no such namespaces.
    pub fn start(kinds: libc::c_int, users: Option<Users>, work: impl FnOnce() -> i32) -> Result<Self> {
        let maps = users.map(Users::maps).transpose()?;
        let flags = kinds | if users.is_some() { libc::CLONE_NEWUSER } else { 0 };
        let (may_begin, begin) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let mut watch: libc::c_int = -1;
        // SAFETY: without CLONE_VM this is a fork: both processes go on behind it with memory of their own, and there is one thread. The
        // kernel writes a descriptor into `watch`, in the parent.
        let mut clone = || unsafe {
            let process = libc::syscall(
                libc::SYS_clone,
                libc::c_long::from(flags | libc::CLONE_PIDFD | libc::SIGCHLD),
                std::ptr::null::<libc::c_void>(),
                &raw mut watch,
                std::ptr::null::<libc::c_void>(),
                0,
            );
            Errno::result(process)
        };
        users.map_or(Ok(()), Users::become_owner)?;
        let process = clone();
        if process == Ok(0) {
            drop(begin);
            let status = if prepared(&may_begin) { work() } else { 1 };
            // Nothing of the parent's state is to be torn down here.
            // SAFETY: plain system call.
            unsafe { libc::_exit(status) };
        }
        users.map_or(Ok(()), Users::become_root_again)?;
        let process = process.context(
            "the kernel allows no new namespaces\nhint: run quiclab-agent as root, or allow user namespaces: sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000 (others)",
        )? as libc::pid_t;
        // SAFETY: the descriptor is new and ours.
        let watch = unsafe { OwnedFd::from_raw_fd(watch) };
        let jail = Self { process, watch, has_ended: false, lives: begin };
        if let Some([user_map, group_map]) = maps {
            // Without privileges the kernel asks for this before it takes a map of groups.
            let denied = (users == Some(Users::Me)).then(|| ("setgroups", "deny".to_owned()));
            for (file, text) in denied.into_iter().chain([("uid_map", user_map), ("gid_map", group_map)]) {
                let path = format!("/proc/{process}/{file}");
                fs::write(&path, text).context(path)?;
            }
        }
        write(&jail.lives, &[1]).context("beginning the run")?;
        Ok(jail)
    }

    /// Readable as soon as the process has ended.
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Its number.
    pub fn process(&self) -> libc::pid_t {
        self.process
    }

    /// Ends the process. The kernel ends the first process of a PID namespace only after all others there.
    pub fn kill(&self) {
        // SAFETY: plain system call on a descriptor of a child that was not waited for.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.watch.as_raw_fd(), libc::SIGKILL, 0_usize, 0) };
    }

    /// Waits until the process has ended, and with it all that it had started.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(mut self) -> Result<End> {
        Ok(self.reap()?)
    }

    fn reap(&mut self) -> io::Result<End> {
        let mut status = 0;
        loop {
            // SAFETY: the process is a child of this one that was not waited for, and the status is written to a live variable.
            match Errno::result(unsafe { libc::waitpid(self.process, &raw mut status, 0) }) {
                Err(Errno::EINTR) => {}
                result => {
                    self.has_ended = true;
                    result?;
                    break;
                }
            }
        }
        Ok(if libc::WIFSIGNALED(status) {
            End::Signal(libc::WTERMSIG(status))
        } else {
            End::Exit(libc::WEXITSTATUS(status))
        })
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        if !self.has_ended {
            self.kill();
            let _ = self.reap();
        }
    }
}

/// Descriptor, in a child, of a pipe whose other end the parent alone holds.
static PARENT_LIVES: AtomicI32 = AtomicI32::new(-1);

/// Makes a child end with its parent, and ends it where the parent has ended already. The process that was started first has no such
/// parent.
fn end_with_parent() {
    let lives = PARENT_LIVES.load(Ordering::Relaxed);
    if lives < 0 {
        return;
    }
    let mut watched = libc::pollfd { fd: lives, events: 0, revents: 0 };
    // SAFETY: plain system calls, one of them with a value that outlives it.
    unsafe {
        let is_set = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0;
        libc::poll(&raw mut watched, 1, 0);
        if !is_set || watched.revents & libc::POLLHUP != 0 {
            libc::_exit(1);
        }
    }
}

/// Prepares the child: it ends with the parent, leaves its terminal, takes signals again, and waits until the parent has said who it is.
/// False where the parent has ended.
fn prepared(may_begin: &OwnedFd) -> bool {
    PARENT_LIVES.store(may_begin.as_raw_fd(), Ordering::Relaxed);
    end_with_parent();
    // A session of its own: no program in it can type on the terminal of whoever started the agent.
    // SAFETY: plain system call.
    if unsafe { libc::setsid() } == -1 {
        return false;
    }
    // The parent waits for signals by a descriptor, and has them blocked.
    if SigSet::empty().thread_set_mask().is_err() {
        return false;
    }
    // Where the parent ended before it said anything, the pipe is at its end.
    matches!(read(may_begin, &mut [0]), Ok(1))
}
