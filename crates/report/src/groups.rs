//! The runs of a report by their settings.

mod group;
mod grouping;
mod repeated;
mod repetitions;

pub(crate) use group::{Group, GroupWarning};
pub(crate) use grouping::{all, is_captured, name_alone, other_builds, published_alone};
pub use repetitions::{Repetition, repetitions};
