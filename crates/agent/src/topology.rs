//! Two hosts and the wire between them.
//!
//! ```text
//!   server namespace          wire namespace              client namespace
//!             eth0 ======== to-server  to-client ======== eth0
//!             qdisc of             \--- -> ---/ tbf + netem
//!             the server    netem /--- <- ---\
//! ```
//!
//! The wire forwards by `tc mirred`, which costs least: no bridge, no routing, nothing decremented or learned. Where a run wants stages
//! that the kernel lacks, the agent forwards instead ([`crate::forwarder`]). Both shaping disciplines of the published set-up stand in it, so neither host's socket accounting sees them, as with
//! separate machines.
//!
//! Addresses are those of the QUIC Interop Runner's network, whose endpoints route through a gateway: its address belongs to
//! no one here, and what is sent to it arrives at the other host.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::AsRawFd,
};

use anyhow::{Context, Result};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressHeaderFlags, AddressMessage},
    link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage},
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
    route::{
        RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
    },
    tc::{
        TcAction, TcActionAttribute, TcActionMirrorOption, TcActionOption, TcActionType, TcAttribute,
        TcFilterMatchAllOption, TcFilterU32Option, TcHandle, TcMessage, TcMirror, TcMirrorActionType, TcOption,
        TcU32Key, TcU32Selector, TcU32SelectorFlags,
    },
};
use nix::net::if_::if_nametoindex;
use quiclab_agent_protocol::{
    addresses::{
        CLIENT_ADDRESS, CLIENT_ADDRESS_V6, CLIENT_MAC, HOST_INTERFACE, SERVER_ADDRESS, SERVER_ADDRESS_V6, SERVER_MAC,
        TO_CLIENT, TO_SERVER,
    },
    network::{Discipline, Network},
    report::Offloads,
};

use crate::{
    drop_list::DropList,
    ethtool::{self, Segmentation},
    namespace::Namespace,
    netlink::Netlink,
    qdisc,
    settling::Settling,
    sysctl,
};

pub(crate) const SERVER_GATEWAYS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(193, 167, 100, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0xcafe, 0xcafe, 0x100, 0, 0, 0, 2))];
pub(crate) const CLIENT_GATEWAYS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(193, 167, 0, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0xcafe, 0xcafe, 0, 0, 0, 0, 2))];
/// EtherType "all protocols", in the upper half of `tcm_info` goes the priority.
const ALL_PROTOCOLS: u32 = 0x0003_u16.to_be() as u32;
/// The filter of the lowest priority is asked first: what it drops is not forwarded.
const DROP_PRIORITY: u32 = 1;
const FORWARD_PRIORITY: u32 = 2;

/// The three namespaces.
#[derive(Debug)]
pub struct Topology {
    /// Where the server runs.
    pub server: Namespace,
    /// What lies between.
    pub wire: Namespace,
    /// Where the client runs.
    pub client: Namespace,
}

impl Topology {
    /// Makes the wire and the links to the namespaces of the hosts. It depends on no setting, so it can be part of a saved state.
    ///
    /// # Errors
    /// Without root's capabilities, or where the kernel lacks veth, clsact, matchall or mirred.
    pub fn build(server: Namespace, client: Namespace, settling: Settling) -> Result<Self> {
        let topology = Self { server, wire: Namespace::create("wire")?, client };
        topology.wire.inside(sysctl::without_ipv6)?;
        for namespace in [&topology.server, &topology.client] {
            namespace.inside(|| sysctl::of_host(settling))?;
        }
        topology.wire.inside(|| {
            let mut netlink = Netlink::open()?;
            for (name, peer, mac) in
                [(TO_SERVER, &topology.server, SERVER_MAC), (TO_CLIENT, &topology.client, CLIENT_MAC)]
            {
                netlink
                    .create(RouteNetlinkMessage::NewLink(veth(name, peer, mac)))
                    .with_context(|| format!("veth {name}"))?;
            }
            let [to_server, to_client] = [index(TO_SERVER)?, index(TO_CLIENT)?];
            for (from, to) in [(to_server, to_client), (to_client, to_server)] {
                forward(&mut netlink, from, to)?;
                up(&mut netlink, from)?;
            }
            Ok(())
        })?;
        host(
            &topology.server,
            [SERVER_ADDRESS.into(), SERVER_ADDRESS_V6.into()],
            SERVER_GATEWAYS,
            CLIENT_MAC,
            settling,
        )?;
        host(
            &topology.client,
            [CLIENT_ADDRESS.into(), CLIENT_ADDRESS_V6.into()],
            CLIENT_GATEWAYS,
            SERVER_MAC,
            settling,
        )?;
        settling.wait(&[&topology.server, &topology.client])?;
        Ok(topology)
    }

