//! What `quiclab perf` counts. Endpoints say how far they have come ([`Progress`], [`Tracker`]); a [`Reading`] is all ends at
//! one moment, an [`Interval`] is what lies between two of them, a [`Summary`] is a whole test. [`control`] carries the
//! counters of a server on another machine.
//!
//! Nothing here starts a process or opens a file.

pub mod control;
mod interval;
mod iperf;
mod progress;
mod summary;

pub use interval::{Direction, Interval, Reading, interval};
pub use iperf::{Asked, iperf};
pub use progress::{BadProgress, Progress, Sample, Tracker};
pub use summary::{End, Summary, fairness, summary};
