//! Takes away what shapes the path, so that clocks can be compared over it again once a run is over.

use anyhow::{Context, Result};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcHandle, TcMessage},
};
use quiclab_agent_protocol::{
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    network::Network,
};

use super::links::forward;
use crate::{namespace::Namespace, netlink::Netlink, topology::index};

/// Takes it away. Counters of it are lost. `wire` is what shapes the path, if that is here.
///
/// # Errors
/// What the kernel answers.
pub(super) fn restore_qdiscs(network: &Network, server: Option<&Namespace>, wire: Option<&Namespace>) -> Result<()> {
    if let Some(server) = server.filter(|_| !network.server.is_empty()) {
        remove_root(server, HOST_INTERFACE)?;
    }
    let Some(wire) = wire else { return Ok(()) };
    for (interface, disciplines) in [(TO_CLIENT, &network.to_client), (TO_SERVER, &network.to_server)] {
        if !disciplines.is_empty() {
            remove_root(wire, interface)?;
        }
    }
    // The forwarder has ended, and the kernel did not forward beside it.
    if network.forwarder.is_some() { forward(wire) } else { Ok(()) }
}

fn remove_root(namespace: &Namespace, interface: &str) -> Result<()> {
    namespace.inside(|| {
        let mut message = TcMessage::with_index(index(interface)? as i32);
        message.header.parent = TcHandle::ROOT;
        Netlink::open()?
            .change(RouteNetlinkMessage::DelQueueDiscipline(message))
            .with_context(|| format!("taking the queueing disciplines away from {interface}"))
    })
}
