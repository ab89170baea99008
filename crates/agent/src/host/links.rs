//! The networks of this host's part of a run, and how they reach the other hosts.
//!
//! Each of the host's interfaces carries one more interface of ours, a macvlan with a link-layer address of its own, which is made in a
//! namespace of the run and goes away with it. So the host's own addresses, routes and queues stay as they are.
//!
//! ```text
//!   server's namespace     wire, or port           host's card     client's card       port              client's namespace
//!             eth0 ======= to-server  to-client ~~~~ eth1 ------------- eth1 ~~~~ to-server to-client ======== eth0
//!                   veth              macvlan                                     macvlan            veth
//! ```
//!
//! A wire shapes, a *port* only forwards. With two hosts the server's host has the wire; with three, it lies between two ports, and both its
//! interfaces are macvlans. An endpoint is behind a veth because offloads of a macvlan cannot be switched off: a tap there would see
//! super-packets.
//!
//! A macvlan takes in what is sent to its own link-layer address, so it has the address of the endpoint that is behind it as its card
//! sees it.

use anyhow::{Context, Result, ensure};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{InfoData, InfoKind, InfoMacVlan, LinkAttribute, LinkInfo, LinkMessage, MacVlanMode},
};
use quiclab_agent_protocol::{
    addresses::{CLIENT_ADDRESS, CLIENT_ADDRESS_V6, SERVER_ADDRESS, SERVER_ADDRESS_V6, TO_CLIENT, TO_SERVER},
    hosts::{Part, PlaceOfHost},
};
use std::{fs, os::fd::AsRawFd};

use crate::{
    namespace::Namespace,
    netlink::Netlink,
    settling::Settling,
    sysctl,
    topology::{self, CLIENT_GATEWAYS, SERVER_GATEWAYS, index},
};

/// Packets of the run have up to this many bytes.
const LEAST_MTU: u32 = 1500;

/// Makes sure that this host has the interfaces of its part, and that they can carry a run. Called before the host's files are out of
/// sight.
///
/// # Errors
/// The first one that is missing, down, or too small.
pub(super) fn check(place: &PlaceOfHost) -> Result<()> {
    for interface in place.interfaces() {
        let read = |file: &str| fs::read_to_string(format!("/sys/class/net/{interface}/{file}"));
        let mtu =
            read("mtu").map_err(|_| anyhow::anyhow!("interface {interface:?}: this host has none of that name"))?;
        let mtu: u32 = mtu.trim().parse().with_context(|| format!("interface {interface:?}: mtu"))?;
        ensure!(
            mtu >= LEAST_MTU,
            "interface {interface:?}: found an MTU of {mtu} bytes, expected {LEAST_MTU} or more\nhint: ip link set {interface} mtu {LEAST_MTU}"
        );
        let has_link = read("carrier").is_ok_and(|carrier| carrier.trim() == "1");
        ensure!(
            has_link,
            "interface {interface:?}: found no link, expected one\nhint: ip link set {interface} up, and check the cable"
        );
    }
    Ok(())
}

/// What lies between this host's endpoint and its cards.
pub(super) struct Between {
    /// The namespace.
    pub namespace: Namespace,
    /// Its interfaces that are veths.
    pub veths: Vec<&'static str>,
}

/// Makes the networks: that of the endpoint, if there is one here, exists already.
///
/// # Errors
/// Where the kernel lacks macvlan, or refuses something.
pub(super) fn build(
    part: &Part,
    server: Option<&Namespace>,
    client: Option<&Namespace>,
    settling: Settling,
) -> Result<Between> {
    for namespace in [server, client].into_iter().flatten() {
        namespace.inside(|| sysctl::of_host(settling))?;
    }
    let (server_mac, client_mac) = (part.server_mac, part.client_mac);
    let between = Namespace::create(if part.place.has_wire() { "wire" } else { "port" })?;
    between.inside(sysctl::without_ipv6)?;
    let veth = |name: &str, endpoint: Option<&Namespace>, mac| {
        let endpoint = endpoint.context("the endpoint's network is missing")?;
        let message = RouteNetlinkMessage::NewLink(topology::veth(name, endpoint, mac));
        between.inside(|| Netlink::open()?.create(message).with_context(|| format!("veth {name}")))
    };
    let veths = match &part.place {
        PlaceOfHost::ServerAndWire { to_client: interface } | PlaceOfHost::Server { interface } => {
            veth(TO_SERVER, server, server_mac)?;
            macvlan(interface, &between, TO_CLIENT, server_mac)?;
            vec![TO_SERVER]
        }
        PlaceOfHost::Wire { to_server, to_client } => {
            macvlan(to_server, &between, TO_SERVER, client_mac)?;
            macvlan(to_client, &between, TO_CLIENT, server_mac)?;
            Vec::new()
        }
        PlaceOfHost::Client { interface } => {
            veth(TO_CLIENT, client, client_mac)?;
            macvlan(interface, &between, TO_SERVER, client_mac)?;
            vec![TO_CLIENT]
        }
        // It takes part in nothing.
        PlaceOfHost::Sniffer { .. } => return Ok(Between { namespace: between, veths: Vec::new() }),
    };
    forward(&between)?;
    let (own, others) =
        ([SERVER_ADDRESS.into(), SERVER_ADDRESS_V6.into()], [CLIENT_ADDRESS.into(), CLIENT_ADDRESS_V6.into()]);
    for (namespace, addresses, gateways, peer) in
        [(server, own, SERVER_GATEWAYS, client_mac), (client, others, CLIENT_GATEWAYS, server_mac)]
    {
        if let Some(namespace) = namespace {
            topology::host(namespace, addresses, gateways, peer, settling)?;
            settling.wait(&[namespace])?;
        }
    }
    Ok(Between { namespace: between, veths })
}

/// Has the kernel forward everything between both interfaces.
///
/// # Errors
/// What the kernel answers.
pub(super) fn forward(wire: &Namespace) -> Result<()> {
    wire.inside(|| {
        let mut netlink = Netlink::open()?;
        let [to_server, to_client] = [index(TO_SERVER)?, index(TO_CLIENT)?];
        for (from, to) in [(to_server, to_client), (to_client, to_server)] {
            topology::forward(&mut netlink, from, to)?;
            topology::up(&mut netlink, from)?;
        }
        Ok(())
    })
}

/// Makes an interface `name` in `namespace` that sends and receives by way of the host's interface `lower`.
fn macvlan(lower: &str, namespace: &Namespace, name: &str, mac: [u8; 6]) -> Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::Link(index(lower)?),
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Address(mac.to_vec()),
        LinkAttribute::Mtu(LEAST_MTU),
        LinkAttribute::NetNsFd(namespace.handle().as_raw_fd()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::MacVlan),
            LinkInfo::Data(InfoData::MacVlan(vec![InfoMacVlan::Mode(MacVlanMode::Private)])),
        ]),
    ];
    Netlink::open()?.create(RouteNetlinkMessage::NewLink(message)).with_context(|| {
        format!("making a macvlan at interface {lower:?}\nhint: this needs root, and a kernel with CONFIG_MACVLAN (modprobe macvlan)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_cannot_carry_a_run_is_named_with_the_reason() {
        let check = |name: &str| check(&PlaceOfHost::Server { interface: name.to_owned() });
        check("lo").unwrap();
        let error = check("nowhere0").unwrap_err().to_string();
        assert!(error.contains("\"nowhere0\"") && error.contains("none of that name"), "{error}");
    }
}
