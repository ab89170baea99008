//! What every sandbox of quiclab has in common, whoever builds the rest of it: the agent for endpoints, the testbed for programs without
//! sockets and for endpoints over the loopback interface.
//!
//! - [`Filter`]: the system calls and socket families that are refused, one list for all.
//! - [`mount_devices`]: the devices that a foreign program sees, and [`mounts`], what it takes to show it files.
//! - [`inherit_nothing`]: no descriptor and no keyring of whoever started quiclab reaches a foreign program.
//! - [`end_first`] and [`most_memory`]: what a foreign program may take of the machine's memory.
//! - [`has_all_users`]: whether there are users that nobody else is, for foreign programs.
//!
//! Namespaces, mounts, users and limits differ between the sandboxes and are not here: `crates/agent/src/sandbox.rs`,
//! `crates/testbed/src/sandbox.rs`. `docs/concepts/trust.md` has a table of what each sandbox has.

mod calls;
mod devices;
mod inherited;
mod memory;
pub mod mounts;
mod users;

pub use calls::{Filter, Program, probe};
pub use devices::mount_devices;
pub use inherited::inherit_nothing;
pub use memory::{end_first, most_memory};
pub use users::has_all_users;