    /// Installs what a run asks for: queues, offloads. Answers the offloads found afterwards.
    ///
    /// # Errors
    /// Where the kernel lacks a discipline or refuses its parameters.
    pub fn shape(&self, network: &Network) -> Result<Vec<(String, Offloads)>> {
        for (namespace, interface, disciplines) in [
            (&self.wire, TO_CLIENT, &network.to_client),
            (&self.wire, TO_SERVER, &network.to_server),
            (&self.server, HOST_INTERFACE, &network.server),
            (&self.client, HOST_INTERFACE, &network.client),
        ] {
            install(namespace, interface, disciplines)?;
        }
        route_tcp(network, Some(&self.server), Some(&self.client))?;
        let mut offloads = Vec::new();
        for (namespace, interface) in [
            (&self.server, HOST_INTERFACE),
            (&self.wire, TO_SERVER),
            (&self.wire, TO_CLIENT),
            (&self.client, HOST_INTERFACE),
        ] {
            let segmentation = match (network.super_packets, interface) {
                (false, _) => Segmentation::Off,
                (true, HOST_INTERFACE) => Segmentation::OnAndReceive,
                (true, _) => Segmentation::On,
            };
            let found = namespace.inside(|| {
                set_mtu(interface, network.mtu)?;
                ethtool::set_segmentation(interface, segmentation)
            })?;
            offloads.push((format!("{}/{interface}", namespace.name), found));
        }
        Ok(offloads)
    }

    /// Takes back what makes the kernel forward packets, for somebody else to do it. Their queueing disciplines stay.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn stop_forwarding(&self) -> Result<()> {
        stop_forwarding(&self.wire)
    }

    /// Drops the packets that `network` lists on their way to the server, where they come out of the client's interface. `None`
    /// where it lists none: then nothing is installed.
    ///
    /// # Errors
    /// Where the kernel lacks bpf(2) or the filter `bpf`.
    pub fn drop_to_server(&self, network: &Network) -> Result<Option<DropList>> {
        drop_to_server(&self.wire, network)
    }
}

/// Installs nested disciplines at an interface.
///
/// # Errors
/// Where the kernel lacks one or refuses its parameters.
pub(crate) fn install(namespace: &Namespace, interface: &str, disciplines: &[Discipline]) -> Result<()> {
    namespace.inside(|| {
        let mut netlink = Netlink::open()?;
        let mut messages = qdisc::nested(index(interface)?, disciplines).into_iter();
        messages.try_for_each(|message| add_qdisc(&mut netlink, message))
    })
}

/// Switches segmentation off at an interface. Answers its name in reports, and the offloads found afterwards.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn switch_segmentation_off(namespace: &Namespace, interface: &str) -> Result<(String, Offloads)> {
    let found = namespace.inside(|| ethtool::switch_segmentation_off(interface))?;
    Ok((format!("{}/{interface}", namespace.name), found))
}

/// [`Topology::stop_forwarding`] of a wire.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn stop_forwarding(wire: &Namespace) -> Result<()> {
    wire.inside(|| {
        let mut netlink = Netlink::open()?;
        for interface in [TO_SERVER, TO_CLIENT] {
            let message = RouteNetlinkMessage::DelQueueDiscipline(entrance(index(interface)?));
            netlink.change(message).with_context(|| format!("taking clsact away from {interface}"))?;
        }
        Ok(())
    })
}

/// [`Topology::drop_to_server`] at a wire.
///
/// # Errors
/// Where the kernel lacks bpf(2) or the filter `bpf`.
pub(crate) fn drop_to_server(wire: &Namespace, network: &Network) -> Result<Option<DropList>> {
    if network.drops_to_server.is_empty() {
        return Ok(None);
    }
    let install = || {
        let list = DropList::load(&network.drops_to_server)?;
        let filter = entrance_filter(index(TO_CLIENT)?, DROP_PRIORITY, DropList::FILTER, list.options());
        let message = RouteNetlinkMessage::NewTrafficFilter(filter);
        Netlink::open()?.create(message).with_context(|| format!("filter {}", DropList::FILTER))?;
        Ok(list)
    };
    let installed = wire.inside(install);
    installed.map(Some).context("path.drops_to_server: cannot drop packets by number; hint: path.drops_to_server = []")
}

