//! The virtual testbed: QEMU counts instructions, so time is virtual, and the same run gives the same bytes anywhere.
//!
//! [`kernel`], [`kernel_build`], [`kernel_module`], [`image`] and [`initramfs`] make what a guest consists of; [`machine`] is the QEMU command line;
//! [`monitor`] talks to a QEMU, [`priority`] keeps its threads in order, `watch` notices a dead guest; [`state`] boots once and saves; [`run`] restores, runs and collects, [`results`]
//! reads what a guest left; [`testbed`] puts it
//! together.

pub mod agent;
mod captured;
pub mod disciplines;
mod forwarded;
pub mod initramfs;
pub mod machine;
pub mod monitor;
pub mod observed;
pub mod orders;
pub mod path;
pub mod priority;
pub mod results;
pub mod run;
mod seat;
pub mod state;
pub mod testbed;
mod watch;

pub use quiclab_supplies::{image, kernel, kernel_build, kernel_module};
