//! Where the ends believe to be.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use quiclab_contract::{IpVersion, Role};

/// The client's port: any, as there is one connection between two addresses.
const CLIENT_PORT: u16 = 50_000;

/// The address of a role, of those for examples (RFC 5737, RFC 3849): nothing that is sent depends on it. The client knows
/// the server's port from its requests, the server from its settings, and it makes no difference either.
pub fn address(ip: IpVersion, role: Role, server_port: u16) -> SocketAddr {
    let (host, port) = match role {
        Role::Client => (1, CLIENT_PORT),
        Role::Server => (2, server_port),
    };
    let address: IpAddr = match ip {
        IpVersion::V4 => Ipv4Addr::new(192, 0, 2, host).into(),
        IpVersion::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()).into(),
    };
    SocketAddr::new(address, port)
}
