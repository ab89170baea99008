//! Interoperation: test cases, and whether packets show that a pair of stacks passed them. Pure.
//!
//! Holds: the cases with what each of them needs ([`CASES`]; names and meanings are those of the QUIC Interop Runner), what
//! a capture shows of its connections ([`Facts`]), the verdict ([`judge`]), and the verdicts of many pairs ([`Matrix`]). Holds
//! not: endpoints, paths, files and processes (`quiclab-testbed`), tables and pages (`quiclab-report`).
//!
//! In order: choose a [`Case`], run it, hand the capture to [`Facts::read`], the facts to [`judge`], the verdict to a
//! [`Matrix`]. A new case is a file in `cases` with its judge, and a line in [`CASES`].

mod case;
mod cases;
mod checks;
mod facts;
mod matrix;
mod verdict;

pub use case::{Case, Files, PathNeeds};
pub use cases::{CASES, case_named};
pub use facts::{
    AddressValidation, AmplificationFacts, CloseFacts, Completion, ConnectionFacts, CrossTrafficFacts, Facts,
    FactsSettings, PathFacts, RetryFacts, SenderFacts, StreamFacts, ValidatedBy,
};
pub use matrix::{Entry, Matrix, MatrixError, SCHEMA};
pub use verdict::{EXIT_NOT_SUPPORTED, End, EndpointFacts, Verdict, judge};
