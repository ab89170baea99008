//! Experiment files to plans. Pure: text in, values out.
pub mod quantity;
pub mod run;
pub mod stack;
