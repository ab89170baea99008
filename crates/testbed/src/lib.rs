//! Where a run happens, and the record it leaves.
//!
//! [`testbed::Testbed`] says what a testbed can do, [`registry::TESTBEDS`] lists them: [`vm`], QEMU in virtual time, [`uml`], a kernel that is a
//! program, in virtual time, [`sim`], models and stacks without sockets in virtual time, and [`netns`], namespaces of this machine in real time.
//! Beside them [`loopback`], in real time and without measurements, for endpoints that are being written. A [`laboratory::Laboratory`] is a testbed with its stacks: it builds, prepares and performs. Read first: [`testbed`],
//! [`laboratory`], then [`vm`]; `quiclab-record` is what a run leaves.
//! Knows processes and files; does not know how an experiment expands or what a report looks like.

mod arrived;
mod built_stacks;
pub mod certificates;
pub mod child;
pub mod collect;
pub mod contract;
pub mod cores;
pub mod guest;
pub mod hosts;
pub mod laboratory;
pub mod lock;
pub mod loopback;
pub mod netns;
pub mod oci;
pub mod perform;
pub mod quiet;
pub mod registry;
pub mod sandbox;
pub mod sent;
pub mod sim;
pub mod stack_store;
pub mod testbed;
pub mod uml;
pub mod vm;

pub use quiclab_supplies::{cache, command, erofs, hash, image, kernel, kernel_build, kernel_module, shell, stack};
