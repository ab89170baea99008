//! What `quiclab perf` counts. Endpoints say how far they have come ([`Progress`], [`Tracker`]); a [`Reading`] is all ends at
//! one moment, an [`Interval`] is what lies between two of them, a [`Summary`] is a whole test.
//! [`Exchanges`] is one of a [`Load`] of requests or handshakes, with [`Latencies`]. [`control`] carries the
//! counters of a server on another machine. [`udp`] is what datagrams without a stack take. [`roofline`] measures what a machine
//! can do at best, and does not count what stacks do. [`measure`] starts the ends and shows what they count.
//!
//! Nothing but [`measure`] and [`roofline`] starts a process or opens a file.

// The fuzzer's targets call this crate by its name.
#[cfg(test)]
extern crate self as quiclab_perf;

pub mod control;
mod exchanges;
#[cfg(test)]
mod fuzz_corpus;
mod interval;
mod iperf;
mod latencies;
mod load;
pub mod measure;
mod progress;
pub mod roofline;
mod summary;
pub mod udp;

pub use exchanges::{EndUse, ExchangeInterval, Exchanges, count, exchange_interval, exchanges};
pub use interval::{Direction, Interval, Reading, interval};
pub use iperf::{Asked, iperf, iperf_of_both, iperf_of_exchanges};
pub use latencies::{BadLatencies, Figures, Latencies};
pub use load::{Load, Sizes};
pub use progress::{BadProgress, Progress, Sample, Tracker};
pub use summary::{End, Summary, fairness, summary, summary_of_both};
