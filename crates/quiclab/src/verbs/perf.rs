//! `quiclab perf`: how fast stacks are.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use quiclab_experiment::TestbedName;
use quiclab_inputs::MOST_TEXT_BYTES;
use quiclab_perf::measure::{Ended, PerfHooks, PerfSettings, measure};
use quiclab_testbed::{laboratory::Laboratory, registry::testbed, stack_store::StackRequest};

use crate::{
    session::{bounded_input, laboratory::open_on, signals},
    terminal::{output, progress},
};

/// Measures. Returns 1 where a test failed.
///
/// # Errors
/// A stack that is not there, cannot be built or has no `perf`, a server that cannot be reached, an interruption.
pub fn perf(settings: &PerfSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    Ok(match measure(settings, &stop, &CommandHooks)? {
        Ended::Measured => 0,
        Ended::Failed => 1,
        Ended::Interrupted => signals::INTERRUPTED,
    })
}

/// The terminal, the cache and the signals of this process.
struct CommandHooks;

impl PerfHooks for CommandHooks {
    fn print(&self, text: &str) -> Result<()> {
        output::print(text)
    }

    fn status(&self, text: &str) {
        output::tell_line(text);
    }

    fn progress(&self, text: &str) {
        progress::say(text);
    }

    fn laboratory(&self, stacks: &StackRequest, stop: &Arc<AtomicBool>) -> Result<Laboratory> {
        open_on(testbed(TestbedName::Netns.as_str())?, stacks, stop.clone())
    }

    fn read_certificate(&self, path: &Path) -> Result<String> {
        bounded_input::read_text(path, MOST_TEXT_BYTES, "a certificate")
    }
}
