//! The one thing that endpoints of the QUIC Interop Runner ask of its network simulator: that it is there.

use std::{
    net::{Ipv4Addr, TcpListener},
    thread,
};

use anyhow::{Context, Result};

use crate::namespace::Namespace;

/// The port at which clients wait for the simulator (`/wait-for-it.sh sim:57832`).
const PORT: u16 = 57832;

/// Answers at the simulator's port on the loopback of `namespace`, where the name `sim` leads, until the guest ends.
///
/// # Errors
/// Where the port cannot be had.
pub fn answer(namespace: &Namespace) -> Result<()> {
    let listener =
        namespace.inside(|| TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).context("the simulator's port"))?;
    // A connection that was accepted is all they want to see.
    thread::Builder::new().name("simulator".into()).spawn(move || while listener.accept().is_ok() {})?;
    Ok(())
}
