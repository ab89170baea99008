//! Standard output, standard error and progress.

pub mod ages;
pub mod markdown;
#[macro_use]
pub mod output;
pub mod progress;
