//! Addresses and names of the two hosts and of the wire between them.
//!
//! The IP addresses are those of the network of the QUIC Interop Runner.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The server's IPv4 address.
pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(193, 167, 100, 100);
/// The server's IPv6 address.
pub const SERVER_ADDRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xcafe, 0xcafe, 0x100, 0, 0, 0, 0x100);
/// The client's IPv4 address.
pub const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(193, 167, 0, 100);
/// The client's IPv6 address.
pub const CLIENT_ADDRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xcafe, 0xcafe, 0, 0, 0, 0, 0x100);
/// Link-layer address of the server's interface.
pub const SERVER_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
/// Link-layer address of the client's interface.
pub const CLIENT_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
/// Name of each host's only interface.
pub const HOST_INTERFACE: &str = "eth0";
/// The wire's interface towards the server.
pub const TO_SERVER: &str = "to-server";
/// The wire's interface towards the client. What leaves it has passed the bottleneck.
pub const TO_CLIENT: &str = "to-client";