/// Index of an interface of the calling thread's namespace.
///
/// # Errors
/// Where there is none of that name.
pub fn index(interface: &str) -> Result<u32> {
    if_nametoindex(interface).with_context(|| format!("interface {interface}"))
}

pub(crate) fn veth(name: &str, peer: &Namespace, peer_mac: [u8; 6]) -> LinkMessage {
    let mut other_end = LinkMessage::default();
    other_end.attributes = vec![
        LinkAttribute::IfName(HOST_INTERFACE.to_owned()),
        LinkAttribute::Address(peer_mac.to_vec()),
        LinkAttribute::NetNsFd(peer.handle().as_raw_fd()),
    ];
    let mut message = LinkMessage::default();
    // The wire's own addresses never appear in a frame, but a random one would differ from run to run.
    let own_mac = [peer_mac[0], 0, 0, 0, 1, peer_mac[5]];
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Address(own_mac.to_vec()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other_end))),
        ]),
    ];
    message
}

/// Brings up a host: its addresses, and everything else by way of the gateways, which is the `peer`.
pub(crate) fn host(
    namespace: &Namespace,
    addresses: [IpAddr; 2],
    gateways: [IpAddr; 2],
    peer: [u8; 6],
    settling: Settling,
) -> Result<()> {
    namespace.inside(|| {
        let mut netlink = Netlink::open()?;
        up(&mut netlink, index("lo")?)?;
        sysctl::of_host(settling)?;
        let interface = index(HOST_INTERFACE)?;
        up(&mut netlink, interface)?;
        for (address, gateway) in addresses.into_iter().zip(gateways) {
            if address.is_ipv6() && settling == Settling::WithoutIpv6 {
                continue;
            }
            let message = RouteNetlinkMessage::NewAddress(assign(interface, address));
            netlink.create(message).with_context(|| format!("address {address}"))?;
            // A neighbour known from the start needs no ARP and no neighbour discovery on the wire.
            let message = RouteNetlinkMessage::NewNeighbour(neighbour(interface, gateway, peer));
            netlink.create(message).with_context(|| format!("neighbour {gateway}"))?;
            let message = RouteNetlinkMessage::NewRoute(default_route(interface, gateway));
            netlink.create(message).with_context(|| format!("route by {gateway}"))?;
        }
        Ok(())
    })
}

fn assign(interface: u32, address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = if address.is_ipv4() { 24 } else { 64 };
    message.header.index = interface;
    message.header.flags = AddressHeaderFlags::Nodad;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    message
}

fn neighbour(interface: u32, address: IpAddr, link_layer: [u8; 6]) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = interface;
    message.header.state = NeighbourState::Permanent;
    let destination = match address {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    };
    message.attributes =
        vec![NeighbourAttribute::Destination(destination), NeighbourAttribute::LinkLayerAddress(link_layer.to_vec())];
    message
}

fn default_route(interface: u32, gateway: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(gateway);
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    let gateway = match gateway {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    };
    message.attributes = vec![RouteAttribute::Gateway(gateway), RouteAttribute::Oif(interface)];
    message
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// Makes TCP use this algorithm for all connections by way of these gateways. A route can have any algorithm that the kernel has, also where
/// a socket of an ordinary user may not choose it.
/// Gives the routes of the hosts that are here the congestion control that `network` names for TCP, if any.
///
/// # Errors
/// Where the kernel lacks it.
pub(crate) fn route_tcp(network: &Network, server: Option<&Namespace>, client: Option<&Namespace>) -> Result<()> {
    let Some(algorithm) = &network.tcp_congestion_control else { return Ok(()) };
    for (namespace, gateways) in [(server, SERVER_GATEWAYS), (client, CLIENT_GATEWAYS)] {
        if let Some(namespace) = namespace {
            namespace.inside(|| set_congestion_control(algorithm, gateways))?;
        }
    }
    Ok(())
}

fn set_congestion_control(algorithm: &str, gateways: [IpAddr; 2]) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let interface = index(HOST_INTERFACE)?;
    for gateway in gateways {
        let mut route = default_route(interface, gateway);
        route.attributes.push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(algorithm.to_owned())]));
        match netlink.replace(RouteNetlinkMessage::NewRoute(route)) {
            // Without IPv6 there is no route to replace.
            Err(_) if gateway.is_ipv6() => {}
            result => result.with_context(|| format!("TCP with {algorithm} by way of {gateway}"))?,
        }
    }
    Ok(())
}

