//! Endpoints on this machine, over the loopback of a network namespace of their own: in real time, and nothing is measured.
//!
//! Call order: [`enter`] once, before there is a second thread; then a [`Root`] for each stack, then [`Endpoint::start`],
//! or [`start_server`] for a server alone. What an
//! endpoint can reach is this machine's files, so it is no sandbox; it has no network, and what it starts
//! is in a PID namespace with it and ends with it.

mod endpoint;
mod keeper;
mod namespace;
mod root;
mod server;

pub use endpoint::{Endpoint, Exit, NotStarted, Start};
pub use namespace::{Network, Scratch, enter};
pub use root::{Root, share};
pub use server::{ServerSettings, start_server};
