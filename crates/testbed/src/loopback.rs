//! Endpoints on this machine, over the loopback of a network namespace of their own: in real time, and nothing is measured.
//!
//! Call order: [`enter`] once, before there is a second thread; then a [`Root`] for each stack, then [`Endpoint::start`],
//! or [`start_server`] for a server alone. An endpoint is in a [`sandbox`]: it sees programs and libraries of this machine, or the files of a
//! guest, and its own folders; what it starts is in a PID namespace with it and ends with it.

mod endpoint;
mod keeper;
mod namespace;
mod root;
mod sandbox;
mod server;

pub use endpoint::{Endpoint, Exit, NotStarted, Start};
pub use namespace::{Network, Scratch, enter};
pub use root::{Root, share};
pub use server::{ServerSettings, start_server};
