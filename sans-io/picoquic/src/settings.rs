//! The settings that this endpoint supports: those of the endpoint for virtual machines that need neither sockets nor two connections.

#[path = "../vm/settings.rs"]
mod vm;

use quiclab_contract::{
    Extras, Support,
    TestCase::{Handshake, Transfer},
};
pub use vm::{CongestionControl, Settings};

/// The settings that this endpoint supports.
pub const SUPPORT: Support<CongestionControl> = Support {
    server: &[Handshake, Transfer],
    client: &[Handshake, Transfer],
    certificate_delay: false, // it would sleep, which takes no virtual time
    extras: Extras::NONE,
    ..vm::SUPPORT
};
