//! The integration tests of this crate: one executable, a module for each subject.

mod browser;
mod colours;
mod comment;
mod common;
mod comparison;
mod cpu_by_function;
mod cpu_time;
mod handshake_cells;
mod handshakes;
mod interop;
mod look_page;
mod narrow;
mod ranking;
mod repeated;
mod run_page;
mod scan_memory;
mod tables;
