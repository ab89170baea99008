//! The simulator as a testbed: flows of models, and transfers between real stacks that have neither sockets nor a clock.
//!
//! Read first: [`models`] for models, [`transfers`] for stacks, [`testbed`] for how these are performed.

pub mod answer;
mod capture;
mod contents;
mod disk;
mod foreign;
#[cfg(test)]
pub(crate) mod hostile;
pub mod models;
mod process;
pub mod program;
mod report;
pub mod testbed;
pub mod transfers;
