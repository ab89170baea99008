//! What every kind of stage can do with its settings.

use quiclab_units::Duration;

use super::{declare::Declared, kernel::Kernel, part::Part};
use crate::{content::Payload, random::Random};

/// What every kind of stage can do with its settings.
pub trait StageKind: Declared {
    /// What it becomes in a pipeline.
    ///
    /// # Errors
    /// Settings that do not go together.
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String>;

    /// What the kernel's queueing disciplines make of it.
    fn kernel(&self) -> Kernel;

    /// What a file may not ask for, though it could be built.
    ///
    /// # Errors
    /// The key, and what is wrong.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether it changes bytes, which only whoever forwards real packets can do.
    fn changes_bytes(&self) -> bool {
        false
    }

    /// Longest time that it can hold a packet while nothing waits for a rate; an upper bound where there is one.
    fn longest_delay(&self) -> Duration {
        Duration::ZERO
    }
}
