//! `quiclab stacks`

pub mod build;
pub mod check;
pub mod implementations;
pub mod import;
pub mod list;
pub mod trial;
