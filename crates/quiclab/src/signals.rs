//! Ctrl-C and a polite kill: everything is ended in order. The second one ends this process at once; the kernel then
//! ends its virtual machines.

use std::sync::{Arc, atomic::AtomicBool};

use anyhow::{Context, Result};
use quiclab_testbed::perform::Interrupted;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

/// Exit status after an interruption, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// A flag that is set by the first signal.
///
/// # Errors
/// What the kernel answers.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone()).context("signal handler")?;
        flag::register(signal, stop.clone()).context("signal handler")?;
    }
    Ok(stop)
}

/// True for an error that comes from a signal.
pub fn is_interruption(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<Interrupted>() == Some(&Interrupted::ByRequest))
}
