//! Loss that no queue causes.

pub mod burst;
pub mod content;
pub mod independent;
pub mod limited;
pub mod list;
pub mod rule;
