//! The virtual testbed: QEMU counts instructions, so time is virtual, and the same run gives the same bytes anywhere.
//!
//! [`machine`] is the QEMU command line; [`monitor`] talks to a QEMU, [`priority`] keeps its threads in order, `watch` notices a dead guest;
//! [`state`] boots once and saves; [`run`] restores, runs and collects; [`testbed`] puts it together. Whatever guests of User-Mode Linux have as well is
//! in [`guest`](crate::guest).

pub mod machine;
pub mod monitor;
pub mod priority;
pub mod run;
pub mod state;
pub mod testbed;
mod watch;
