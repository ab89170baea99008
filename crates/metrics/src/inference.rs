//! Whether two sides differ, by how much, and what could have been seen: intervals, p-values, power.
//!
//! Everything here takes numbers and gives numbers. docs/reference/ab.md says in words what is used where, and why.

mod estimate;
mod failures;
mod holm;
mod interim_analyses;
mod power;
mod precision;
mod share;
mod tarone;

pub use estimate::Estimate;
pub use failures::failures_by_chance;
pub use holm::holm;
pub use interim_analyses::alpha_at_analysis;
pub use precision::Precision;
pub use share::share_interval;
pub use tarone::{smallest_by_chance, tarone};

#[cfg(test)]
pub(crate) mod simulation;
