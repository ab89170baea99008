//! Namespaces of this machine as a testbed: server, wire and client in network namespaces joined by veth, in real time.
//!
//! The agent's life `serve` does the work; [`servant`] starts it and takes its answer. [`plain`] has the files of stacks as folders,
//! [`host`] finds out what this machine's kernel can do, [`path`] who moves packets between the namespaces, [`run`] performs a run,
//! [`testbed`] puts it together. Runs, disciplines and results are those of [`crate::vm`]: inside, the agent is the same.
//!
//! A run is a sample: the clock is that of the wall, and whatever else this machine does disturbs it.

pub mod host;
mod path;
mod plain;
mod run;
mod servant;
mod testbed;

pub use testbed::{NAME, Namespaces};
