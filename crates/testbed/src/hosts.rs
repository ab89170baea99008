//! Two or three machines as a testbed: server, wire and client on hosts of their own, over ssh, in real time.
//!
//! [`inventory`] reads the file that names them; [`session`] starts ssh and the agent's life `host` on each of them, once for all runs;
//! [`said`] reads what a host says; [`talk`] is what is said over these sessions; [`spool`] keeps what they hand over; [`archive`] sends the files of stacks; [`run`] performs a run; [`offsets`] and [`clocks`] compare the
//! hosts' clocks; [`activity`] joins what the hosts sampled; [`merge`] makes one answer of what the hosts hand over; [`testbed`] puts it together. What an endpoint sees, the path and
//! the results are those of [`crate::netns`] and [`crate::vm`].

mod activity;
mod archive;
pub mod checkup;
mod clocks;
pub mod inventory;
mod launch_time;
pub mod merge;
pub mod messages;
pub mod offsets;
mod run;
mod session;
pub mod spool;
mod talk;
mod testbed;

pub use testbed::{Hosts, NAME};
