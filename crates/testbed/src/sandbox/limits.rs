//! Limits of resources, which every kernel has.

use std::io;

use nix::sys::resource::{Resource, setrlimit};

/// Address space.
const MOST_MEMORY: u64 = 4 << 30;
/// Open files; a pipe holds up to 1 MiB of the kernel's memory.
const MOST_FILES: u64 = 256;
/// Threads.
const MOST_THREADS: u64 = 256;

/// What is limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    file_bytes: u64,
    limits_threads: bool,
}

impl Limits {
    /// Threads can be limited only in a namespace of users, where the others of the user do not count.
    pub(super) fn new(file_bytes: u64, limits_threads: bool) -> Self {
        Self { file_bytes, limits_threads }
    }

    pub(super) fn enter(self) -> io::Result<()> {
        for (resource, limit) in [
            (Resource::RLIMIT_AS, MOST_MEMORY),
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
