//! The simulator as a testbed: flows of models, and transfers between real stacks that have neither sockets nor a clock.
//!
//! Read first: [`scenarios`] for models, [`transfers`] for stacks, [`testbed`] for how these are performed.

mod capture;
mod process;
pub mod program;
mod report;
pub mod scenarios;
pub mod testbed;
pub mod transfers;
