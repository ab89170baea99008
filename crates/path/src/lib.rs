//! The path model: what lies between two hosts, as stages in a row that packets pass in one direction.
//!
//! Pure: time and random streams are arguments, so the simulator and a forwarder of real packets run the same stages. Does not read what a
//! packet carries: whoever hands it in may say ([`content`]). Read first: [`pipeline::Pipeline`], then [`stage::Stage`]; a stage is a file, and a
//! line here, or in `loss.rs` or `queue.rs`.

pub mod backlog;
pub mod bit_errors;
pub mod clock;
pub mod content;
pub mod corrupt;
pub mod delay;
pub mod delay_trace;
pub mod duplicate;
pub mod edits;
mod fifo;
pub mod jitter;
pub mod link;
pub mod loss;
pub mod packet;
pub mod pipeline;
pub mod probability;
pub mod queue;
pub mod random;
pub mod rate_trace;
pub mod rebind;
pub mod reorder;
pub mod scenario;
pub mod spec;
pub mod stage;
pub mod token_bucket;
pub mod usage;
pub mod wire;
