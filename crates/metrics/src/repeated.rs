//! What repetitions of one thing on a noisy machine can look like besides scattered around a mean: outliers, drift, two modes.
//!
//! Everything here takes numbers and gives numbers. docs/concepts/noise.md says in words what each test is, and how often it is wrong.

mod dip;
mod drift;
mod modes;
mod outliers;

pub use dip::dip;
pub use drift::Drift;
pub use modes::Modes;
pub use outliers::{FEWEST_FOR_OUTLIERS, outliers};

#[cfg(test)]
mod simulation;
