//! SIGTERM as something to look at, for a server that has files to finish.
//!
//! Not part of the crate, which has neither nix nor unsafe code: a stack with a loop of its own includes it by its path.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: nix::libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// Notes SIGTERM from now on. It is delivered only where a system call lets it in (`ppoll` with an empty signal mask), so
/// that none falls between looking and sleeping.
///
/// # Errors
/// What the kernel answers.
pub fn watch() -> Result<()> {
    SigSet::from(Signal::SIGTERM).thread_block().context("blocking SIGTERM")?;
    let action = SigAction::new(SigHandler::Handler(note), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler stores to an atomic, which is async-signal-safe.
    unsafe { sigaction(Signal::SIGTERM, &action) }.context("sigaction SIGTERM")?;
    Ok(())
}

/// True once SIGTERM has come.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
