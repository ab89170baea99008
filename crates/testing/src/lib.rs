//! What tests of several crates share. No crate depends on it but for its tests.
//!
//! - A test that lacks something of the machine [skips](skip) itself in one line. [`has_program`], [`has_root`] and
//!   [`has_namespaces`] look for what is usually lacking, and say it.
//! - [`wait_until`] something happens; its limit only ends a hang.
//! - [`wake_delay`] and [`Wakings`] measure how busy the machine is, for tests of real time: their bounds are relative to it.
//! - [`stolen`] is the time that the hypervisor takes away.
//! - [`replay`] gives targets of the fuzzer every input of their corpora; [`replay_corpora`] writes the tests.
//! - [`frames`] and [`files`]: frames of one flow, and paths in this repository.

pub mod files;
pub mod frames;
mod needs;
mod processes;
pub mod replay;
mod steal;
mod wakings;

pub use needs::{has_namespaces, has_own_process, has_program, has_root, skip};
pub use processes::{processes_with, wait_until};
pub use steal::{TICK, stolen};
pub use wakings::{Wakings, wake_delay};
