//! The sandbox of an endpoint: namespaces of its own in which it may be root, and in which being root gives no power outside.
//!
//! They consist of
//! - a user namespace, whose root owns the endpoint's network and nothing else. Nobody in it can make another one;
//! - a PID namespace, whose process 1, the *keeper*, is the agent's and does nothing. Everything else in it ends with the keeper;
//! - IPC and UTS namespaces;
//! - a mount namespace, which each program gets when it starts: [`Entrance::enter`];
//! - a filter of system calls, and no inherited files and keys: `crates/sandbox`.
//!
//! What depends on no run happens in [`Sandbox::raise`], which the virtual testbed calls before it saves the machine's state.

use std::{
    ffi::CStr,
    fs::{self, File},
    io::{self, PipeWriter, Read, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use nix::{
    errno::Errno,
    mount::MsFlags,
    sched::{CloneFlags, setns},
};
use quiclab_sandbox::{Filter, mounts::mount_new};

use crate::{
    capabilities::Capabilities,
    jail::{Jail, Users},
    namespace::Namespace,
    root::ROOTS,
};

/// Where the table of processes of an endpoint's PID namespace is mounted, below the folder of its role.
const PROCESSES: &str = "processes";
/// The root of keepers.
const NOTHING: &str = "nothing";
/// How many user namespaces the processes of the present one may make.
const MOST_USER_NAMESPACES: &str = "/proc/sys/user/max_user_namespaces";

/// The namespaces of one endpoint. Dropping them ends every process in them.
pub struct Sandbox {
    users: Users,
    user_namespace: OwnedFd,
    /// Process 1.
    keeper: Jail,
    /// PID namespace of the agent itself.
    own_processes: OwnedFd,
    processes: PathBuf,
}

impl Sandbox {
    /// Makes the namespaces of the endpoint `role`. Its network is for the caller to build. This process must have one thread, and its
    /// mounts must not be shared with other mount namespaces.
    ///
    /// # Errors
    /// Where the kernel allows no such namespaces.
    pub fn create(role: &'static str, users: Users) -> Result<(Self, Namespace)> {
        let (user_namespace, network) = namespaces_of_users(users).with_context(|| format!("the {role}'s users"))?;
        let base = Path::new(ROOTS).join(role);
        let [processes, nothing] = [PROCESSES, NOTHING].map(|name| base.join(name));
        for folder in [&processes, &nothing] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let own_processes = File::open("/proc/self/ns/pid").context("/proc/self/ns/pid")?.into();
        let (mut ready, said) = io::pipe().context("pipe")?;
        let kinds = libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        let keeper = Jail::start(kinds, None, || keep(&processes, &nothing, &said))
            .with_context(|| format!("the {role}'s processes"))?;
        drop(said);
        let mut answer = String::new();
        ready.read_to_string(&mut answer).context("the keeper's answer")?;
        ensure!(answer == READY, "the {role}'s processes: {answer}");
        Ok((Self { users, user_namespace, keeper, own_processes, processes }, Namespace::of(role, network)))
    }

    /// Where the agent sees the table of the endpoint's processes.
    pub fn processes(&self) -> &Path {
        &self.processes
    }

    /// The user namespace.
    pub fn user_namespace(&self) -> BorrowedFd<'_> {
        self.user_namespace.as_fd()
    }

    /// Who the endpoint's root is outside; `None` where it is the agent's own user.
    pub fn owner(&self) -> Option<u32> {
        match self.users {
            Users::From(first) => Some(first),
            Users::Me | Users::Same => None,
        }
    }

    /// Makes the endpoint's root the owner of a file or folder that the agent has made for it.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn give(&self, path: &Path) -> Result<()> {
        let Some(owner) = self.owner() else { return Ok(()) };
        std::os::unix::fs::lchown(path, Some(owner), Some(owner)).with_context(|| path.display().to_string())
    }

    /// Runs `fork`, whose new process is in the PID namespace.
    ///
    /// # Errors
    /// Those of `fork`, and what the kernel answers.
    pub fn among_processes<T>(&self, fork: impl FnOnce() -> Result<T>) -> Result<T> {
        setns(self.keeper.watch(), CloneFlags::CLONE_NEWPID).context("entering the endpoint's PID namespace")?;
        let result = fork();
        setns(&self.own_processes, CloneFlags::CLONE_NEWPID).context("back from the endpoint's PID namespace")?;
        result
    }

    /// What [`enter`](Entrance::enter) needs.
    pub fn entrance(&self) -> Entrance {
        Entrance {
            users: self.users,
            user_namespace: self.user_namespace.as_raw_fd(),
            keeper: self.keeper.watch().as_raw_fd(),
        }
    }

    /// How many processes are in the PID namespace beside the keeper.
    ///
    /// # Errors
    /// Where the table of processes cannot be read.
    pub fn count_processes(&self) -> io::Result<u32> {
        let mut count = 0;
        for entry in fs::read_dir(&self.processes)? {
            let number = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
            count += u32::from(number.is_some_and(|number| number != 1));
        }
        Ok(count)
    }

    /// Ends every process in the PID namespace, for good: no other can be started there.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn end_processes(&self) -> Result<()> {
        self.keeper.kill();
        let mut watched = [nix::poll::PollFd::new(self.keeper.watch(), nix::poll::PollFlags::POLLIN)];
        loop {
            match nix::poll::poll(&mut watched, nix::poll::PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                result => return result.map(drop).context("waiting for the end of the endpoint's processes"),
            }
        }
    }
}

