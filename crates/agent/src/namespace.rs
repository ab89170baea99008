//! Network namespaces: one for the server, one for the wire, one for the client.

use std::{fs::File, os::fd::OwnedFd};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns, unshare};

/// A network namespace, kept alive by this handle.
#[derive(Debug)]
pub struct Namespace {
    /// Name for error texts and counters.
    pub name: &'static str,
    handle: OwnedFd,
}

impl Namespace {
    /// Makes a new namespace. The calling thread comes back to the one it was in.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn create(name: &'static str) -> Result<Self> {
        let home = current()?;
        unshare(CloneFlags::CLONE_NEWNET).with_context(|| format!("namespace {name}"))?;
        let handle = current()?;
        setns(&home, CloneFlags::CLONE_NEWNET).context("back from a new namespace")?;
        Ok(Self { name, handle })
    }

    /// A namespace that something else has made.
    pub fn of(name: &'static str, handle: OwnedFd) -> Self {
        Self { name, handle }
    }

    /// Runs `work` inside the namespace.
    ///
    /// # Errors
    /// Those of `work`, with the namespace named.
    pub fn inside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let home = current()?;
        self.enter()?;
        let result = work().with_context(|| format!("in namespace {}", self.name));
        setns(&home, CloneFlags::CLONE_NEWNET).context("back from a namespace")?;
        result
    }

    /// Moves the calling thread into the namespace for good.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> Result<()> {
        setns(&self.handle, CloneFlags::CLONE_NEWNET).with_context(|| format!("entering namespace {}", self.name))
    }

    /// The handle, for netlink.
    pub fn handle(&self) -> &OwnedFd {
        &self.handle
    }
}

fn current() -> Result<OwnedFd> {
    Ok(File::open("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")?.into())
}
