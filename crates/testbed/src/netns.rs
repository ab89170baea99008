//! Namespaces of this machine as a testbed: server, wire and client in network namespaces joined by veth, in real time.
//!
//! The agent's life `serve` does the work; [`servant`] starts it and takes its answer. [`plain`] has the files of stacks as folders,
//! [`host`] finds out what this machine's kernel can do,
//! [`machine`] whether it has what a run asks of the whole machine, [`path`] who moves packets between the namespaces, [`turn`] keeps two processes
//! from performing runs at the same time, [`tcp`] finds the kernel's congestion control, [`run`] performs a run,
//! [`testbed`] puts it together. Runs, disciplines and results are those of [`crate::vm`]: inside, the agent is the same.
//!
//! A run is a sample: the clock is that of the wall, and whatever else this machine does disturbs it.

mod activity;
pub(crate) mod collected;
pub mod host;
mod machine;
pub(crate) mod path;
pub(crate) mod plain;
pub(crate) mod run;
mod servant;
pub(crate) mod tcp;
mod testbed;
mod turn;

pub use testbed::{NAME, Namespaces};
