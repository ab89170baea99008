//! Whether two sides differ, by how much, and what could have been seen: intervals, p-values, power.
//!
//! Everything here takes numbers and gives numbers. docs/reference/ab.md says in words what is used where, and why.

mod estimate;
mod failures;
mod holm;
mod looks;
mod power;
mod precision;

pub use estimate::Estimate;
pub use failures::failures_by_chance;
pub use holm::holm;
pub use looks::alpha_at_look;
pub use precision::Precision;

#[cfg(test)]
pub(crate) mod simulation;
