//! Where a run happens.
//!
//! Two testbeds: [`vm`], QEMU in virtual time, for transfers between stacks; [`sim`], models in virtual time, for scenarios and for
//! stacks without sockets. Beside them [`loopback`], in real time and without measurements, for endpoints that are being written. Read first:
//! [`perform`] (what a run needs), `quiclab-record` (what it leaves), then [`vm`].
//! Knows processes and files; does not know how an experiment expands or what a report looks like.

pub mod cache;
pub mod certificates;
mod child;
pub mod collect;
pub mod command;
pub mod contract;
pub mod hash;
pub mod loopback;
pub use quiclab_record::measure;
pub mod oci;
pub mod perform;
pub use quiclab_record as record;
pub mod sim;
pub mod stack;
pub mod vm;
