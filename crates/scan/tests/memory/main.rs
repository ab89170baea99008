//! How much memory is taken. The allocator counts all of a process, so each test of cargo-nextest has one of its own.

#[path = "../it/common/mod.rs"]
mod common;
mod handshakes;
mod tables;

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;
