//! Ethernet frames of one flow, for captures made by hand.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep, TcpHeader, UdpHeader};

/// The server of every frame here.
pub const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
/// The client of every frame here.
pub const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 50_000);

/// Ethernet and IPv4 from the server's address to the client's.
pub fn from_server() -> PacketBuilderStep<IpHeaders> {
    PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
}

/// Ethernet and IPv4 from the client's address to the server's.
pub fn from_client() -> PacketBuilderStep<IpHeaders> {
    PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64)
}

/// A frame with a UDP datagram.
///
/// # Panics
/// Where the payload is too long for one.
pub fn udp(headers: PacketBuilderStep<UdpHeader>, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    headers.write(&mut frame, payload).expect("a payload that fits");
    frame
}

/// A frame with a TCP segment.
///
/// # Panics
/// Where the payload is too long for one.
pub fn tcp(headers: PacketBuilderStep<TcpHeader>, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    headers.write(&mut frame, payload).expect("a payload that fits");
    frame
}

/// A datagram of the server.
pub fn udp_from_server(payload: &[u8]) -> Vec<u8> {
    udp(from_server().udp(SERVER.port(), CLIENT.port()), payload)
}
