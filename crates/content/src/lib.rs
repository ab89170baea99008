//! What each datagram of a connection holds, read where it enters a path: flights, probes, packets and frames, for rules that lose datagrams
//! by their meaning.
//!
//! Contains: the [`Classifier`], and which bytes a run has [lost](Lost). Does not contain: the rules, which are `quiclab_path::content::rule`; files, clocks.
//!
//! The order of calls, by whoever moves packets through two pipelines:
//!
//! 1. [`Classifier::add_keys`] with the lines that the endpoints' key logs have gained, before the next frame;
//! 2. [`Classifier::on_frame`] for each frame that enters the path, both directions, in the order of time. What it gives goes into the path
//!    with the packet (`quiclab_path::content::Payload`);
//! 3. [`Classifier::on_delivered`] for each packet that leaves the path whole, with that same content, **before** the frames that its receiver
//!    sends afterwards are handed in. What is never delivered was never received: a dropped or corrupted packet needs no call. A copy may be
//!    delivered twice.
//!
//! The third call matters: which flight a datagram is part of depends on what its sender has received. Without it every flight is the first.

mod classifier;
mod connection;
mod key_log;
mod lost;
mod ranges;
mod reading;

pub use classifier::Classifier;
pub use key_log::KeyLogLines;
pub use lost::{Difference, Lost};
