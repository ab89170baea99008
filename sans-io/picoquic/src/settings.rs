//! What this endpoint can do: what that for virtual machines can, as far as it needs neither sockets nor two connections.

#[path = "../vm/settings.rs"]
mod vm;

use quiclab_contract::{
    Extras, Support,
    TestCase::{Handshake, Transfer},
};
pub use vm::{CongestionControl, Settings};

/// What it can do.
pub const SUPPORT: Support<CongestionControl> =
    Support { server: &[Handshake, Transfer], client: &[Handshake, Transfer], extras: Extras::NONE, ..vm::SUPPORT };
