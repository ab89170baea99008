//! Where a run happens, and the record it leaves.
//!
//! Today one testbed: [`vm`], QEMU in virtual time. Read first: [`record`] (what a run leaves), then [`vm`].
//! Knows processes and files; does not know how an experiment expands or what a report looks like.

pub mod cache;
pub mod certificates;
pub mod collect;
pub mod command;
pub mod hash;
pub mod measure;
pub mod oci;
pub mod record;
pub mod stack;
pub mod vm;
