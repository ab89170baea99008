//! The functions that a program hands to its measurements.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use quiclab_testbed::{laboratory::Laboratory, stack_store::StackRequest};

/// The terminal, the testbed that builds stacks, and files that a user names.
pub trait PerfHooks: Sync {
    /// Prints results, in a line or several.
    ///
    /// # Errors
    /// Where they cannot be written.
    fn print(&self, text: &str) -> Result<()>;

    /// Tells the user something, in a line or several, apart from the results.
    fn status(&self, text: &str);

    /// Shows what is being built.
    fn progress(&self, text: &str);

    /// Opens the testbed whose stacks run on this machine, with these stacks. Nothing is begun any more once `stop` is set.
    ///
    /// # Errors
    /// A stack that is not there, a cache that cannot be used.
    fn laboratory(&self, stacks: &StackRequest, stop: &Arc<AtomicBool>) -> Result<Laboratory>;

    /// Reads a certificate (PEM) that the user named. A signal ends this process meanwhile.
    ///
    /// # Errors
    /// Where it cannot be read, or is too long.
    fn read_certificate(&self, path: &Path) -> Result<String>;
}

/// The program's own: it lives as long as the process, because threads use it.
pub type Hooks = &'static dyn PerfHooks;

/// The end of all measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All tests gave numbers.
    Measured,
    /// A test failed; the reason was handed to [`PerfHooks::status`].
    Failed,
    /// The flag to stop was set.
    Interrupted,
}
