//! User-Mode Linux as a testbed: a kernel that is a program, with stacks at full speed, in virtual time.
//!
//! [`machine`] is the command line of a guest and its sandbox, [`processor`] what it sees of the processor, [`run`] boots one for each run and
//! collects what it leaves, [`watch`] notices one that will never end, [`testbed`] puts it together. Whatever guests of QEMU have as well is in
//! [`guest`](crate::guest).

mod machine;
mod processor;
mod run;
mod testbed;
mod watch;

pub use processor::is_hidden;
pub use testbed::UserModeLinux;