/// Sets the largest packet of an interface, and makes sure that it has it; `None` leaves what the kernel gave it.
fn set_mtu(interface: &str, mtu: Option<u32>) -> Result<()> {
    let Some(mtu) = mtu else { return Ok(()) };
    let mut message = LinkMessage::default();
    message.header.index = index(interface)?;
    message.attributes = vec![LinkAttribute::Mtu(mtu)];
    Netlink::open()?
        .change(RouteNetlinkMessage::SetLink(message))
        .with_context(|| format!("path.mtu: {interface} takes no packets of {mtu} bytes"))
}

pub(crate) fn up(netlink: &mut Netlink, interface: u32) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    netlink.change(RouteNetlinkMessage::SetLink(message)).context("link up")
}

/// Everything that comes in at `from` goes out at `to`, through its queueing discipline.
pub(crate) fn forward(netlink: &mut Netlink, from: u32, to: u32) -> Result<()> {
    add_qdisc(netlink, entrance(from))?;

    let mut redirect = TcMirror::default();
    redirect.generic.action = TcActionType::Stolen;
    redirect.eaction = TcMirrorActionType::EgressRedir;
    redirect.ifindex = to;
    let mut action = TcAction::default();
    action.tab = 1;
    action.attributes = vec![
        TcActionAttribute::Kind("mirred".to_owned()),
        TcActionAttribute::Options(vec![TcActionOption::Mirror(TcActionMirrorOption::Parms(redirect))]),
    ];
    let options = vec![TcOption::MatchAll(TcFilterMatchAllOption::Action(vec![action.clone()]))];
    let filter = entrance_filter(from, FORWARD_PRIORITY, "matchall", options);
    let Err(error) = netlink.create(RouteNetlinkMessage::NewTrafficFilter(filter)) else { return Ok(()) };
    // Kernels of hosts may lack it. A selector of `u32` without a bit in its mask selects everything as well.
    let mut selector = TcU32Selector::default();
    selector.flags = TcU32SelectorFlags::Terminal;
    selector.nkeys = 1;
    selector.keys = vec![TcU32Key::default()];
    let options = [TcFilterU32Option::Selector(selector), TcFilterU32Option::Action(vec![action])].map(TcOption::U32);
    let filter = entrance_filter(from, FORWARD_PRIORITY, "u32", options.into());
    netlink
        .create(RouteNetlinkMessage::NewTrafficFilter(filter))
        .with_context(|| format!("redirect filter: the kernel has neither u32 nor matchall ({error:#})"))
}

/// What holds the filters for everything that comes in at `interface`.
pub(crate) fn entrance(interface: u32) -> TcMessage {
    let mut entrance = TcMessage::with_index(interface as i32);
    entrance.header.parent = TcHandle::CLSACT;
    entrance.header.handle = TcHandle { major: u16::MAX, minor: 0 };
    entrance.attributes.push(TcAttribute::Kind("clsact".to_owned()));
    entrance
}

/// A filter for everything that comes in at `interface`, which has a `clsact`.
fn entrance_filter(interface: u32, priority: u32, kind: &str, options: Vec<TcOption>) -> TcMessage {
    filter_at(TcHandle::MIN_INGRESS, interface, priority, kind, options)
}

/// A filter for everything that passes an end of the `clsact` of `interface`: `TcHandle::MIN_INGRESS` or `MIN_EGRESS`.
pub(crate) fn filter_at(end: u16, interface: u32, priority: u32, kind: &str, options: Vec<TcOption>) -> TcMessage {
    let mut filter = TcMessage::with_index(interface as i32);
    filter.header.parent = TcHandle { major: u16::MAX, minor: end };
    filter.header.info = (priority << 16) | ALL_PROTOCOLS;
    filter.attributes = vec![TcAttribute::Kind(kind.to_owned()), TcAttribute::Options(options)];
    filter
}

fn add_qdisc(netlink: &mut Netlink, message: TcMessage) -> Result<()> {
    let kind = message.attributes.iter().find_map(|attribute| match attribute {
        TcAttribute::Kind(kind) => Some(kind.clone()),
        _ => None,
    });
    netlink
        .create(RouteNetlinkMessage::NewQueueDiscipline(message))
        .with_context(|| format!("qdisc {}", kind.unwrap_or_default()))
}
