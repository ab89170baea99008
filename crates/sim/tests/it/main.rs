//! The integration tests of this crate: one executable, a module for each subject.

mod bbr;
mod bbr3;
mod common;
mod measures;
mod one_flow;
mod recovery;
mod scenarios;
mod transfer;
mod watched;
