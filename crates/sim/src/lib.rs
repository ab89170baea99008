//! Many hosts in virtual time, without a kernel: transports by their RFCs over the path model.
//!
//! Pure: no clock, no files, no threads. Read first: [`simulation::Simulation`], then [`endpoint::Endpoint`]. Knows nothing of experiments, records or
//! reports.

pub mod endpoint;
mod events;
pub mod fairness;
mod lane;
pub mod measures;
pub mod pacer;
mod ranges;
pub mod scenario;
pub mod segment;
pub mod simulation;
pub mod tcp;
pub mod topology;
pub mod transfer;
pub mod workload;

/// A digest of the sources of the simulator and of what it rests on: equal digests give equal outcomes.
pub const VERSION: &str = env!("QUICLAB_SIMULATOR");
