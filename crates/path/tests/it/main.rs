//! The integration tests of this crate: one executable, a module for each subject.

mod codel;
mod conservation;
mod edits;
mod oracles;
mod pie;
mod scenario;
mod usage;