/// Makes the user namespace, and a network namespace that belongs to it.
fn namespaces_of_users(users: Users) -> Result<(OwnedFd, OwnedFd)> {
    let (mut ready, said) = io::pipe().context("pipe")?;
    let maker = Jail::start(libc::CLONE_NEWNET, Some(users), || {
        let answer = match fs::write(MOST_USER_NAMESPACES, "0") {
            Ok(()) => READY.to_owned(),
            Err(error) => format!("{MOST_USER_NAMESPACES}: {error}"),
        };
        say_and_wait(&answer, &said)
    })?;
    drop(said);
    let mut answer = String::new();
    ready.read_to_string(&mut answer).context("the answer from a new user namespace")?;
    ensure!(answer == READY, "{answer}");
    let open = |kind: &str| -> Result<OwnedFd> {
        let path = format!("/proc/{}/ns/{kind}", maker.process());
        Ok(File::open(&path).context(path)?.into())
    };
    Ok((open("user")?, open("net")?))
}

/// What a process in new namespaces answers when all is well.
const READY: &str = "ready";

/// The life of process 1: it mounts the table of its processes, lets go of everything, and waits to be ended.
fn keep(processes: &Path, nothing: &Path, said: &PipeWriter) -> i32 {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let prepared = mount_new("proc", "proc", processes, flags, "").and_then(|()| {
        // SAFETY: plain system call. Children of a process 1 that ignores this signal leave no zombies.
        ensure!(unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) } != libc::SIG_ERR, "ignoring SIGCHLD");
        nix::unistd::chdir(nothing).context("the keeper's root")?;
        nix::unistd::chroot(".").context("the keeper's root")
    });
    let answer = prepared.map_or_else(|error| format!("{error:#}"), |()| READY.to_owned());
    say_and_wait(&answer, said)
}

/// Answers, closes every file and waits for the end.
fn say_and_wait(answer: &str, mut said: &PipeWriter) -> i32 {
    let _ = said.write_all(answer.as_bytes());
    loop {
        // SAFETY: plain system calls; nothing uses a file of this process any more.
        unsafe {
            libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
            libc::pause();
        }
    }
}

/// How a new process gets into the sandbox. It holds no memory and no files of its own, so it can be used between fork and exec.
#[derive(Clone, Copy, Debug)]
pub struct Entrance {
    users: Users,
    user_namespace: libc::c_int,
    keeper: libc::c_int,
}

impl Entrance {
    /// Moves the calling process into the sandbox, for good: `root`, a mount point, becomes all that it sees of the file system,
    /// `folder` in it its current one. It becomes root of the user namespace with few capabilities, and no program that it executes can
    /// have more. It inherits no files and keys, and makes only the system calls that `filter` lets pass.
    ///
    /// Makes system calls only, so it may be called between fork and exec, in a process that was started
    /// [among the endpoint's](Sandbox::among_processes).
    ///
    /// # Errors
    /// What the kernel answers. Standard error says at what.
    pub fn enter(&self, root: &CStr, folder: &CStr, filter: &Filter) -> io::Result<()> {
        let done = |what: &str, result: libc::c_long| {
            if result >= 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            for part in ["quiclab-agent: ", what, " failed\n"] {
                // SAFETY: the text is as long as said.
                unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
            }
            Err(error)
        };
        let most = libc::rlimit { rlim_cur: Users::PROCESSES, rlim_max: Users::PROCESSES };
        // SAFETY: plain system calls on strings and values that outlive them.
        unsafe {
            let others = libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
            done("entering IPC and UTS namespaces", libc::setns(self.keeper, others).into())?;
            // The mount namespace belongs to the agent's users, so nobody inside can mount anything.
            done("making a mount namespace", libc::unshare(libc::CLONE_NEWNS).into())?;
            done("entering the root", libc::chdir(root.as_ptr()).into())?;
            let (here, top, none) = (c".".as_ptr(), c"/".as_ptr(), std::ptr::null());
            let moved = libc::mount(here, top, none, libc::MS_MOVE, none.cast());
            done("moving the root", moved.into())?;
            done("changing the root", libc::chroot(here).into())?;
            done("entering the start folder", libc::chdir(folder.as_ptr()).into())?;
            let entered = libc::setns(self.user_namespace, libc::CLONE_NEWUSER);
            done("entering the user namespace", entered.into())?;
            if self.users != Users::Same {
                done("leaving groups", libc::setgroups(0, std::ptr::null()).into())?;
                done("becoming root's group", libc::setresgid(0, 0, 0).into())?;
                done("becoming root", libc::setresuid(0, 0, 0).into())?;
            }
            done("limiting processes", libc::setrlimit(libc::RLIMIT_NPROC, &raw const most).into())?;
            let kept = Capabilities::OF_ENDPOINTS.keep_only();
            kept.inspect_err(|_| drop(done("dropping capabilities", -1)))?;
            done("giving up new privileges", libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        }
        let inherited = quiclab_sandbox::inherit_nothing();
        inherited.inspect_err(|_| drop(done("leaving inherited files and keys", -1)))?;
        filter.enter().inspect_err(|_| drop(done("filtering system calls", -1)))
    }
}
