//! Trials of stacks: what a manifest claims and how that is proved, and what endpoints answer.
//!
//! Contains: the runs that prove claims ([`claims`]) and what their records show ([`evidence`]), the cases of the QUIC Interop Runner as
//! runs and verdicts ([`case_run`], [`verdict`]), and trials over this machine's loopback interface without virtual machines ([`trial`]).
//! Does not contain: the command line, progress, and which stacks are tried.

pub mod case_run;
pub mod claims;
mod congestion_control;
pub mod evidence;
pub mod files;
mod handshakes;
pub mod output_tail;
mod qlogs;
pub mod refusals;
mod regular;
mod streams;
pub mod trial;
pub mod verdict;
