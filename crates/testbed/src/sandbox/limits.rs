//! Limits of resources, which every kernel has.

use std::io;

use nix::sys::resource::{Resource, setrlimit};
use quiclab_sandbox::Program;

use super::VisibleFiles;

/// Address space.
const MOST_MEMORY: u64 = 4 << 30;
/// The same for User-Mode Linux, the largest of which has 6 GiB.
const MOST_MEMORY_OF_UML: u64 = 16 << 30;
/// Open files; a pipe holds up to 1 MiB of the kernel's memory.
const MOST_FILES: u64 = 256;
/// Threads.
const MOST_THREADS: u64 = 256;

/// What is limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    memory: u64,
    file_bytes: u64,
    limits_threads: bool,
}

impl Limits {
    /// Threads can be limited only in a namespace of users, where the others of the user do not count.
    pub(super) fn new(visible: &VisibleFiles, limits_threads: bool) -> Self {
        let memory = match visible.program {
            Program::UserModeLinux => MOST_MEMORY_OF_UML,
            Program::WithoutSockets | Program::Endpoint { .. } => MOST_MEMORY,
        };
        Self { memory, file_bytes: visible.file_bytes, limits_threads }
    }

    pub(super) fn enter(self) -> io::Result<()> {
        for (resource, limit) in [
            (Resource::RLIMIT_AS, self.memory),
            (Resource::RLIMIT_FSIZE, self.file_bytes),
            (Resource::RLIMIT_NOFILE, MOST_FILES),
            (Resource::RLIMIT_CORE, 0),
            (Resource::RLIMIT_MSGQUEUE, 0),
            (Resource::RLIMIT_RTPRIO, 0),
        ] {
            setrlimit(resource, limit, limit)?;
        }
        if self.limits_threads {
            setrlimit(Resource::RLIMIT_NPROC, MOST_THREADS, MOST_THREADS)?;
        }
        Ok(())
    }
}
