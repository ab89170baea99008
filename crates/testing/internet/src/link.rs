//! Interfaces, addresses and routes of the calling thread's network namespace.

use std::{
    fs,
    net::{IpAddr, Ipv6Addr},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use ipnet::IpNet;
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage},
    link::{LinkAttribute, LinkFlags, LinkMessage},
    route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType},
};
use nix::net::if_::if_nametoindex;
use quiclab_agent::netlink::Netlink;

/// Packets that wait for the Internet to read them. A scanner can send this many before the kernel drops some.
const QUEUE_PACKETS: u32 = 1 << 16;

/// Time between two looks at the routes.
const ROUTE_POLL_INTERVAL: Duration = Duration::from_micros(200);
/// How long the kernel may take to route packets to an address. It takes microseconds, and more where the machine is busy.
const ROUTE_TIMEOUT: Duration = Duration::from_secs(60);

/// Brings the loopback interface up.
pub(crate) fn raise_loopback() -> Result<()> {
    let index = if_nametoindex("lo").context("interface lo")?;
    Netlink::open()?.change(up(index, Vec::new())).context("bringing lo up")
}

/// Keeps IPv6 from sending anything of its own by interfaces that do not exist yet. Where the files are missing or cannot be written,
/// the Internet gets packets that it counts and does not answer.
pub(crate) fn silence_ipv6() {
    for (name, value) in
        [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0"), ("dad_transmits", "0")]
    {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/default/{name}"), value);
    }
}

/// Brings an interface up with addresses of its own, and leads prefixes to it.
pub(crate) fn configure(interface: &str, mtu: u32, addresses: &[IpAddr], prefixes: &[IpNet]) -> Result<()> {
    let index = if_nametoindex(interface).with_context(|| format!("interface {interface}"))?;
    let mut netlink = Netlink::open()?;
    let attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(QUEUE_PACKETS)];
    netlink.change(up(index, attributes)).with_context(|| format!("bringing {interface} up"))?;
    for address in addresses {
        netlink
            .create(RouteNetlinkMessage::NewAddress(own_address(index, *address)))
            .with_context(|| format!("address {address}"))?;
    }
    for prefix in prefixes {
        netlink
            .create(RouteNetlinkMessage::NewRoute(route(index, *prefix, addresses)))
            .with_context(|| format!("route to {prefix}"))?;
    }
    for address in addresses {
        if let IpAddr::V6(address) = address {
            wait_until_routed(&mut netlink, *address)?;
        }
    }
    Ok(())
}

/// Waits until packets to an address of this namespace reach it. The kernel makes that route in a work queue, after it has answered
/// the request for the address (`addrconf_dad_work` in net/ipv6/addrconf.c); until then it drops what arrives.
fn wait_until_routed(netlink: &mut Netlink, address: Ipv6Addr) -> Result<()> {
    let mut request = RouteMessage::default();
    request.header.address_family = AddressFamily::Inet6;
    let wanted = RouteAttribute::Destination(RouteAddress::Inet6(address));
    let is_wanted = |route: &RouteNetlinkMessage| match route {
        RouteNetlinkMessage::NewRoute(route) => {
            route.header.kind == RouteType::Local && route.attributes.contains(&wanted)
        }
        _ => false,
    };
    let start = Instant::now();
    while !netlink.dump(RouteNetlinkMessage::GetRoute(request.clone()))?.iter().any(is_wanted) {
        ensure!(start.elapsed() < ROUTE_TIMEOUT, "the kernel does not route packets to its own address {address}");
        sleep(ROUTE_POLL_INTERVAL);
    }
    Ok(())
}

fn up(index: u32, attributes: Vec<LinkAttribute>) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = attributes;
    RouteNetlinkMessage::SetLink(message)
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn own_address(index: u32, address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = if address.is_ipv4() { 32 } else { 128 };
    message.header.index = index;
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    message
}

fn route(index: u32, prefix: IpNet, sources: &[IpAddr]) -> RouteMessage {
    let as_route = |address| match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    };
    let mut message = RouteMessage::default();
    message.header.address_family = family(prefix.addr());
    message.header.destination_prefix_length = prefix.prefix_len();
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = if prefix.addr().is_ipv4() { RouteScope::Link } else { RouteScope::Universe };
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![RouteAttribute::Destination(as_route(prefix.trunc().addr())), RouteAttribute::Oif(index)];
    if let Some(source) = sources.iter().find(|source| source.is_ipv4() == prefix.addr().is_ipv4()) {
        message.attributes.push(RouteAttribute::PrefSource(as_route(*source)));
    }
    message
}
