//! The sandbox of a program of somebody else that runs on this machine as the user: of a stack without sockets
//! (docs/concepts/stacks-in-the-simulator.md), or of User-Mode Linux with the stacks in it (docs/concepts/uml-testbed.md).
//!
//! Three parts, each of which a host may lack: namespaces, in which there are no files of the user, no other processes and no network ([`namespaces`]);
//! rules for files that hold without them ([`files`], Landlock); and system calls that such a program has no use for ([`quiclab_sandbox`], seccomp). Limits on
//! memory, file lengths and open files are always there, and nothing is inherited. [`Sandbox::around`] prepares what a start needs, [`Sandbox::enter`] is called between fork and exec,
//! and [`available`] says what this host has.

mod files;
mod limits;
mod namespaces;

use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use nix::sys::signal::Signal;

use quiclab_sandbox::{Filter, Program, end_first, inherit_nothing};
use quiclab_supplies::process::end_with_parent;

/// Where programs and libraries of the system are, on any distribution.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
];
/// Devices that hold nothing of anybody.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What a program may reach.
#[derive(Clone, Debug)]
pub(crate) struct VisibleFiles {
    /// Files and folders that it may read and execute, besides those of the system.
    pub(crate) readable: Vec<PathBuf>,
    /// The folder in which it may read, write and make files, and in which it starts.
    pub(crate) own: PathBuf,
    /// The most bytes of a file of it.
    pub(crate) file_bytes: u64,
    /// What it is.
    pub(crate) program: Program,
}

impl VisibleFiles {
    /// Whether it may execute files that it has made itself. User-Mode Linux keeps the memory of its processes in one.
    fn executes_own(&self) -> bool {
        self.program == Program::UserModeLinux
    }
}

/// The sandbox of one program.
pub(crate) struct Sandbox {
    limits: limits::Limits,
    namespaces: Option<namespaces::Namespaces>,
    files: Option<files::Rules>,
    calls: Option<Filter>,
}

impl Sandbox {
    /// Prepares what of the sandbox this host has.
    ///
    /// # Errors
    /// Where a path of `rooms` cannot be used.
    pub(crate) fn create(visible: &VisibleFiles) -> io::Result<Self> {
        let available = available();
        let visible = &VisibleFiles {
            readable: canonical(&visible.readable)?,
            own: visible.own.canonicalize()?,
            ..visible.clone()
        };
        Ok(Self {
            limits: limits::Limits::new(visible, available.namespaces.is_ok()),
            namespaces: available
                .namespaces
                .as_ref()
                .ok()
                .map(|()| namespaces::Namespaces::new(visible))
                .transpose()?,
            files: available.files.as_ref().ok().map(|()| files::Rules::new(visible)).transpose()?,
            calls: available.calls.as_ref().ok().map(|()| Filter::of(visible.program)).transpose()?,
        })
    }

    /// Goes into the sandbox. The process that comes back from here is the one to execute the program; where there are namespaces, it is a grandchild of
    /// the one that was forked, which waits for its end and ends as it does. `parent`: the process that forked, by [`std::process::id`].
    ///
    /// # Safety
    /// To be called between fork and exec only.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(crate) unsafe fn enter(&mut self, parent: u32) -> io::Result<()> {
        end_first()?;
        match &self.namespaces {
            // SAFETY: as of this function.
            Some(namespaces) => unsafe { namespaces.enter(parent)? },
            None => end_with_parent(parent, Signal::SIGKILL)?,
        }
        self.limits.enter()?;
        inherit_nothing()?;
        if let Some(files) = self.files.take() {
            files.enter()?;
        }
        match &self.calls {
            Some(calls) => calls.enter(),
            None => Ok(()),
        }
    }
}

fn canonical(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    paths.iter().map(|path| path.canonicalize()).collect()
}

/// What is there of `paths`.
fn existing<const COUNT: usize>(paths: [&str; COUNT]) -> impl Iterator<Item = &Path> {
    paths.into_iter().map(Path::new).filter(|path| path.exists())
}

/// Parts of the sandbox that this host has; what it lacks, with the reason.
#[derive(Clone, Debug)]
pub struct Available {
    /// Namespaces of users, mounts, processes, networks and interprocess communication.
    pub namespaces: Result<(), String>,
    /// Rules for files.
    pub files: Result<(), String>,
    /// A filter of system calls.
    pub calls: Result<(), String>,
}

impl Available {
    /// The parts that are missing, in words, each with its reason.
    pub fn missing(&self) -> Vec<String> {
        [("namespaces", &self.namespaces), ("Landlock", &self.files), ("seccomp", &self.calls)]
            .into_iter()
            .filter_map(|(name, sandbox)| sandbox.as_ref().err().map(|reason| format!("{name} ({reason})")))
            .collect()
    }

    /// True where neither files of the user nor other processes nor the network can be reached.
    pub fn is_closed(&self) -> bool {
        self.calls.is_ok() && (self.namespaces.is_ok() || self.files.is_ok())
    }
}

/// A warning of what `programs` can reach because parts of the sandbox are missing; `None` where it is closed.
pub(crate) fn warning(programs: &str) -> Option<String> {
    let available = available();
    (!available.is_closed()).then(|| {
        format!(
            "warning: {programs} can read the files of this user and use the network: this machine lacks {}\nhint: use only programs that \
             you trust, or see quiclab doctor",
            available.missing().join(", ")
        )
    })
}

/// Which parts of the sandbox this host has. It is tried once for each process.
pub fn available() -> &'static Available {
    static AVAILABLE: OnceLock<Available> = OnceLock::new();
    AVAILABLE.get_or_init(|| Available {
        namespaces: namespaces::probe().map_err(|error| error.to_string()),
        files: files::probe().map_err(|error| error.to_string()),
        calls: quiclab_sandbox::probe().map_err(|error| error.to_string()),
    })
}

#[cfg(test)]
mod tests;
