//! Standard output, standard error and progress.

#[macro_use]
pub mod output;
pub mod progress;
